// Following and reconciling together, with what people do about it: commits of texts, rows in memory, a provider that does
// as it is told, and a clock that stands still until it is moved.
import { afterEach, expect } from 'vitest';
import type { Agent } from '../../src/agents/agent.ts';
import { createLog } from '../../src/base/log.ts';
import { type WiredCore, wireCore } from '../../src/compose/core.ts';
import type { CurrentState } from '../../src/follow/current-state.ts';
import type { Follower } from '../../src/follow/follower.ts';
import { waitReason } from '../../src/machine/wait.ts';
import type { NewEvent } from '../../src/model/instance-event.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { PROXIED } from '../../src/model/names.ts';
import type { Client, DriftPolicy, Properties } from '../../src/model/objects.ts';
import type { Change } from '../../src/model/rows.ts';
import type { DeleteBudget, ExecutionSettings, ProviderSettings, RetryPolicy } from '../../src/model/settings.ts';
import type { Operation } from '../../src/model/state.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import type { Ledger } from '../../src/reconcile/ledger.ts';
import type { RowRequests } from '../../src/reconcile/row-requests.ts';
import { RESYNC_MS } from '../../src/reconcile/waits/resync.ts';
import type { Publisher } from '../../src/repository/publisher.ts';
import type { HeldItem, Order, Outages } from '../../src/service/answers.ts';
import type { Explainer } from '../../src/service/explain/explainer.ts';
import type { Operator } from '../../src/service/operate/operator.ts';
import type { Reader } from '../../src/service/read/reader.ts';
import { allowed } from '../support/allowed.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { type MemoryRows, MemoryStore } from '../support/memory-store.ts';
import { ScriptedProvider } from '../support/scripted-provider.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { TextSource } from '../support/text-source.ts';
import { RETRY } from './build.ts';
import { EXITS, exitKeyOf } from './exits.ts';

/** A store whose next commits fail as a test says. */
class FailingStore extends MemoryStore {
  readonly failures: Error[] = [];

  override async commit(changes: readonly Change[], events: readonly NewEvent[] = []): Promise<void> {
    const failure = changes.length + events.length === 0 ? undefined : this.failures.shift();
    if (failure !== undefined) throw failure;
    await super.commit(changes, events);
  }
}

const ADMINISTRATOR: Client = {
  name: 'A1',
  type: 'client',
  description: '',
  role: 'administrator',
  fingerprint: '',
  serial: 'A1',
  tenant: '',
};

export interface CoreOptions {
  readonly budget?: DeleteBudget;
  readonly retry?: Partial<RetryPolicy>;
  /** Calls at once. */
  readonly concurrency?: number;
  /** The drift policy of every entry. `off` unless a test is about drift: most tests count calls. */
  readonly drift?: DriftPolicy;
  /** The provider entries; all of them are the one scripted provider. */
  readonly entries?: readonly Pick<ProviderSettings, 'name' | 'match'>[];
  /** Servers that match no entry are for proxies; else nothing happens to them. */
  readonly hasProxied?: boolean;
  /** A commit whose history the operator of the host accepts. */
  readonly acceptedHistory?: string;
}

/** The parts that outlive a controller. */
interface Outside {
  readonly rows: MemoryRows;
  readonly servers: Map<string, Properties>;
  readonly source: TextSource;
  readonly clock: ManualClock;
}

/** Two servers may go without a yes, unless told otherwise. */
const DEFAULTS: Required<Omit<CoreOptions, 'acceptedHistory'>> = {
  budget: { percent: 0, least: 2, most: 2 },
  retry: {},
  concurrency: 10,
  drift: 'off',
  entries: [{ name: 'lab', match: { kind: null, properties: {} } }],
  hasProxied: false,
};

const OPENED = new Set<Core>();

/** After each test: nobody stands still who could go on. */
afterEach(async () => {
  const cores = [...OPENED];
  OPENED.clear();
  for (const core of cores) {
    expect(await core.missedWakeUps(), 'wake-ups were missed').toBe(0);
    expect(core.deadEnds, 'states without an exit').toEqual([]);
  }
});

