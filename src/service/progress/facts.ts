// Gathers the facts that a client may know about the progress of instances and servers. All answers about progress use
// them.
import type { ClockTimes } from '../../base/clock.ts';
import type { RefusedCommit } from '../../desired/desired-state.ts';
import type { Cycle } from '../../machine/chain.ts';
import type { WaitView } from '../../machine/wait.ts';
import type { Client } from '../../model/objects.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { SilentEntry } from '../../reconcile/checks/entry-answers.ts';
import type { CheckFailure, LastCheck } from '../../reconcile/checks/server-checks.ts';
import type { LeadingReplica, Outage, Outages } from '../answers.ts';
import type { StallsOf } from '../read/instance-views.ts';
import { Scope } from '../scope.ts';
import { activeView, type View, type ViewSources } from '../views.ts';
import type { EndingCertificate } from './clients-seen.ts';

/** Facts about single servers, instances and entries that are not in the rows. */
interface Known {
  readonly stallsOf: StallsOf;
  /** Returns the wait of a server; undefined if it does not wait. */
  readonly waitOf: (server: string) => WaitView | undefined;
  /** Returns the failure of a server's checks if several in a row have failed; undefined otherwise. */
  readonly checkFailureOf: (server: string) => CheckFailure | undefined;
  /**
   * Returns when the proxy with this serial last sent a request, in milliseconds since 1970; undefined if not since the
   * start. Omitted: unknown.
   */
  readonly heardAt?: ((serial: string) => number | undefined) | undefined;
  /** See CurrentState. Omitted: unknown. */
  readonly invalidSince?: ((instance: string) => string | undefined) | undefined;
  /** Returns true if the settings have a provider entry of that name. Omitted: unknown. */
  readonly hasEntry?: ((name: string) => boolean) | undefined;
}

/** The sources of the facts. */
export interface ProgressOptions extends ViewSources, Known {
  /** Returns the outages. Omitted: this process has no outside connections. */
  readonly outages?: () => Outages;
  /** Returns the observations of this process. Omitted: it does not lead. */
  readonly noticed?: (() => Noticed) | undefined;
  /** Returns the leader, null if none is known. Omitted: the store is embedded. */
  readonly leader?: (() => LeadingReplica | null) | undefined;
  /** Returns why this replica is behind the leader. Omitted: it leads. */
  readonly lag?: () => Outage | undefined;
  /** This replica is a standby, and answers because no leader did. Omitted: it leads. */
  readonly isUnled?: true;
}

/** Observations of the leader that are not in the rows. */
export interface Noticed {
  /** Returns the call in flight for a server. */
  readonly callOf: (
    server: string,
  ) => { readonly provider: string; readonly claimed: Pick<ClockTimes, 'wall'> } | undefined;
  /** Returns since when the calls of a provider entry had no answer; undefined if the last call had one. */
  readonly unansweredOf: (entry: string) => SilentEntry | undefined;
  /** Returns why the last action of a server had no answer; undefined if a later action had one. */
  readonly lostBecause: (server: string) => string | undefined;
  /** Provider entries that do not answer. */
  readonly silent: readonly SilentEntry[];
  /** Servers that wait for one another. */
  readonly cycles: readonly Cycle[];
  /** Idle servers whose checks fail: several in a row, or the first check that an operator requested. */
  readonly unchecked: ReadonlySet<string>;
  /** Returns the last check of a server; undefined if there is none since the start. */
  readonly lastCheckOf: (server: string) => LastCheck | undefined;
  /** Returns since when no proxy for servers with these tags has sent a request; see ProxyPresence. */
  readonly silentSince: (tags: readonly string[]) => number | null | undefined;
  /** Certificates and revocation lists. */
  readonly ending: readonly EndingCertificate[];
}

/** The facts that a client may know now. */
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
 * Returns the facts that a client may know; `by`: undefined for the controller itself. A limited client does not see
 * outages, provider entries and replicas, since these concern the whole installation. `lag`: of the replica that
 * received the request.
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

/** Returns the row of a server, if the client sees the server: the row contains values and reasons. */
export function seenRow(
  server: string,
  { scope, view: { rows } }: Pick<Facts, 'scope' | 'view'>,
): ServerRow | undefined {
  return scope.seesServer(server) ? rows.server(server) : undefined;
}
