// Planted defects of the work of proxies.
import type { PlantedDefect } from '../planted-defect.ts';

export const PROXY_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'proxy-tag',
    title: 'a proxy is offered the servers of all tags',
    edits: [
      {
        file: 'src/machine/responsibility.ts',
        find: ': tags.some((tag) => own.includes(tag));\n}',
        replace: ': own.length > 0;\n}',
      },
      {
        file: 'src/reconcile/proxy-offers.ts',
        find: '    yield* inTurn(this.#lines, tags, seen);',
        replace: '    yield* inTurn(this.#lines, [...this.#lines.keys()], seen);',
      },
    ],
  },
  {
    id: 'proxy-round',
    title: 'a server of proxies that was just checked waits behind all that are to be checked, and is checked again',
    metBy: { test: 'test/reconcile/proxies.test.ts', because: 'a site has too few servers for a round of 30 s' },
    edits: [
      {
        file: 'src/reconcile/proxy-offers.ts',
        find: 'append(isChecked ? this.#checked : lines, tag, server)',
        replace: 'append(isChecked ? this.#lines : lines, tag, server)',
      },
    ],
  },
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
    id: 'proxy-outdated',
    title: 'a claim is not compared with the row: whoever asks for an old action gets the present one',
    edits: [
      {
        file: 'src/reconcile/proxy-claims.ts',
        find: 'return own !== undefined && this.#options.nextOf(server, own) === id;',
        replace: 'return own !== undefined && id !== undefined && this.#options.rowOf(server) !== undefined;',
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
    id: 'proxy-leftover',
    title: 'a server that a failed create may have left at a former site is made there again when it is replaced',
    edits: [
      {
        file: 'src/machine/decide.ts',
        find: "isLeftoverReplaced(row) ? 'delete' : 'create'",
        replace: "'create'",
      },
    ],
  },
  {
    id: 'proxy-adopting',
    title: 'a server that was to be adopted is deleted by the proxies that would have adopted it, and not where it is',
    edits: [
      {
        file: 'src/machine/responsibility.ts',
        find: "return adopting && state !== 'unknown' && wanted !== null;",
        replace: "return adopting && state !== 'unknown' && wanted !== undefined;",
      },
    ],
  },
  {
    id: 'proxy-adopt-elsewhere',
    title: 'a server that others may have made, and that is not found where it is to be adopted, is made a second time',
    edits: [
      {
        file: 'src/machine/conclude.ts',
        find: 'if (!row.mayExist || row.provider === null) return false;',
        replace: 'if (row.mayExist || row.provider === null) return false;',
      },
    ],
  },
  {
    id: 'proxy-adopt-removed',
    title: 'what others answer of a removed server, which they were to adopt, counts for the site where it may be',
    metBy: {
      test: 'test/machine/conclude-check.test.ts',
      because: 'a commit has to come between the end of the check and the next pass',
    },
    edits: [
      {
        file: 'src/machine/conclude.ts',
        find: 'if (row.wanted === null) return true;',
        replace: 'if (row.wanted === undefined) return true;',
      },
    ],
  },
  {
    id: 'proxy-deadline',
    title: 'a claim has no deadline',
    edits: [
      {
        file: 'src/execute/executor.ts',
        find: 'clock.after(leftMs + (entry.provider.isPulled ? graceMs : 0), () =>',
        replace: 'clock.after(entry.provider.isPulled ? 2 ** 40 : leftMs, () =>',
      },
      {
        file: 'src/execute/executor.ts',
        find: "if (entry.provider.lostActionEnds !== 'with its call') reject(",
        replace: "if (entry.provider.lostActionEnds !== 'with its call' && !entry.provider.isPulled) reject(",
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
    id: 'proxy-removed',
    title: 'a proxy whose client a commit has removed goes on to claim and report',
    edits: [
      {
        file: 'src/desired/active-clients.ts',
        find: 'const clients = new Map<string, ActiveVersion<Client>>();',
        replace: 'const clients = new Map<string, ActiveVersion<Client>>(before);',
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
  {
    id: 'proxy-many-gone',
    title: 'proxies that answer absent for all servers of their site have all of them made anew',
    edits: [
      {
        file: 'src/machine/drift.ts',
        find: "return provider === null ? undefined : [provider, ...proxyTags].join('\\n');",
        replace: 'return provider === null || proxyTags.length > 0 ? undefined : provider;',
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
    id: 'proxy-overrun',
    title: 'a proxy lets its program run beyond the deadline',
    edits: [
      {
        file: 'src/proxy/claimed-run.ts',
        find: 'afterEither(clock, leftMs, () => deadline.abort(',
        replace: 'afterEither(clock, leftMs * 3, () => deadline.abort(',
      },
    ],
  },
  {
    id: 'proxy-checks',
    title: 'a failed check of an unwanted server by proxies is not noted, and asked for again at once',
    edits: [
      {
        file: 'src/reconcile/server-checks.ts',
        find: '    if (row?.wanted === null) return',
        replace: '    if (row?.generation === 0) return',
      },
    ],
  },
  {
    id: 'proxy-refused-checks',
    title: 'a check of a server for which no proxy is left is offered and refused in turn, without end',
    edits: [
      {
        file: 'src/reconcile/check-schedule.ts',
        find: 'return !isPulled(provider) && !capacity.hasCapacity(provider);',
        replace: 'return isPulled(provider) || !capacity.hasCapacity(provider);',
      },
    ],
  },
  {
    id: 'proxy-former-site',
    title: 'a server is made at a site since the site where it was before found nothing',
    edits: [
      {
        file: 'src/reconcile/server-checks.ts',
        find: 'return (row && responsibleTags(row, tags)) ?? tags;',
        replace: 'return row === undefined ? [] : tags;',
      },
    ],
  },
  {
    id: 'proxy-late-check',
    title: 'a create relies on what a proxy has looked up long before it reported',
    edits: [
      {
        file: 'src/reconcile/fresh-checks.ts',
        find: "if (end === 'failed' || !isFirst)",
        replace: "if (end === 'failed' || isFirst || !isFirst)",
      },
    ],
  },
  {
    id: 'proxy-slow-checks',
    title: 'a server of which every check comes late is never created',
    metBy: {
      test: 'test/reconcile/fresh-checks.test.ts',
      because: 'no proxy is slow for ever: the faults of a run end',
    },
    edits: [
      {
        file: 'src/reconcile/fresh-checks.ts',
        find: 'else this.#slow.set(server, slow);',
        replace: '',
      },
    ],
  },
  {
    id: 'proxy-unsure',
    title: 'what a failed create has left is looked up by nobody while its instance is suspended',
    metBy: {
      test: 'test/reconcile/proxies.test.ts',
      because: 'a stranger has to build it minutes later, and nobody may have looked by then',
    },
    edits: [
      {
        file: 'src/machine/conclude.ts',
        find: "const checked = row.checked && action.operation !== 'create';",
        replace: 'const { checked } = row;',
      },
    ],
  },
];
