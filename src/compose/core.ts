// Connects the parts that follow the repository, drive the servers, read and write.

import { type Agent, createAgent } from '../agents/agent.ts';
import { ProxyWork } from '../agents/proxy-work.ts';
import type { AuditLog } from '../base/audit-log.ts';
import { type Breathe, breatheBy } from '../base/breathe.ts';
import { logOnceAMinute } from '../base/log-once-a-minute.ts';
import type { Metrics } from '../base/metrics.ts';
import { toRfc3339 } from '../base/wording.ts';
import type { Safety } from '../desired/admit.ts';
import { createPlanner } from '../follow/commit-plan.ts';
import {
  activeRecords,
  activeReferences,
  activeSecrets,
  CurrentState,
  registeredProxies,
} from '../follow/current-state.ts';
import { Follower } from '../follow/follower.ts';
import { readSafety } from '../follow/safety.ts';
import { historyDigest } from '../machine/hold-digests.ts';
import { longestActionMs, recoverRows } from '../machine/recovery.ts';
import { waitView } from '../machine/wait.ts';
import { PROXIED } from '../model/names.ts';
import type { Client } from '../model/objects.ts';
import type { Settings } from '../model/settings.ts';
import { entriesOf, type ProviderRegistry } from '../providers/provider-registry.ts';
import { CommitGate } from '../reconcile/commit-gate.ts';
import { Ledger } from '../reconcile/ledger.ts';
import { Reconciler } from '../reconcile/reconciler.ts';
import { Reviews } from '../reconcile/reviews.ts';
import { RowRequests } from '../reconcile/row-requests.ts';
import { cycleWords, findCycles, stallsIn } from '../reconcile/waits/wait-graph.ts';
import type { Publisher } from '../repository/publisher.ts';
import { type Signatures, type Source, SourceError, type Trigger } from '../repository/source.ts';
import type { LeadingReplica, Outages } from '../service/answers.ts';
import { registryOf } from '../service/caller.ts';
import { Deliveries } from '../service/deliveries/deliveries.ts';
import { createExplainer, createFileHistory, type Explainer } from '../service/explain/explainer.ts';
import { createOperator, type Operator } from '../service/operate/operator.ts';
import { type ClientsSeen, type EndingCertificate, endingCertificates } from '../service/progress/clients-seen.ts';
import type { Noticed } from '../service/progress/facts.ts';
import { type CommitWait, createCommitWait } from '../service/read/commit-wait.ts';
import { createReader, type Reader } from '../service/read/reader.ts';
import { createPreview } from '../service/write/preview.ts';
import { WriteQueue } from '../service/write/write-queue.ts';
import { createWriter, type Writer } from '../service/write/writer.ts';
import type { Store } from '../store/store.ts';
import type { SharedParts } from './open-parts.ts';

/** The rows of a store with their index, and the desired state of these rows. */
export interface ShownStore {
  readonly ledger: Ledger;
  readonly current: CurrentState;
}

/** The core: the parts for the listeners, and its inner parts. */
export interface WiredCore extends ShownStore {
  readonly reader: Reader;
  readonly operator: Operator;
  readonly explainer: Explainer;
  readonly writer: Writer;
  readonly commits: CommitWait;
  readonly follower: Follower;
  readonly requests: RowRequests;
  readonly reconciler: Reconciler;
  /** The interface for proxies; undefined if the registry has no entry for them. */
  readonly agent: Agent | undefined;
  /** Resolves when a recovery, if needed, is recorded; rejects if that fails. */
  readonly started: Promise<unknown>;
  /** Ends reads that wait for a commit, refuses new writes, and waits for running writes. */
  stopWaiting(): Promise<void>;
}

