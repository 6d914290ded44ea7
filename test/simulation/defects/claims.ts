// Defects of claims, leases and reports of proxies.
import type { PlantedDefect } from '../planted-defect.ts';

export const CLAIM_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'proxy-late',
    title: 'a report of an action that was given up is accepted',
    edits: [
      {
        file: 'src/agents/proxy-work.ts',
        find: "if (row?.action?.claim === undefined || row.state === 'unknown' || `",
        replace: 'if (row?.action?.claim === undefined || `',
      },
      {
        file: 'src/agents/proxy-work.ts',
        find: 'return reconciler.lostActionEnds(server, row.action) > clock.now() ? row.action.claim : undefined;',
        replace: 'return reconciler.lostActionEnds(server, row.action) > 0 ? row.action.claim : undefined;',
      },
    ],
  },
  {
    id: 'proxy-lease',
    title: 'a report with the lease of an earlier claim is accepted',
    edits: [
      {
        file: 'src/agents/proxy-work.ts',
        find: 'claim?.client === client && isSameDigest(claim.lease, digestOf(lease));',
        replace: 'claim?.client === client;',
      },
    ],
  },
  {
    id: 'proxy-twice',
    title: 'two proxies that claim the same action both get it',
    edits: [
      {
        file: 'src/agents/proxy-work.ts',
        find: 'if (isSame && current.claim.client === order.client) return',
        replace: 'if (isSame || current !== undefined) return',
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
        file: 'src/agents/proxy-work.ts',
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
        file: 'src/agents/agent.ts',
        find: 'return isWorking(client) ? tagsOf(client) : undefined;',
        replace: 'return tagsOf(client ?? by);',
      },
    ],
  },
];
