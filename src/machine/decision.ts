// Defines the input and the result of the decision about the next step of one server. decide.ts decides.
import type { LostActionEnds, ProxyClaim, Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { Needs } from './needs.ts';
import type { OutputFacts } from './read-outputs.ts';
import type { Wait } from './wait.ts';

/** `answered`: the check determined whether the server exists. `failed`: it did not. */
export type CheckEnd = 'answered' | 'failed';

/** A call that begins once the row is written. */
type NextCall =
  /**
   * Asks the provider whether the server exists. `isRoutine`: the server is settled, and no action waits for the
   * answer.
   */
  | {
      readonly kind: 'check';
      readonly provider: string;
      readonly isRoutine?: true;
      /** The proxy tags of the server that the asked proxy also has; omitted if no proxy is asked. */
      readonly tags?: readonly string[] | undefined;
    }
  /** Carries out the action that the row now contains. */
  | { readonly kind: 'run'; readonly provider: string };

/**
 * What follows a pass after the row is written: nothing until a commit or a request changes something (`rest`), another
 * pass (`again`), a call, or a wait.
 */
export type Next = { readonly kind: 'rest' } | { readonly kind: 'again' } | NextCall | Wait;

/** Returns the wait that follows a pass; undefined if the server does not wait. */
export function waitIn(next: Next): Wait | undefined {
  switch (next.kind) {
    case 'rest':
    case 'again':
    case 'check':
    case 'run':
      return undefined;
    default:
      return next;
  }
}

/** The next row, or null if the server's row is to be removed. The same object if nothing changes. */
export interface Step {
  readonly row: ServerRow | null;
  readonly next: Next;
}

/** A proxy that asks for the next call of a server. */
export interface Claimant {
  readonly claim: ProxyClaim;
  /** The tags in its client file. */
  readonly tags: readonly string[];
}

/** Outputs, and the time of the last state change of their servers, in milliseconds since 1970. */
export interface RecordedOutputs extends OutputFacts {
  readonly sinceOf: (server: string) => number;
}

/** The facts for a decision about one server, in addition to its row. */
export interface DecisionContext extends Needs {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The longest wait of a server for its next try. */
  readonly waitMsMax: number;
  /** Returns the provider entry that is responsible for the row, or why there is none. */
  readonly providerFor: (row: ServerRow) => ResponsibleProvider;
  /** Returns when an action that this process does not run must have ended: milliseconds since 1970. */
  readonly lostActionEnds: (action: RunningAction) => number;
  /** The recorded outputs of other servers. */
  readonly outputs: RecordedOutputs;
  /** Why the row's action ended without an answer, if this process knows it. */
  readonly lostBecause: string | undefined;
  /** An action or check of the server is in flight in this process. */
  readonly isInFlight: boolean;
  /** Returns true if one more call of the provider may start now; `isRoutine`: a check of an idle server. */
  readonly hasCapacity: (provider: string, isRoutine?: boolean) => boolean;
  /** The proxy that asks for the next call; undefined if none does. */
  readonly claimant: Claimant | undefined;
  /**
   * Returns true if the server's replacement, which is not approved, is within the delete budget. Undefined if the
   * recorded row does not show the replacement yet, so that other servers do not count it.
   */
  readonly mayReplace: () => boolean | undefined;
  /**
   * How the last check ended, if that was at most 30 s ago and no action has begun since. Only checks at the site of
   * the asking proxy count; if no proxy asks, checks at any site.
   */
  readonly lastCheck: CheckEnd | undefined;
  /** A scheduled or requested check of the settled server may start now. */
  readonly isCheckDue: boolean;
  /** Returns until when a gone server waits for another server of its site to be found; undefined: it does not wait. */
  readonly siteAwaitedUntil: (row: ServerRow) => number | undefined;
}

/** The provider entry that is responsible for a server. */
export interface ResponsibleEntry {
  readonly name: string;
  readonly timeoutMs: number;
  /** The proxy tags of a server that proxies manage. */
  readonly tags?: readonly string[];
  /** With tags: no proxy with one of them has asked for work recently. */
  readonly isSilent?: boolean;
  /** When an action with a lost outcome counts as ended. */
  readonly lostActionEnds?: LostActionEnds;
}

/** The provider entry that is responsible for a server, or the reason why there is none. */
export type ResponsibleProvider = ResponsibleEntry | { readonly name: null; readonly reason: Reason };