/** The inputs of {@link wireCore}: all external parts and all numbers from the settings. */
interface OutsideParts extends SharedParts {
  readonly store: Store;
  /** The shown store, if it outlives the core; default: the core's own. */
  readonly shown?: ShownStore;
  readonly registry: ProviderRegistry;
  readonly source: Source;
  readonly publisher: Publisher;
  /** Omitted: commits need no signature. */
  readonly signatures?: Signatures | undefined;
  readonly triggers: readonly Trigger[];
  /** Returns whether this process leads at the time of the call. Omitted: it always leads. */
  readonly leads?: () => boolean;
  /** In [0, 1). */
  readonly random: () => number;
  readonly execution: Settings['execution'];
  readonly writes: Settings['repository']['writes'];
  /** Returns the outages outside the core, such as of commit statuses. Omitted: none. */
  readonly outages?: () => Outages;
  /** Omitted: nothing is audited. */
  readonly audit?: AuditLog | undefined;
  /** Returns when the certificates and lists of the listener end. Omitted: there are none. */
  readonly certificates?: () => readonly EndingCertificate[];
  /** When clients were last seen. Omitted: not tracked. */
  readonly seen?: ClientsSeen;
  /** How rows were lost, in words. Omitted: no rows were lost. */
  readonly lostRows?: string | undefined;
  /** See Settings. */
  readonly acceptedHistory?: Settings['acceptedHistory'];
  /** Returns the leader, if several replicas share the store. Omitted: a single process. */
  readonly leader?: (() => LeadingReplica | null) | undefined;
  /** The metrics. Omitted: nothing is counted. */
  readonly metrics?: Metrics | undefined;
  /** Lets other work run during long loops; default: by the clock. */
  readonly breathe?: Breathe;
}

/** Returns the shown store for an opened store: its rows, without a desired state. */
export function showStore(store: Store, breathe: Breathe): ShownStore {
  const current = new CurrentState();
  const nameOf = (serial: string): string => {
    const desired = current.get();
    return (desired && registryOf(desired)(serial)?.description) ?? '';
  };
  return { ledger: new Ledger(store, breathe, nameOf), current };
}

/** Returns the core of these parts. It follows the repository when its follower is started, after `started`. */
export function wireCore(outside: OutsideParts): WiredCore {
  const { registry, source, clock, log, breathe = breatheBy(clock) } = outside;
  const { deleteBudget } = outside.execution;
  const { ledger, current } = outside.shown ?? showStore(outside.store, breathe);
  const gate = new CommitGate();
  const recovered = gate.exclusive(() => beginRecovery(ledger, outside));
  const reviews = new Reviews(ledger.list('approval').size > 0);
  reviews.watch(ledger);
  const review = (): void => reviews.request();
  const notReadyReason = (): string => follower.notReadyReason;
  const reads = wireReads({ ledger, current, source, clock, log, deleteBudget, notReadyReason });
  const { reader, explainer } = reads;
  const shared = { ...outside, ledger, current, gate, reviews, deleteBudget, breathe, review };
  const reconciler = wireReconciler(shared);
  const work = registry.proxied && new ProxyWork({ entry: registry.proxied, reconciler, ledger, clock, log });
  const follower = new Follower({ ...shared, reconciler });
  const requests = new RowRequests({ ...shared, reconciler });
  const accepted = acceptHistory(requests, outside.acceptedHistory);
  const { writer, commits, stop } = wireWrites({ ...shared, branch: follower, requests, safety: reads.safety });
  const operator = wireOperator({ ...shared, ...reads, requests, follower, reconciler });
  const stopWaiting = (): Promise<void> => {
    work?.stop();
    return stop();
  };
  const sees = (by: Client, server: string): boolean => {
    const scope = reader.scopeOf(by);
    return scope.isWhole || (scope.seesServer(server) && scope.owns(ledger.server(server)?.instance ?? ''));
  };
  const agent = work && createAgent({ work, clock, sees, registered: (serial) => reader.registered(serial) });
  const core = { reader, operator, explainer, writer, commits, follower, requests, stopWaiting };
  return { ...core, ledger, current, reconciler, agent, started: Promise.all([recovered, accepted]) };
}

/**
 * Resolves with the started core. `opened` stops it within `shutdownMs`, or immediately if this process does not lead
 * any more. If the core cannot start, it is stopped completely.
 */
export async function startCore(outside: OutsideParts, shutdownMs: number): Promise<WiredCore> {
  const { opened, leads = () => true } = outside;
  const core = wireCore(outside);
  // Without the lease, end running calls immediately, because the next leader may begin.
  opened.defer(() => core.reconciler.stop(leads() ? shutdownMs : 0));
  opened.adopt(core.follower, (it) => it.stop());
  opened.defer(() => core.stopWaiting());
  await core.started;
  return core;
}

