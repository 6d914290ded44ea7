// An operator for tests of the API: it holds and finds nothing, and remembers what it was asked.

import type { ControllerFacts } from '../../src/api/routes/route-table.ts';
import type { InstanceEvent } from '../../src/model/instance-event.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { Delivered, ListedServer, Overview, Recovery, Why } from '../../src/service/answers.ts';
import type { Operator } from '../../src/service/operate/operator.ts';
import type { ListedCommit } from '../../src/service/progress/commit-reads.ts';
import { COMMIT } from './sample-reader.ts';

export const WHY: Why = {
  status: 'In progress',
  summary: 'shop-web is creating: the provider entry "lab" carries out the create',
  counts: { creating: 1, done: 2 },
  waiting: [
    {
      resource: 'shop-web',
      state: 'creating',
      reason: 'the provider entry "lab" carries out the create',
      since: '2026-11-20T10:13:56.000Z',
      until: '2026-11-20T10:23:56.000Z',
      action: null,
    },
  ],
};

/** Events 3 to 7. */
export const EVENTS: readonly InstanceEvent[] = [3, 4, 5, 6, 7].map((id) => ({
  id,
  time: '2026-11-20T10:13:56.000Z',
  resource: 'shop-web',
  from: 'pending',
  to: 'creating',
  reason: 'create begins',
  commit: COMMIT,
  client: null,
  clientName: null,
}));

const MARK = { time: '2026-11-20T10:13:56.000Z', client: '0A', clientName: 'agent of shop-web' };

const RECOVERY: Recovery = {
  id: 'r1',
  cause: 'store',
  reason: 'the directory was lost',
  since: '2026-11-20T10:13:56.000Z',
  notBefore: '2026-11-20T10:23:56.000Z',
  instances: [
    {
      instance: 'shop',
      isHeld: false,
      found: ['shop-db'],
      drifted: [],
      waiting: ['shop-web'],
      unchecked: [],
      create: [],
      update: [],
      replace: [],
      delete: [],
    },
  ],
};

const OVERVIEW: Overview = {
  commit: COMMIT,
  newest: null,
  held: [],
  attention: [],
  counts: WHY.counts,
  instances: [{ name: 'shop', status: WHY.status, summary: WHY.summary, counts: WHY.counts }],
};

const LISTED_COMMIT: ListedCommit = {
  commit: COMMIT,
  subject: 'Add shop',
  author: 'Ada',
  committed: '2026-11-20T10:00:00Z',
  reason: null,
  time: '2026-11-20T10:13:56.000Z',
  state: 'followed',
  signature: null,
  done: null,
  approved: false,
  servers: { created: 3, updated: 0, replaced: 0, deleted: 0 },
  records: 0,
  instances: ['shop'],
};

const SERVER: ListedServer = {
  name: 'shop-web',
  instance: 'shop',
  group: 'web',
  state: 'creating',
  since: '2026-11-20T10:13:56.000Z',
  reason: WHY.waiting[0]?.reason ?? null,
  attempt: 0,
  until: '2026-11-20T10:23:56.000Z',
  action: null,
};

export const DELIVERED: Delivered = {
  commit: null,
  summary: '1 of 2 nodes could not apply its current record: shop-web',
  next: null,
  counts: { delivered: 1, outdated: 0, failed: 1, notReporting: 1 },
  nodes: [
    {
      name: 'shop-web',
      instance: 'shop',
      state: 'failed',
      digest: 'd2',
      confirmed: { ...MARK, digest: 'd2', outcome: 'failed', message: 'no space left' },
    },
  ],
};

/** What a controller answers about itself. */
export const CONTROLLER: ControllerFacts = {
  id: 'main',
  version: '0.1.0',
  page: { colour: '#b3261e', links: { commit: 'https://git.example/a/b/commit/{commit}', file: null } },
};

export interface SampleOperator extends Operator {
  /** The answer of `overview`. */
  status: Overview;
  /** Every operation asked for: its name, then its arguments without who asked. */
  readonly asked: unknown[][];
}

export function createSampleOperator(): SampleOperator {
  const asked: unknown[][] = [];
  const note = (...order: unknown[]): Promise<string> => {
    asked.push(order);
    return Promise.resolve('so it is');
  };
  const operator: SampleOperator = {
    asked,
    status: OVERVIEW,
    why(_by, instance) {
      if (instance !== 'shop') throw new ServiceError('not_found', `There is no "${instance}"`);
      return WHY;
    },
    async events(_by, instance, { after, limit }) {
      if (instance !== 'shop') throw new ServiceError('not_found', `There is no "${instance}"`);
      return { events: EVENTS.filter(({ id }) => id > after).slice(0, limit), gap: after < 2 };
    },
    async listEvents(_by, { after, limit, instances }) {
      const events = EVENTS.map((event) => ({ ...event, instance: 'shop' }));
      const found = events.filter(({ id, instance }) => id > after && instances?.has(instance) !== false);
      return { events: found.slice(0, limit), gap: after < 2 };
    },
    overview: () => operator.status,
    servers: () => ({ servers: [SERVER], total: 1, next: null }),
    server(_by, name) {
      if (name !== SERVER.name) throw new ServiceError('not_found', `There is no server "${name}"`);
      return { ...SERVER, commit: COMMIT, generation: 1, provider: 'lab', properties: [] };
    },
    commits: () => ({ commits: [LISTED_COMMIT], total: 1, next: null }),
    async commit(_by, id) {
      if (id !== COMMIT) throw new ServiceError('not_found', `There is no "${id}"`);
      return { ...LISTED_COMMIT, base: null, body: '', plan: null, approvals: [] };
    },
    askedCommit: async (commit) => ({ commit, isReached: () => false }),
    delivered: (_by, { asked }) => ({ ...DELIVERED, commit: asked?.commit ?? null }),
    held: () => [],
    clients: () => [],
    providers: () => [
      {
        name: 'lab',
        implementation: 'exec',
        servers: 3,
        running: 1,
        trouble: null,
        history: {
          end: '2026-11-20T10:13:56.000Z',
          stepSeconds: 60,
          calls: Array(60).fill(0),
          failures: Array(60).fill(0),
          seconds: Array(60).fill(null),
        },
      },
    ],
    notifications: () => ({ notifications: [] }),
    recorded: () => ({ commit: COMMIT, held: [], servers: [] }),
    problems: () => ({ commit: 'c'.repeat(40), problems: [] }),
    confirm: (_by, node, { digest, outcome }) => note('confirm', node, digest, outcome),
    approve: ({ reason }, digest) => note('approve', reason, digest),
    acceptHistory: ({ reason }, commit) => note('accept-history', reason, commit),
    suspend: ({ reason }, what) => note('suspend', reason, what),
    acknowledge: ({ reason }, what) => note('acknowledge', reason, what),
    attention: () => ({ items: [], covered: new Set() }),
    resume: ({ reason }, instance) => note('resume', reason, instance),
    endRecovery: ({ reason }, { recovery, force }) => note('resume', reason, recovery, force),
    recovery: () => ({ recovery: RECOVERY }),
    retry: ({ reason }, target) => note('retry', reason, target),
    adopt: ({ reason }, target) => note('adopt', reason, target),
    retain: ({ reason }, server) => note('retain', reason, server),
    replace: ({ reason }, server) => note('replace', reason, server),
    check: ({ reason }, target) => note('check', reason, target),
  };
  return operator;
}
