// Defects of claims, leases and reports of proxies.
import type { PlantedDefect } from '../planted-defect.ts';

export const CLAIM_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'proxy-late',
    title: 'a report of an action that was given up is accepted',
    edits: [
      {
        file: 'src/reconcile/proxy-claims.ts',
        find: "if (row?.action?.claim === undefined || row.state === 'unknown' || `",
        replace: 'if (row?.action?.claim === undefined || `',
      },
      {
        file: 'src/reconcile/proxy-claims.ts',
        find: 'return lostActionEnds(server, row.action) > clock.now() ? row.action.claim : undefined;',
        replace: 'return lostActionEnds(server, row.action) > 0 ? row.action.claim : undefined;',
      },
    ],
  },
  {
    id: 'proxy-lease',
    title: 'a report with the lease of an earlier claim is accepted',
    edits: [
      {
        file: 'src/reconcile/proxy-claims.ts',
        find: 'claim.client !== client || !isSameDigest(claim.lease, digestOf(lease))) return false;',
        replace: 'claim.client !== client) return false;',
      },
    ],
  },
  {
    id: 'proxy-twice',
    title: 'two proxies that claim the same action both get it',
    edits: [
      {
        file: 'src/reconcile/proxy-claims.ts',
        find: 'const isSame = held?.request === request && held.claim.client === client;',
        replace: 'const isSame = held !== undefined && client !== undefined;',
      },
    ],
  },
  {
    id: 'proxy-responsible',
    title: 'proxies of another tag get the servers that others made',
    edits: [
      {
        file: 'src/machine/responsibility.ts',
        find: 'if (row.provider !== PROXIED || isHandedOn(row)',
        replace: 'if (row.provider !== null || isHandedOn(row)',
      },
    ],
  },
  {
    id: 'proxy-unrecorded',
    title: 'a report is answered before it is recorded',
    edits: [
      {
        file: 'src/reconcile/proxy-work.ts',
        find: 'await this.#reports.recorded(report);',
        replace: 'void this.#reports.recorded(report).catch(() => undefined);',
      },
    ],
  },
  {
    id: 'proxy-removed-claim',
    title: 'a claim that waits while a commit removes its client is granted',
    edits: [
      {
        file: 'src/service/create-agent.ts',
        find: "return client?.role === 'proxy' ? tagsOf(client) : undefined;",
        replace: 'return tagsOf(client ?? by);',
      },
    ],
  },
];