/** The parts that answer reads, and the reason if there are no answers yet. */
interface ReadsParts extends ShownStore, Pick<OutsideParts, 'source' | 'clock' | 'log'> {
  readonly deleteBudget: Settings['execution']['deleteBudget'];
  readonly notReadyReason: () => string;
}

/** Returns the parts that answer from memory, on leaders and standbys. */
export function wireReads({ ledger, current, source, clock, log, deleteBudget, notReadyReason }: ReadsParts) {
  const plan = createPlanner({ source, current, budget: deleteBudget });
  const logOnce = logOnceAMinute(clock);
  const views = {
    desired: () => current.get(),
    refused: () => current.refused,
    rows: ledger,
    now: () => clock.now(),
    invalidSince: (name: string) => current.invalidSince(name),
    notReadyReason,
    isAncestor: async (ancestor: string, descendant: string) =>
      // A commit that is lost by a rewritten history contains no other commit.
      (await orLost(source.isAncestor(ancestor, descendant))) ?? false,
    describe: (commit: string) => orLost(source.describe(commit)),
    planOf: (...order: Parameters<typeof plan>) => orLost(plan(...order)),
  };
  const history = createFileHistory(async (...search) => {
    try {
      return await source.lastChanges(...search);
    } catch (error) {
      const repeats = logOnce(error);
      if (repeats) log.warn({ err: error, ...repeats }, 'the history of files cannot be read');
      return undefined;
    }
  });
  const stallsOf = stallsIn(ledger, clock);
  const safety = (): Safety => readSafety(ledger, { budget: deleteBudget, now: clock.now() });
  const reader = createReader({ ...views, stallsOf, desiredVersion: () => current.version });
  return { views, stallsOf, safety, reader, explainer: createExplainer({ ...views, history }) };
}

interface WritesParts
  extends Pick<OutsideParts, 'writes' | 'source' | 'publisher' | 'clock' | 'metrics' | 'leads'>,
    ShownStore {
  readonly branch: Follower;
  readonly requests: RowRequests;
  /** Returns the facts that decide which deletes may happen now. */
  readonly safety: () => Safety;
  /** Judges the held changes again. */
  readonly review: () => void;
  readonly breathe: Breathe;
}

/** How long a stopping controller waits for running writes. */
const STOP_WRITING_MS = 8_000;

/** Returns the writer of the followed branch, with its queue, and the reads that wait for a commit. */
export function wireWrites(parts: WritesParts) {
  const { writes, source, branch, current, ledger, requests } = parts;
  const queue = new WriteQueue({ ...parts, mode: writes === 'propose' ? 'propose' : 'commit' });
  const writer = createWriter({
    queue: writes === 'off' ? undefined : queue,
    preview: createPreview(parts),
    approveDeletes: (instance, { by, refusal }) => requests.approveDeletes(instance, { by: by.serial, refusal }),
    isTerminating: (instance) => ledger.read('terminating', instance) !== undefined,
    recorded: ledger,
    review: parts.review,
  });
  const commits = createCommitWait({
    newest: () => branch.newest(),
    isAncestor: (ancestor, descendant) => source.isAncestor(ancestor, descendant),
    desired: () => current.get(),
    refused: () => current.refused,
    clock: parts.clock,
  });
  const stop = (): Promise<void> => {
    commits.stop();
    return queue.stop(STOP_WRITING_MS);
  };
  return { writer, commits, stop };
}

const PROXIED_ENTRY = { name: PROXIED, implementation: PROXIED };

interface OperatorParts extends OutsideParts, ShownStore, Pick<ReturnType<typeof wireReads>, 'views' | 'stallsOf'> {
  readonly follower: Follower;
  readonly reconciler: Reconciler;
  readonly requests: RowRequests;
}

