// Opens the external parts in the settings: the followed repository, the provider of every entry, and the reporter of
// commit statuses.

import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { quote, toRfc3339 } from '../base/wording.ts';
import type { CurrentState } from '../follow/current-state.ts';
import type { ProviderSettings, Settings } from '../model/settings.ts';
import { ProgramRunner, type UnendedProgram } from '../programs/program-runner.ts';
import { createExecProvider } from '../providers/exec/exec-provider.ts';
import { createHttpProvider } from '../providers/http/http-provider.ts';
import type { Provider } from '../providers/provider.ts';
import { createProviderRegistry, type ProviderRegistry } from '../providers/provider-registry.ts';
import { createSimulatedProvider } from '../providers/simulated.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { stallsIn } from '../reconcile/waits/wait-graph.ts';
import { createGitPublisher } from '../repository/git-publisher.ts';
import { createGitSource } from '../repository/git-source.ts';
import type { Publisher } from '../repository/publisher.ts';
import { parseRepositoryUrl } from '../repository/repository-url.ts';
import { createSigner, SignatureCheck } from '../repository/signatures.ts';
import type { Signatures, Source, Trigger } from '../repository/source.ts';
import { createBranchWatch, createPollTimer } from '../repository/triggers.ts';
import type { Outage } from '../service/answers.ts';
import { Notifier } from '../statuses/notifier.ts';
import { createSendNotification } from '../statuses/send-notification.ts';
import { createSendStatus, takesProgress } from '../statuses/send-status.ts';
import { StatusReporter } from '../statuses/status-reporter.ts';

/** The parts that all others use. */
export interface SharedParts {
  readonly log: Logger;
  readonly clock: Clock;
  /** Closes all parts in reverse order. */
  readonly opened: AsyncDisposableStack;
}

/** The parts for access to the repository. */
export interface Repository {
  readonly source: Source;
  readonly publisher: Publisher;
  /** Undefined if commits need no signature. */
  readonly signatures: Signatures | undefined;
  /** Returns the triggers of polls for one follower. */
  readonly makeTriggers: () => readonly Trigger[];
}

/** Resolves with the parts for the repository of the settings. `opened` closes them. */
export async function openRepository(
  { repository, store }: Pick<Settings, 'repository' | 'store'>,
  { log, clock, opened }: SharedParts,
): Promise<Repository> {
  const { url, access, branch, directory, verify, writes } = repository;
  const sign = repository.sign === null ? undefined : createSigner(repository.sign.sshKeyFile);
  // Fail now, not at the first write, if the key cannot be used.
  await sign?.(Buffer.from('a commit'));
  // The directory of the local copy.
  const cache = join(store.directory, 'repository');
  const options = { url, access, branch, directory, cache, log };
  const source = opened.adopt(await createGitSource(options), (it) => it.close());
  const makeTriggers = (): readonly Trigger[] => openTriggers(repository, { log, clock });
  const signatures = verify === null ? undefined : new SignatureCheck(verify, source.copy.path);
  // Proposed commits are not checked here: they are followed after an operator merged them.
  const own = writes === 'commit' ? signatures : undefined;
  const publisher = createGitPublisher({ source, clock, sign, signatures: own });
  return { source, publisher, signatures, makeTriggers };
}

/** A local repository is watched and also polled, so a missed change is only found later. */
function openTriggers(
  { url, branch, pollSeconds }: Settings['repository'],
  { log, clock }: Pick<SharedParts, 'log' | 'clock'>,
): Trigger[] {
  const poll = createPollTimer(pollSeconds * 1000, clock);
  const parsed = parseRepositoryUrl(url);
  if (parsed.kind !== 'local') return [poll];
  return [poll, createBranchWatch({ path: parsed.path, branch, log })];
}

/**
 * Resolves with the registry of all entries, and the outage while programs of calls cannot be ended. First ends
 * programs of an earlier controller; throws LeftoverError if one does not end. The store has to be open, because its
 * lock excludes another controller.
 */
export async function openProviders(
  { execution, store }: Settings,
  { log, clock, opened }: SharedParts,
): Promise<{ readonly registry: ProviderRegistry; readonly programs: () => Outage | undefined }> {
  const runner = await ProgramRunner.open(join(store.directory, 'running'), log);
  const make = (entry: ProviderSettings): Provider => {
    if (entry.implementation === 'exec') return createExecProvider({ ...entry, runner, log });
    if (entry.implementation === 'http') return createHttpProvider({ ...entry, clock });
    return createSimulatedProvider(entry.options, clock);
  };
  const made = createProviderRegistry(execution.providers, make, execution.proxied);
  return { registry: opened.adopt(made, (it) => it.close()), programs: () => outageOf(runner.unended()) };
}

/** Returns the outage of programs that still run after their call; undefined if there are none. */
function outageOf(unended: readonly UnendedProgram[]): Outage | undefined {
  const [first] = unended;
  if (first === undefined) return undefined;
  const named = unended.map(({ pid, about }) => `process ${pid} of ${quote(about.server ?? '')}`);
  const reason = `${named.join(', ')} cannot be ended, since it runs as another user`;
  return { reason, since: toRfc3339(first.since) };
}

interface OpeningParts {
  readonly current: CurrentState;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

/** Returns a running reporter; undefined without a configured forge. The caller has to stop it. */
export function openStatuses(
  { id, statuses }: Pick<Settings, 'id' | 'statuses'>,
  { current, ledger, clock, log, random }: OpeningParts,
): StatusReporter | undefined {
  if (statuses === null) return undefined;
  return new StatusReporter({
    current,
    ledger,
    clock,
    log,
    random,
    stallsOf: stallsIn(ledger, clock),
    sentTo: `${statuses.apiUrl} ${statuses.project} ${id}`,
    send: createSendStatus(statuses, { id, clock }),
    takesProgress: takesProgress(statuses.kind),
  });
}

/** Returns a running notifier; undefined without subscribers. The caller stops it. */
export function openNotifications(
  { id, notifications }: Pick<Settings, 'id' | 'notifications'>,
  { current, attention, ...parts }: OpeningParts & Pick<ConstructorParameters<typeof Notifier>[0], 'attention'>,
): Notifier | undefined {
  if (notifications.length === 0) return undefined;
  const { clock } = parts;
  const subscribers = notifications.map((one) => ({ ...one, send: createSendNotification(one, { id, clock }) }));
  return new Notifier({ ...parts, subscribers, attention, followed: () => current.get()?.commit });
}
