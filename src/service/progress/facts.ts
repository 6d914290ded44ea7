// Gathers what a client may know of the progress of instances and servers. All answers about it are made of these facts.
import type { ClockTimes } from '../../base/clock.ts';
import type { RefusedCommit } from '../../desired/desired-state.ts';
import type { Cycle } from '../../machine/chain.ts';
import type { ToldWait } from '../../machine/wait.ts';
import type { Client } from '../../model/objects.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { SilentEntry } from '../../reconcile/checks/entry-answers.ts';
import type { CheckFailure, LastCheck } from '../../reconcile/checks/server-checks.ts';
import type { LeadingReplica, Outage, Outages } from '../answers.ts';
import type { StallsOf } from '../read/instance-views.ts';
import { Scope } from '../scope.ts';
import { activeView, type View, type ViewSources } from '../views.ts';
import type { EndingCertificate } from './clients-seen.ts';

/** What is known of single servers, instances and entries beside the rows. */
interface Known {
  readonly stallsOf: StallsOf;
  /** Returns the wait of a server; undefined if it does not wait. */
  readonly waitOf: (server: string) => ToldWait | undefined;
  /** Returns how the checks of a server fail, once several in a row have failed; undefined otherwise. */
  readonly checkFailureOf: (server: string) => CheckFailure | undefined;
  /**
   * Returns when the proxy with this serial was last heard of, in milliseconds since 1970; undefined: not since the
   * start. Omitted: it is not known.
   */
  readonly heardAt?: ((serial: string) => number | undefined) | undefined;
  /** See CurrentState. Omitted: it is not known. */
  readonly invalidSince?: ((instance: string) => string | undefined) | undefined;
  /** Returns true if the settings have a provider entry of that name. Omitted: it is not known. */
  readonly hasEntry?: ((name: string) => boolean) | undefined;
}

/** What is known of the progress of instances beside the rows. */
export interface ProgressOptions extends ViewSources, Known {
  /** Returns what fails outside. Omitted: this process does nothing outside. */
  readonly outages?: () => Outages;
  /** Returns what this process has noticed. Omitted: it does not lead. */
  readonly noticed?: (() => Noticed) | undefined;
  /** Returns the leader, null if none is known. Omitted: the store is embedded. */
  readonly leader?: (() => LeadingReplica | null) | undefined;
  /** Returns why this replica shows an earlier moment than the leader. Omitted: it leads. */
  readonly lag?: () => Outage | undefined;
  /** This replica does not lead, and answers since no leader did. Omitted: it leads. */
  readonly isUnled?: true;
}

/** What the leading process has noticed, in addition to the rows. */
export interface Noticed {
  /** Returns the call in flight for a server. */
  readonly callOf: (
    server: string,
  ) => { readonly provider: string; readonly claimed: Pick<ClockTimes, 'wall'> } | undefined;
  /** Returns since when the calls of a provider entry have no answer; undefined if the last one had an answer. */
  readonly unansweredOf: (entry: string) => SilentEntry | undefined;
  /** Returns why the last action of a server had no answer; undefined if one had since. */
  readonly lostBecause: (server: string) => string | undefined;
  /** Provider entries that answer nothing. */
  readonly silent: readonly SilentEntry[];
  /** Servers that wait for one another. */
  readonly cycles: readonly Cycle[];
  /** Returns true if the last call of a server had no answer because of such an entry; see EntryAnswers. */
  readonly isOfSilent: (server: string) => boolean;
  /** Idle servers whose checks fail: several in a row, or the first one after an operator asked for it. */
  readonly unchecked: ReadonlySet<string>;
  /** Returns the last check of a server; undefined if there is none since the start. */
  readonly lastCheckOf: (server: string) => LastCheck | undefined;
  /** Returns since when no proxy that manages servers with these tags is heard of; see ProxyPresence. */
  readonly unheardSince: (tags: readonly string[]) => number | null | undefined;
  /** Certificates and revocation lists, with their ends. */
  readonly ending: readonly EndingCertificate[];
}

/** What a client may know of the progress now. */
export interface Facts extends Known {
  readonly view: View;
  readonly scope: Scope;
  readonly refused: RefusedCommit | undefined;
  readonly outages: Outages;
  readonly noticed: Noticed | undefined;
  /** Undefined if the store is embedded. */
  readonly leader: LeadingReplica | null | undefined;
  readonly lag: Outage | undefined;
  readonly isUnled?: true;
}

/**
 * Returns what a client may know; `by`: undefined for the controller itself. A limited client does not see outages,
 * provider entries and replicas: these concern the whole installation. `lag`: of the replica that was asked.
 */
export function factsFor(by: Client | undefined, options: ProgressOptions, lag?: Outage): Facts {
  const { stallsOf, waitOf, checkFailureOf, heardAt, invalidSince } = options;
  const scope = new Scope(by, options);
  const whole = scope.isWhole ? options : undefined;
  return {
    view: activeView(options),
    scope,
    refused: options.refused(),
    stallsOf,
    waitOf,
    checkFailureOf,
    heardAt,
    invalidSince,
    noticed: whole?.noticed?.(),
    outages: whole?.outages?.() ?? {},
    hasEntry: whole?.hasEntry,
    leader: whole?.leader?.(),
    lag,
    ...(options.isUnled && { isUnled: options.isUnled }),
  };
}

/** Returns the row of a server that the client sees: it has values and reasons. */
export function seenRow(
  server: string,
  { scope, view: { rows } }: Pick<Facts, 'scope' | 'view'>,
): ServerRow | undefined {
  return scope.seesServer(server) ? rows.server(server) : undefined;
}
