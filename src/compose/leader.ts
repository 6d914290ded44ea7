// Builds the role of a leader: what follows the repository, drives the servers, writes, answers and reports, upon the parts of its replica.
import { createApp } from '../api/app.ts';
import type { AuthenticateOptions } from '../api/authenticate.ts';
import type { Clock } from '../base/clock.ts';
import { invariant } from '../base/invariant.ts';
import type { Logger } from '../base/log.ts';
import { momentOf } from '../base/wording.ts';
import type { Settings } from '../model/settings.ts';
import { answerIn } from '../providers/answer-json.ts';
import type { StatusReporter } from '../statuses/status-reporter.ts';
import { wireCore } from './core.ts';
import { openProviders, openStatuses } from './open-parts.ts';
import type { ServingRole } from './present-role.ts';
import type { Replica } from './replica.ts';

/** The parts that a role is built with. */
export interface RoleParts {
  readonly settings: Settings;
  readonly replica: Replica;
  readonly judge: AuthenticateOptions['judge'];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Builds a leader. */
export async function composeLeader(parts: RoleParts): Promise<ServingRole> {
  await using opened = new AsyncDisposableStack();
  const role = await compose(parts, opened);
  const running = opened.move();
  return { ...role, stop: () => running.disposeAsync() };
}

async function compose(
  { settings, replica, judge, clock, log }: RoleParts,
  opened: AsyncDisposableStack,
): Promise<Omit<ServingRole, 'stop'>> {
  const { repository, store, shown, database, earlier } = replica;
  const { registry, isCopied } = await openProviders(settings, { log, clock, opened });
  const { execution } = settings;
  const { writes } = settings.repository;
  let reporter: StatusReporter | undefined;
  const reason = 'the directory of the store is a copy, and the first controller runs';
  // The rows in a database are no copy, whatever the directory is.
  const isStoreCopied = isCopied && database === undefined;
  const copied = isStoreCopied ? { reason, since: momentOf(clock.now()), sinceStart: true as const } : undefined;
  const signs = copied === undefined ? earlier.sign() : { sign: copied.reason };
  const core = wireCore({
    ...{ store, shown, registry, ...repository, clock, log, opened, random: Math.random, execution, writes },
    ...{ ...signs, copied, statusFailure: () => reporter?.failure },
  });
  await core.started;
  earlier.accept();
  reporter = openStatuses(settings, { ...shown, clock, log, random: Math.random });
  // Last of these, so that it sees how all calls ended.
  opened.defer(async () => await reporter?.stop());
  opened.adopt(core.reconciler, (it) => it.stop(settings.shutdownSeconds * 1000));
  const { agent, follower } = core;
  opened.adopt(follower, (it) => it.stop());
  invariant(agent !== undefined, 'the registry has no entry for proxies');
  const answers = { readAnswer: answerIn, replica: settings.replica.name, judge, clock, log };
  return {
    handler: createApp({ ...core, agent, ...answers }),
    reader: core.reader,
    leads: () => true,
    notReadyReason: () => follower.notReadyReason,
    begin: () => follower.start(),
    poll: () => follower.poll(),
    stopWaiting: () => core.stopWaiting(),
  };
}