/** These tests write nothing to the branch over the interface: test/service/write has those that do. */
const NO_PUBLISHER: Publisher = {
  prepare: async () => ({ is: 'not sent', reason: 'nothing is pushed in this test' }),
  push: async () => ({ is: 'not sent', reason: 'nothing is pushed in this test' }),
};

export class Core {
  readonly clock: ManualClock;
  readonly source: TextSource;
  readonly store: FailingStore;
  readonly ledger: Ledger;
  readonly provider: ScriptedProvider;
  readonly operator: Operator;
  readonly reader: Reader;
  readonly current: CurrentState;
  /** What fails outside. */
  outages: Outages = {};
  readonly explainer: Explainer;
  readonly lines: JsonMap[] = [];
  /** False: another process leads. */
  leads = true;
  readonly follower: Follower;
  readonly requests: RowRequests;
  /** Answers proxies; undefined without `hasProxied`. */
  readonly agent: Agent | undefined;
  readonly #reconciler: WiredCore['reconciler'];
  readonly #opened = new AsyncDisposableStack();
  readonly #started: Promise<void>;
  readonly #options: typeof DEFAULTS & CoreOptions;
  readonly #outside: Outside;
  /** In which states servers stood, and with which reasons. */
  readonly #exits = new Set<string>();

  /** Returns a controller that has followed a commit of these files. */
  static async following(files: TextChanges, options?: CoreOptions): Promise<Core> {
    const core = new Core(options);
    await core.follow(files);
    return core;
  }