function wireOperator(parts: OperatorParts): Operator {
  const { registry, store, clock, execution, audit, ledger, current, stallsOf, follower, reconciler } = parts;
  const { checks, capacity, presence } = reconciler;
  const listed = ({ name, implementation }: { readonly name: string; readonly implementation: string }) => ({
    name,
    implementation,
    running: capacity.runningOf(name),
    history: { end: toRfc3339(clock.now()), stepSeconds: 60 as const, ...reconciler.history.of(name) },
  });
  const requestWords = (tags: readonly string[]): string => presence.requestWords(tags);
  return createOperator({
    ...parts.views,
    stallsOf,
    waitOf: (server) => waitView(reconciler.waitsOf(server), requestWords, cycleWords(server, ledger, clock.now())),
    checkFailureOf: (server) => checks.failureOf(server),
    heardAt: (serial) => presence.heardAt(serial),
    requestCheck: (server) => checks.request(server),
    retryCheck: (server) => checks.retry(server),
    requests: parts.requests,
    entries: entriesOf(registry),
    leader: parts.leader,
    seen: parts.seen,
    deliveries: new Deliveries({ ledger, current, clock }),
    outages: () => ({
      repository: follower.failure,
      store: store.failure,
      audit: audit?.failure,
      ...parts.outages?.(),
    }),
    noticed: () => noticedBy(parts),
    hasEntry: (name) => registry.byName(name) !== undefined,
    providers: () => [...execution.providers, PROXIED_ENTRY].map(listed),
    isBefore: (commit, head) => follower.isBefore(commit, head),
  });
}

function noticedBy({ reconciler, ledger, current, clock, certificates, seen }: OperatorParts): Noticed {
  const { answers, checks, capacity, presence } = reconciler;
  return {
    silent: answers.silent(),
    cycles: findCycles(ledger, clock.now()),
    unchecked: checks.failing,
    callOf: (server) => capacity.callOf(server),
    unansweredOf: (entry) => answers.unansweredOf(entry),
    lostBecause: (server) => reconciler.lostBecause(server),
    silentSince: (tags) => presence.silentSince(tags),
    lastCheckOf: (server) => checks.lastCheckOf(server),
    ending: [...(certificates?.() ?? []), ...endingCertificates(seen, current.get()?.clients, ledger)],
  };
}

/** Begins a recovery if rows were lost. */
async function beginRecovery(
  ledger: Ledger,
  { lostRows: reason, execution, clock, log }: Pick<OutsideParts, 'lostRows' | 'execution' | 'clock' | 'log'>,
): Promise<void> {
  if (reason === undefined) return;
  const now = clock.now();
  const changes = recoverRows(ledger, { reason, now, runsMs: longestActionMs(execution) });
  await ledger.commit(changes, { kind: 'pass', now });
  log.warn({ reason }, 'a recovery begins: no action starts until an operator resumes it');
}

/** Records the commit that the operator of the host accepted. */
async function acceptHistory(requests: RowRequests, commit: string | undefined): Promise<void> {
  if (commit === undefined) return;
  const history = { kind: 'history', digest: historyDigest(commit), instance: null } as const;
  const asked = { by: null, reason: 'serve --accept-history', refusal: () => undefined };
  await requests.approve(() => history, asked);
}

interface ReconcilerParts extends OutsideParts, ShownStore {
  readonly gate: CommitGate;
  readonly deleteBudget: Settings['execution']['deleteBudget'];
  readonly review: () => void;
}

/** Returns the part that drives the servers. */
function wireReconciler(parts: ReconcilerParts): Reconciler {
  const { current, ledger, execution } = parts;
  const { concurrency, graceSeconds, retry, providers } = execution;
  const retries = [retry, ...providers.map((provider) => provider.retry)];
  const waitsSeconds = retries.flatMap(({ failedSeconds, maxSeconds }) => [failedSeconds, maxSeconds]);
  return new Reconciler({
    ...parts,
    concurrency,
    graceMs: graceSeconds * 1000,
    waitMsMax: Math.max(...waitsSeconds) * 1000,
    recordOf: activeRecords(current, ledger),
    proxies: registeredProxies(current),
    isSecret: activeSecrets(current),
    isReference: activeReferences(current),
    isActive: () => current.get() !== undefined,
  });
}

/** Resolves with null if the commit is lost, or while the local copy is being repaired. */
async function orLost<Value>(work: Promise<Value>): Promise<Value | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SourceError) return null;
    throw error;
  }
}
