// The parts behind the interface for tests of the API: each has fixed answers and remembers what it was asked, and events are those of
// a ledger without servers.
import type { Agent, AgentAction } from '../../src/agents/agent.ts';
import { EventStreams } from '../../src/api/event-streams.ts';
import { withoutPause } from '../../src/base/breathe.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { ExplainedKey, NodeExplanation } from '../../src/model/explanation.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { answerIn } from '../../src/providers/answer-json.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import type { Explainer } from '../../src/service/explain/explainer.ts';
import type { WriteOrder, WriteResult } from '../../src/service/write/draft.ts';
import type { Writer } from '../../src/service/write/writer.ts';
import { MemoryStore } from './memory-store.ts';
import { CONTROLLER, createSampleOperator } from './sample-operator.ts';
import { COMMIT, createSampleReader } from './sample-reader.ts';

/** Everything behind the interface. */
export type SampleParts = ReturnType<typeof createSampleParts>;

/** Returns parts of their own. */
export function createSampleParts(clock: Clock = systemClock) {
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  const streams: EventStreams = new EventStreams({ ledger, commit: () => sample.commit, clock });
  /** What the streams send: events of the ledger, and the followed commit. */
  const sample: { streams: EventStreams; ledger: Ledger; commit: string | undefined } = {
    streams,
    ledger,
    commit: COMMIT,
  };
  const asked: string[] = [];
  return {
    reader: createSampleReader(),
    operator: createSampleOperator(),
    explainer: createSampleExplainer(),
    agent: createSampleAgent(),
    writer: createSampleWriter(),
    streams,
    sample,
    /** The commits that reads waited for; `reached` may be replaced. */
    commits: { asked, reached: async (commit: string): Promise<void> => void asked.push(commit) },
    readAnswer: answerIn,
    controller: CONTROLLER,
  };
}

export interface SampleWriter extends Writer {
  /** Every write asked for: its name, then its arguments without the order. */
  readonly asked: unknown[][];
  /** The orders that came with them. */
  readonly orders: WriteOrder[];
  /** What the next writes come to; an error is thrown. */
  outcome: WriteResult | Error;
}

function createSampleWriter(): SampleWriter {
  const asked: unknown[][] = [];
  const orders: WriteOrder[] = [];
  const note =
    (name: string) =>
    async (order: WriteOrder, ...given: unknown[]): Promise<WriteResult> => {
      asked.push([name, ...given]);
      orders.push(order);
      if (writer.outcome instanceof Error) throw writer.outcome;
      return writer.outcome;
    };
  const writer: SampleWriter = {
    asked,
    orders,
    outcome: { commit: 'c'.repeat(40), branch: null },
    putInstance: note('putInstance'),
    createInstance: note('createInstance'),
    deleteInstance: note('deleteInstance'),
    putObject: note('putObject'),
    deleteObject: note('deleteObject'),
    putClient: note('putClient'),
    deleteClient: note('deleteClient'),
    putTree: note('putTree'),
  };
  return writer;
}

const ZONE_KEY: ExplainedKey = {
  value: 'z1',
  merge: 'first',
  isSecret: false,
  statements: [
    { layer: 0, value: 'z1', effect: 'used', at: { file: 'stacks/templates/web.yaml', line: 7 }, suppliedAt: null },
  ],
};

const EXPLANATION: NodeExplanation = {
  node: 'shop-web',
  stackInstance: ['shop'],
  commit: COMMIT,
  isWanted: true,
  layers: [{ kind: 'properties', type: 'clientcert', name: 'shop-web', file: null, status: 'present' }],
  keys: { zone: ZONE_KEY },
  files: { 'stacks/templates/web.yaml': { commit: COMMIT, time: '2026-11-20T10:13:56Z', note: null } },
};

/** Returns an explainer that knows the node `shop-web` with the key `zone`. */
function createSampleExplainer(): Explainer {
  function find(node: string, key: string | undefined): void {
    const isKnown = node === 'shop-web' && (key === undefined || key === 'zone');
    if (!isKnown) throw new ServiceError('not_found', `There is no "${node}" with "${key}"`);
  }
  return {
    async explain(_by, node, key) {
      find(node, key);
      return EXPLANATION;
    },
  };
}

export const ACTION: AgentAction = {
  id: 'shop-web.5.create',
  operation: 'create',
  resource: 'shop-web',
  instance: 'shop',
  group: 'web',
  kind: 'Platform::Server',
  generation: 1,
  attempt: 0,
  properties: { size: 'small' },
  record: { name: 'shop-web' },
  applied: null,
  outputs: null,
  timeoutSeconds: 900,
};

interface SampleAgent extends Agent {
  /** Every request: its name, then its arguments without who asked. */
  readonly asked: unknown[][];
}

/** Returns an agent that offers one action, and remembers what it was asked. */
function createSampleAgent(): SampleAgent {
  const asked: unknown[][] = [];
  const note = (...request: readonly unknown[]): void => {
    if (request[1] !== ACTION.id) throw new ServiceError('not_found', `There is no action "${request[1]}"`);
    asked.push([...request]);
  };
  return {
    asked,
    actions: () => [ACTION],
    wait: () => Promise.resolve(),
    async claim(_by, id, request) {
      note('claim', id, request);
      return { lease: 'secret', deadline: '2026-11-20T10:28:56.000Z', action: ACTION };
    },
    heartbeat: (_by, id, lease) => note('heartbeat', id, lease),
    async report(_by, id, result) {
      note('report', id, result);
    },
  };
}
