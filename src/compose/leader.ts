// Builds the role of a leader from the parts of its replica: it follows the repository, drives the servers, writes,
// answers and reports.
import type { RequestListener } from 'node:http';
import { createApp } from '../api/app.ts';
import { invariant } from '../base/invariant.ts';
import { logOnceAMinute } from '../base/log-once-a-minute.ts';
import { WokenLoop } from '../base/woken-loop.ts';
import { showAllWritten } from '../follow/standby-follower.ts';
import { answerIn } from '../providers/answer-json.ts';
import type { EndedCauses } from '../reconcile/row-requests.ts';
import { registryOf } from '../service/caller.ts';
import { forgottenDeliveries } from '../service/deliveries/deliveries.ts';
import { AttentionWatch } from '../service/progress/attention-watch.ts';
import type { Notifier } from '../statuses/notifier.ts';
import type { StatusReporter } from '../statuses/status-reporter.ts';
import { StoreError } from '../store/store-error.ts';
import { type ShownStore, startCore, type WiredCore } from './core.ts';
import { measureLeader } from './open-metrics.ts';
import { openNotifications, openProviders, openStatuses } from './open-parts.ts';
import type { SharedDatabase } from './open-store.ts';
import type { ServingRole } from './present-role.ts';
import { listenerOptions, type RoleParts } from './replica.ts';
import { partsToFollow } from './standby.ts';

/** Builds a leader. */
export async function composeLeader(parts: RoleParts): Promise<ServingRole> {
  await using opened = new AsyncDisposableStack();
  const role = await compose(parts, opened);
  const running = opened.move();
  return { ...role, stop: () => running.disposeAsync() };
}

async function compose(parts: RoleParts, opened: AsyncDisposableStack): Promise<Omit<ServingRole, 'stop'>> {
  const { settings, replica, audit, seen, tls, clock, log, metrics } = parts;
  const { repository, store, shown, database, earlier } = replica;
  const leads = leadsAs(database);
  if (database !== undefined) await showAllWritten(partsToFollow(parts));
  const { registry, programs } = await openProviders(settings, { log, clock, opened });
  let reporter: StatusReporter | undefined;
  let notifier: Notifier | undefined;
  // The next leader begins with the saved rows, without the watchers of this one.
  opened.defer(() => {
    shown.ledger.forgetWatchers();
    shown.current.forgetWatchers();
  });
  // Stopped last of these parts, so that it reports the results of all calls.
  opened.defer(async () => void (await Promise.all([reporter?.stop(), notifier?.stop()])));
  const outside = {
    store,
    shown,
    registry,
    audit,
    clock,
    log,
    metrics,
    opened,
    random: Math.random,
    execution: settings.execution,
    writes: settings.repository.writes,
    source: repository.source,
    publisher: repository.publisher,
    triggers: repository.makeTriggers(),
    signatures: repository.signatures,
    lostRows: earlier.sign(),
    acceptedHistory: settings.acceptedHistory,
    leads,
    seen,
    certificates: () => tls.ends,
    outages: () => {
      const unsent = { statuses: reporter?.failure, notifications: notifier?.failure };
      return { programs: programs(), tls: tls.failure, replicas: database?.peers.trouble(), ...unsent };
    },
    leader: database && (() => database.lease.leader() ?? null),
  };
  const core = await startCore(outside, settings.shutdownSeconds * 1000);
  earlier.accept();
  opened.adopt(recordOnceAMinute({ ...core, seen, clock, log }), (it) => it.close());
  reporter = openStatuses(settings, { ...shown, clock, log, random: Math.random });
  const attention = watchAttention(parts, core, opened);
  notifier = openNotifications(settings, { ...shown, attention, clock, log, random: Math.random });
  const { follower, reconciler } = core;
  opened.defer(measureLeader(metrics, { ...core, store, attention, clock }));
  const stopWaiting = (): Promise<void> => core.stopWaiting();
  opened.defer(async () => void (await Promise.all([stopWaiting(), leads() ? undefined : reconciler.stop(0)])));
  return {
    handler: handlerOf(parts, core),
    reader: core.reader,
    drain: () => reconciler.stop(leads() ? settings.shutdownSeconds * 1000 : 0),
    stopWaiting,
    leads: () => leads() || 'not leading: the lease of this replica is over',
    notReadyReason: () => follower.notReadyReason,
    begin: () => follower.start(),
    poll: () => follower.poll(),
  };
}

/** Returns a function that returns whether this process still leads with the current fencing number. */
function leadsAs(database: SharedDatabase | undefined): () => boolean {
  if (database === undefined) return () => true;
  const { fencing } = database.lease;
  if (fencing === undefined) throw new StoreError('This process no longer leads.');
  return () => database.lease.fencing === fencing;
}

function handlerOf(parts: RoleParts, { agent, ...core }: WiredCore): RequestListener {
  invariant(agent !== undefined, 'the registry has no entry for proxies');
  return createApp({ ...core, agent, readAnswer: answerIn, ...listenerOptions(parts) });
}

/** The maximum number of rows in one commit. Further rows follow a minute later. */
const ROWS_MAX = 100;
const RECORD_MS = 60_000;

/**
 * Once a minute, records which clients were seen, and removes confirmations of deleted nodes and clients. The caller
 * closes it.
 */
function recordOnceAMinute({
  seen,
  ledger,
  current,
  clock,
  log,
}: Pick<RoleParts, 'seen' | 'clock' | 'log'> & ShownStore) {
  const logOnce = logOnceAMinute(clock);
  const work = async (): Promise<false> => {
    const desired = current.get();
    if (desired === undefined) return false;
    try {
      const changes = [...seen.changes(ledger, registryOf(desired)), ...forgottenDeliveries(ledger, desired)];
      await ledger.commit(changes.slice(0, ROWS_MAX));
    } catch (error) {
      const repeats = logOnce(error);
      if (repeats) log.warn({ err: error, ...repeats }, 'the seen clients could not be recorded');
    }
    return false;
  };
  return new WokenLoop({ clock, everyMs: RECORD_MS, work });
}

/** Reports causes that need an operator while this process leads. */
function watchAttention(
  { replica, clock, log }: RoleParts,
  { operator, requests }: WiredCore,
  opened: AsyncDisposableStack,
): AttentionWatch {
  const { shown } = replica;
  const attention = () => operator.attention();
  const endAcknowledgements = (ended: EndedCauses) => requests.endAcknowledgements(ended);
  const watch = new AttentionWatch({ attention, endAcknowledgements, clock, log });
  opened.adopt(watch, (it) => it.stop());
  shown.ledger.watch(() => watch.wake());
  shown.current.watch(() => watch.wake());
  return watch;
}
