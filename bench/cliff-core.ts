// Following and reconciling for the benchmark `cliffs`: commits of texts, rows in memory, and a provider that answers at
// once. Time stands still, so nothing waits for it.

import { breatheBy } from '../src/base/breathe.ts';
import { createLog } from '../src/base/log.ts';
import { CurrentState } from '../src/follow/current-state.ts';
import { Follower } from '../src/follow/follower.ts';
import type { Operation } from '../src/model/state.ts';
import type { Provider } from '../src/providers/provider.ts';
import { createProviderRegistry, type ProviderRegistry } from '../src/providers/provider-registry.ts';
import { CommitGate } from '../src/reconcile/commit-gate.ts';
import { Ledger } from '../src/reconcile/ledger.ts';
import { Reconciler } from '../src/reconcile/reconciler.ts';
import { Reviews } from '../src/reconcile/reviews.ts';
import { stallsIn } from '../src/reconcile/waits/stall-graph.ts';
import { createReader, type Reader } from '../src/service/read/reader.ts';
import { ManualClock } from '../test/support/manual-clock.ts';
import { MemoryStore } from '../test/support/memory-store.ts';
import { ScriptedProvider } from '../test/support/scripted-provider.ts';
import { TextSource } from '../test/support/text-source.ts';

/** Calls at once. */
const CONCURRENCY = 64;
/** Turns of the event loop without a change after which everything rests. */
const QUIET_TURNS = 50;
/** No delete is held. */
const BUDGET = { percent: 100, least: 1_000_000, most: 1_000_000 };
const RETRY = { attempts: 3, firstSeconds: 2, maxSeconds: 300, failedSeconds: 3600 };

export class CliffCore {
  readonly source = new TextSource();
  readonly reader: Reader;
  readonly #store = new MemoryStore();
  readonly #provider = new ScriptedProvider();
  readonly #follower: Follower;
  readonly #reconciler: Reconciler;
  #lines = 0;

  constructor() {
    const clock = new ManualClock();
    const breathe = breatheBy(clock);
    const ledger = new Ledger(this.#store, breathe);
    const current = new CurrentState();
    const reviews = new Reviews(ledger.list('approval').size > 0);
    const reader = createReader({
      desired: () => current.get(),
      desiredVersion: () => current.version,
      refused: () => current.refused,
      notReadyReason: () => '',
      rows: ledger,
      stallsOf: stallsIn(ledger, clock),
      now: () => clock.now(),
    });
    const log = createLog('info', { write: () => (this.#lines += 1) });
    const shared = { ledger, gate: new CommitGate(), clock, log, deleteBudget: BUDGET };
    // A real provider never answers within the same turn of the event loop.
    this.#provider.script = (call) => nextTurn().then(() => this.#provider.act(call));
    const reconciler = new Reconciler({
      ...{
        ...shared,
        concurrency: CONCURRENCY,
        graceMs: 1_000,
        random: () => 0.5,
        registry: registryOf(this.#provider),
      },
      recordOf: (server) => reader.record(server),
      isSecret: () => false,
      review: () => reviews.request(),
      isActive: () => current.get() !== undefined,
    });
    this.reader = reader;
    this.#reconciler = reconciler;
    const parts = { source: this.source, triggers: [], current, reconciler, reviews };
    this.#follower = new Follower({ ...shared, breathe, ...parts });
    this.#follower.start();
  }

  /** Looks at the branch, and resolves once everything rests. */
  async poll(): Promise<void> {
    // Reading a large commit takes many turns in which nothing is seen to change.
    await this.#follower.newest();
    for (let quiet = 0, last = ''; quiet < QUIET_TURNS; ) {
      await nextTurn();
      const now = `${this.#store.savedBytes} ${this.#provider.calls.length} ${this.#lines}`;
      quiet = now === last ? quiet + 1 : 0;
      last = now;
    }
  }

  /** The state of every server. */
  states(): readonly string[] {
    return [...this.#store.list('server').values()].map(({ state }) => state);
  }

  /** How often an operation was asked for. */
  calls(operation: Operation): number {
    return this.#provider.calls.filter((call) => call.operation === operation).length;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#reconciler.stop(0), this.#follower.stop()]);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function registryOf(provider: Provider): ProviderRegistry {
  const options = { file: '', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 };
  const entry = {
    ...{ name: 'lab', match: { kind: null, properties: {} }, implementation: 'simulated' as const, options },
    ...{ timeoutSeconds: 60, checkSeconds: 300, drift: 'report' as const, concurrency: CONCURRENCY, retry: RETRY },
  };
  return createProviderRegistry([entry], () => provider);
}