  /** Begins to follow at once. `lostRows`: how rows were lost. */
  constructor(options: CoreOptions = {}, outside?: Outside, lostRows?: string) {
    this.#options = { ...DEFAULTS, ...options };
    this.#outside = outside ?? {
      rows: new Map(),
      servers: new Map(),
      source: new TextSource(),
      clock: new ManualClock(),
    };
    const { rows, servers, source, clock } = this.#outside;
    this.clock = clock;
    this.source = source;
    this.store = new FailingStore(rows);
    this.provider = new ScriptedProvider(servers);
    const execution = this.#execution();
    const proxied = this.#options.hasProxied ? execution.proxied : undefined;
    const core = wireCore({
      store: this.store,
      source,
      clock,
      execution,
      lostRows,
      opened: this.#opened,
      acceptedHistory: options.acceptedHistory,
      publisher: NO_PUBLISHER,
      triggers: [],
      writes: 'off',
      registry: createProviderRegistry(execution.providers, () => this.provider, proxied),
      log: createLog('info', { write: (line) => this.lines.push(JSON.parse(line)) }),
      random: () => 0.5,
      outages: () => this.outages,
      leads: () => this.leads,
    });
    this.ledger = core.ledger;
    this.current = core.current;
    this.reader = core.reader;
    this.operator = core.operator;
    this.explainer = core.explainer;
    this.follower = core.follower;
    this.requests = core.requests;
    this.agent = core.agent;
    this.#reconciler = core.reconciler;
    this.ledger.watch((change) => {
      if (change.kind === 'server' && change.value !== null) this.#exits.add(exitKeyOf(change.value));
    });
    this.#started = core.started.then(() => this.follower.start());
    OPENED.add(this);
  }

  /** Looks at the branch, and lets everything happen that waits for no time. */
  async poll(): Promise<void> {
    await this.#started;
    this.follower.poll();
    await this.settle();
  }

  /** Has a commit of these files followed. */
  async follow(files: TextChanges): Promise<void> {
    this.source.commit(files);
    await this.poll();
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.settle();
  }

  /** Lets everything happen that waits for nothing but its turn. */
  async settle(): Promise<void> {
    for (let quiet = 0, last = ''; quiet < 3; ) {
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      const now = `${this.store.savedBytes} ${this.provider.calls.length} ${this.lines.length}`;
      quiet = now === last ? quiet + 1 : 0;
      last = now;
    }
  }

  /** The states and reasons of servers out of which no way is known: exits.ts has to name one, and exits.test.ts to play it. */
  get deadEnds(): readonly string[] {
    return [...this.#exits].filter((key) => !Object.hasOwn(EXITS, key));
  }

  /** Lets time pass until the resync has added all servers, and returns how many nothing else had enqueued. */
  async missedWakeUps(): Promise<number> {
    await this.pass(RESYNC_MS);
    return this.#reconciler.missedWakeUps;
  }

  /** Returns the reason why a server waits, for an operator. */
  waitReason(server: string): string | undefined {
    const wait = this.#reconciler.waitsOf(server);
    return wait && waitReason(wait);
  }

  /** Stops, and returns another one that goes on from the same rows with the same servers and script. */
  async restart(options: CoreOptions = {}): Promise<Core> {
    await this.stop();
    const next = new Core({ ...this.#options, ...options }, this.#outside);
    next.provider.script = this.provider.script;
    next.provider.lostActionEnds = this.provider.lostActionEnds;
    await next.settle();
    return next;
  }

  /** Stops, and returns another one at the same sites and branch whose store is lost; without a reason, nothing shows that. */
  async lose(lostRows: string | undefined, options: CoreOptions = {}): Promise<Core> {
    await this.stop();
    const next = new Core({ ...this.#options, ...options }, { ...this.#outside, rows: new Map() }, lostRows);
    await next.settle();
    await next.poll();
    return next;
  }

  /** Somebody resumes, whatever may still run. */
  async endRecovery(): Promise<void> {
    const { recovery } = this.operator.recovery(this.order.by);
    await this.operator.endRecovery(this.order, { recovery: recovery?.id ?? '', force: true });
    await this.settle();
  }

  async stop(): Promise<void> {
    OPENED.delete(this);
    const stopped = Promise.all([this.#opened.disposeAsync(), this.#reconciler.stop(0), this.follower.stop()]);
    // Calls that run are not waited for.
    this.clock.advance(0);
    await stopped;
    expect(this.#reconciler.missedWakeUps, 'wake-ups were missed').toBe(0);
  }

  /** Commits the removal of an instance as a delete of an administrator does, up to the poll. */
  async pushDelete(instance: string): Promise<void> {
    const { by, refusal } = this.order;
    await this.requests.approveDeletes(instance, { by: by.serial, refusal });
    this.source.commit({ [`stacks/instances/${instance}.yaml`]: null });
  }

  /** Says yes to what is held under a digest, and lets happen what follows. */
  async approve(digest: string): Promise<void> {
    await this.operator.approve(this.order, digest);
    await this.settle();
  }

  get order(): Order {
    return { ...allowed(ADMINISTRATOR), reason: '' };
  }

  /** Returns the held item of an instance; null: the one of no instance. */
  held(instance: string | null): HeldItem | undefined {
    return this.operator.held().find((item) => item.instance === instance);
  }

  /** State by server. */
  states(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.ledger.list('server')].map(([name, { state }]) => [name, state]).sort());
  }

  /** The servers that an operation was asked for, in order. */
  calls(operation: Operation): string[] {
    return this.provider.calls.filter((call) => call.operation === operation).map(({ resource }) => resource);
  }

  #execution(): ExecutionSettings {
    const { retry, concurrency, entries, drift, budget } = this.#options;
    const options = { file: '', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 };
    const entry = {
      implementation: 'simulated' as const,
      options,
      timeoutSeconds: 60,
      checkSeconds: 300,
      drift,
      concurrency,
      retry: { ...RETRY, ...retry },
    };
    return {
      concurrency,
      retry: entry.retry,
      deleteBudget: budget,
      graceSeconds: 1,
      providers: entries.map((named) => ({ ...named, ...entry })),
      proxied: { ...entry, name: PROXIED },
    };
  }
}
