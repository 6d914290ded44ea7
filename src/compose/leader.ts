// Builds the role of a leader: what follows the repository, drives the servers, writes, answers and reports, upon the parts of its replica.
import type { RequestListener } from 'node:http';
import { createApp } from '../api/app.ts';
import { carryOutForwarded } from '../api/carry-out.ts';
import { invariant } from '../base/invariant.ts';
import { momentOf } from '../base/wording.ts';
import { answerIn } from '../providers/answer-json.ts';
import type { StatusReporter } from '../statuses/status-reporter.ts';
import { RequestInbox } from '../store/postgres/request-inbox.ts';
import { StoreError } from '../store/store-error.ts';
import { type ShownStore, wireCore } from './core.ts';
import { openProviders, openStatuses } from './open-parts.ts';
import type { SharedDatabase } from './open-store.ts';
import type { ServingRole } from './present-role.ts';
import type { RoleParts } from './replica.ts';
import { followLeader } from './standby.ts';

/** How long requests of other replicas may take to be answered when the leader stops. */
const STOP_ANSWERING_MS = 8_000;

/** Builds a leader. */
export async function composeLeader(parts: RoleParts): Promise<ServingRole> {
  await using opened = new AsyncDisposableStack();
  const role = await compose(parts, opened);
  const running = opened.move();
  return { ...role, stop: () => running.disposeAsync() };
}

async function compose(parts: RoleParts, opened: AsyncDisposableStack): Promise<Omit<ServingRole, 'stop'>> {
  const { settings, replica, judge, clock, log } = parts;
  const { repository, store, shown, inSlices, database, earlier } = replica;
  const leads = (): boolean => database === undefined || database.lease.holds();
  if (database !== undefined) await catchUp(parts);
  const { registry, isCopied } = await openProviders(settings, { log, clock, opened });
  const { execution } = settings;
  const { writes } = settings.repository;
  let reporter: StatusReporter | undefined;
  const reason = 'the directory of the store is a copy, and the first controller runs';
  // The rows in a database are no copy, whatever the directory is.
  const isStoreCopied = isCopied && database === undefined;
  const copied = isStoreCopied ? { reason, since: momentOf(clock.now()), sinceStart: true as const } : undefined;
  const signs = copied === undefined ? earlier.sign() : { sign: copied.reason };
  // Who leads next begins with what is saved, and not with who watches it here.
  opened.defer(() => forgetWatchers(shown));
  const core = wireCore({
    ...{ store, shown, inSlices, registry, clock, log, opened, leads, random: Math.random, execution, writes },
    ...{ source: repository.source, publisher: repository.publisher, triggers: repository.makeTriggers() },
    ...{ ...signs, copied, statusFailure: () => reporter?.failure },
    leader: database && (() => database.lease.leader() ?? null),
  });
  await core.started;
  earlier.accept();
  reporter = openStatuses(settings, { ...shown, clock, log, random: Math.random });
  // Last of these, so that it sees how all calls ended.
  opened.defer(async () => await reporter?.stop());
  const { agent, follower, reconciler } = core;
  // Who has lost the lead ends what it runs at once: the next leader may begin.
  opened.defer(() => reconciler.stop(leads() ? settings.shutdownSeconds * 1000 : 0));
  opened.adopt(follower, (it) => it.stop());
  invariant(agent !== undefined, 'the registry has no entry for proxies');
  const answers = { readAnswer: answerIn, replica: settings.replica.name, judge, clock, log };
  const handler = createApp({ ...core, agent, ...answers });
  const inbox = database && takeRequests(database, { handler, clock, log });
  let waiting: Promise<unknown> | undefined;
  const stopWaiting = async (): Promise<void> => {
    waiting ??= Promise.all([core.stopWaiting(), inbox?.stop(leads() ? STOP_ANSWERING_MS : 0)]);
    await waiting;
  };
  opened.defer(async () => void (await Promise.all([stopWaiting(), leads() ? undefined : reconciler.stop(0)])));
  return {
    ...{ handler, reader: core.reader, stopWaiting },
    leads: () => leads() || 'not leading: the lease of this replica is over',
    notReadyReason: () => follower.notReadyReason,
    begin: () => follower.start(),
    poll: () => follower.poll(),
  };
}

/** Shows everything that earlier leaders have written. Throws where that cannot be done: then this process must not lead. */
async function catchUp(parts: RoleParts): Promise<void> {
  const follower = followLeader(parts);
  try {
    await follower.catchUp();
  } finally {
    await follower.stop();
  }
}

/** Has the requests of other replicas carried out, for as long as this process leads. */
function takeRequests(
  { options, wakes, lease }: SharedDatabase,
  { handler, clock, log }: Pick<RoleParts, 'clock' | 'log'> & { readonly handler: RequestListener },
): RequestInbox {
  const { fencing } = lease;
  if (fencing === undefined) throw new StoreError('This process does not lead any more.');
  const carryOut = carryOutForwarded(handler);
  return new RequestInbox(options, { wakes, fencing, leads: () => lease.fencing === fencing, carryOut, clock, log });
}

function forgetWatchers({ ledger, current }: ShownStore): void {
  ledger.forgetWatchers();
  current.forgetWatchers();
}
