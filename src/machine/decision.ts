// Defines the decision about the next step of one server: the facts that it reads, and what follows from it. decide.ts
// decides.
import type { LostActionEnds, ProxyClaim, Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { Needs } from './needs.ts';
import type { OutputFacts } from './read-outputs.ts';
import type { Wait } from './wait.ts';

/** `answered`: the check determined whether the server exists. `failed`: it did not. */
export type CheckEnd = 'answered' | 'failed';

/** A call that begins once the row is written. */
type NextCall =
  /**
   * Ask the provider whether the server exists. `isRoutine`: the server is settled, and no action waits for the answer.
   */
  | {
      readonly kind: 'check';
      readonly provider: string;
      readonly isRoutine?: true;
      /** The proxy tags of the server that the proxy which is asked has itself; omitted if no proxy is. */
      readonly tags?: readonly string[] | undefined;
    }
  /** Carry out the action that the row now holds. */
  | { readonly kind: 'run'; readonly provider: string };

/**
 * What follows a pass, carried out after the row is written: nothing until a commit or a request changes something,
 * another pass at once, a call, or a wait.
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
  /** Those of its client file. */
  readonly tags: readonly string[];
}

/** Outputs, and since when their servers are as they are: milliseconds since 1970. */
export interface RecordedOutputs extends OutputFacts {
  readonly sinceOf: (server: string) => number;
}

/** The facts besides the row that a decision about one server reads. */
export interface DecisionContext extends Needs {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The longest that a server waits for its next try. */
  readonly waitMsMax: number;
  /** The provider entry that is responsible for the row, or why there is none. */
  readonly providerFor: (row: ServerRow) => ResponsibleProvider;
  /** When the row's action, which this process does not run, can no longer be running: milliseconds since 1970. */
  readonly lostActionEnds: (action: RunningAction) => number;
  /** The outputs of others as they are recorded. */
  readonly outputs: RecordedOutputs;
  /** Why the row's action ended without an answer, if this process knows it. */
  readonly lostBecause: string | undefined;
  /** An action or check of the server is in flight in this process. */
  readonly isInFlight: boolean;
  /** Returns true if one more call of that provider may start now; `isRoutine`: a check of an idle server. */
  readonly hasCapacity: (provider: string, isRoutine?: boolean) => boolean;
  /** The proxy that asks for the next call; undefined if none does. */
  readonly claimant: Claimant | undefined;
  /**
   * Returns true if its replacement, which is not approved, fits the budget. Undefined if its recorded row does not
   * show the replacement yet, so that others do not count it.
   */
  readonly mayReplace: () => boolean | undefined;
  /**
   * How its last check ended, if that is at most 30 s ago and no action on it has begun since: one of the site of the
   * proxy that asks for the next call, or of any of its sites if none does.
   */
  readonly lastCheck: CheckEnd | undefined;
  /** A scheduled or requested check of the settled server may start now. */
  readonly isCheckDue: boolean;
  /**
   * Returns until when a server that is gone waits for another one of its site to be found; undefined: it does not
   * wait.
   */
  readonly siteAwaitedUntil: (row: ServerRow) => number | undefined;
}

/** The provider entry that is responsible for a server. */
export interface ResponsibleEntry {
  readonly name: string;
  readonly timeoutMs: number;
  /** The proxy tags of a server that proxies manage. */
  readonly tags?: readonly string[];
  /** With tags: no proxy that has one of them has asked for work for a while. */
  readonly isSilent?: boolean;
  /** When an action of it whose outcome is lost is over. */
  readonly lostActionEnds?: LostActionEnds;
}

/** The provider entry that is responsible for a server, or the reason for which there is none. */
export type ResponsibleProvider = ResponsibleEntry | { readonly name: null; readonly reason: Reason };
