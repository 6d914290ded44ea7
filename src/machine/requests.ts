// Applies a request to the row of one server: retry, correct, adopt, retain, replace. Pure;
// src/service/operate/operator.ts writes the rows.
import type { ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import { corrected, withoutHealing, withoutObserved } from './drift.ts';
import { isWaiting } from './needs.ts';
import { isBlockedFor, isStuck } from './reasons.ts';
import { requeue } from './transitions.ts';

/**
 * Returns the row for an immediate retry, or undefined if the server does not wait for a try. In the state `unknown`
 * the next try is a check.
 */
export function retriedRow(row: ServerRow, now: string): ServerRow | undefined {
  if (isBlockedFor(row, 'output_fight')) return requeue(withoutHealing(row), { now, attempt: 0 });
  const waits = row.state === 'failed' || row.state === 'retrying' || (row.state === 'unknown' && row.due !== null);
  return waits ? requeue(row, { now, attempt: 0 }) : undefined;
}

/** Returns the row of a waiting server that no longer waits for others; undefined for any other. */
export function unorderedRow(row: ServerRow): ServerRow | undefined {
  return isWaiting(row.state) ? { ...row, ignoresOrder: row.generation } : undefined;
}

/**
 * Returns the row of a drifted server that is to be corrected, or created again if it is gone; undefined for any other.
 * Stopped healing may resume.
 */
export function correctedRow(row: ServerRow, now: string): ServerRow | undefined {
  if (row.state !== 'drifted' || row.wanted === null) return undefined;
  return corrected(withoutHealing(row), { now, reason: row.reason?.code === 'drifted' ? row.reason : null });
}

/**
 * Returns the row of a server whose replacement waits for an operator and is now cancelled; undefined for any other. If
 * the server differs from the wanted spec, the provider decides again whether it must be replaced. `isHeld`: its
 * instance is held.
 */
export function keptRow(row: ServerRow, now: string, isHeld: boolean): ServerRow | undefined {
  const isWaiting = isHeld && row.state === 'pending' && row.replacing && row.applied !== null && !row.approved;
  if (!isWaiting && !isBlockedFor(row, 'protected')) return undefined;
  return requeue(row, { now, attempt: 0, replacing: false });
}

/** The provider entries of the settings. */
export interface Entries {
  readonly has: (name: string) => boolean;
  /** Returns the name of the entry that matches a spec; undefined if none does. */
  readonly match: (wanted: Spec) => string | undefined;
}

/**
 * Returns the row of a server to be adopted: one that is blocked because it exists already or because another provider
 * entry matches it now, or one with a lost outcome that only a removed entry could determine. The entry that matches
 * now is asked. Undefined for any other.
 */
export function adoptedRow(row: ServerRow, now: string, entries: Pick<Entries, 'match'>): ServerRow | undefined {
  if (row.wanted === null) return undefined;
  // Adopting does not help if no proxy asks for work.
  if (isStuck(row)) {
    if (row.reason?.code === 'no_proxy') return undefined;
    const { proxyTags: _, ...rest } = row;
    return { ...rest, provider: null, due: null, attempt: 0, reason: null };
  }
  const hasMoved = isBlockedFor(row, 'provider_changed') && entries.match(row.wanted) !== undefined;
  if (!hasMoved && !isBlockedFor(row, 'exists_already')) return undefined;
  return requeue(row, { now, attempt: 0, adopting: true, ...(hasMoved ? { checked: false } : {}) });
}

/**
 * Returns the row of a server whose provider entry has moved: the next answer determines its place. Undefined if no
 * place is known.
 */
export function relocatedRow(row: ServerRow, now: string): ServerRow | undefined {
  const { place, ...rest } = row;
  return place === undefined ? undefined : (retriedRow(rest, now) ?? rest);
}

/** Returns why a server cannot be forgotten; undefined if it can. */
export function retainRefusal({ wanted, action, state, instance }: ServerRow): string | undefined {
  if (wanted !== null) {
    const advice = `give ${instance} "deletion: retain" in one commit, and take the server out in a later one`;
    return `a commit wants it, so it would be found again at once; ${advice}`;
  }
  if (action === null || state === 'unknown') return undefined;
  return `its ${action.operation} is running; ask again once that has ended or failed`;
}

/** Returns the row of an unwanted server that is to be forgotten: the next pass removes the row, without a call. */
export function retainedRow(row: ServerRow, now: string): ServerRow {
  return requeue(row, { now, attempt: 0, policy: { ...row.policy, deletion: 'retain' } });
}

/** Returns why a server cannot be replaced; undefined if it can. */
export function replaceRefusal(row: ServerRow, entries: Entries): string | undefined {
  const { wanted, policy, action, applied, provider } = row;
  if (wanted === null) return 'no commit wants it any more: it is deleted, and nothing is made in its place';
  if (policy.protected) return 'its instance is protected: take "protected" out with a commit first';
  if (action !== null) return `the outcome of its ${action.operation} is not known yet; ask again once that has ended`;
  if (row.replacing && row.approved) return 'it is being replaced already';
  if (applied === null) return notMade(row);
  if (provider !== null && !entries.has(provider)) {
    const advice = 'put that entry back until it is deleted, or adopt the server with the entry that matches now';
    return `only the provider entry "${provider}" can delete it, which is not in the settings any more; ${advice}`;
  }
  return entries.match(wanted) !== undefined
    ? undefined
    : 'no provider entry matches it now, so it could not be made again';
}

function notMade(row: ServerRow): string {
  if (isBlockedFor(row, 'exists_already')) return 'Treeline did not make it; adopt it first, or remove it by hand';
  if (isBlockedFor(row, 'provider_changed'))
    return 'a failed create may have left it: put its provider back, or remove the server by a commit';
  return 'it is not made yet, so there is nothing to replace; to try again, use retry';
}

/**
 * Returns the row of a server that is to be deleted and created again. The request is the approval, so the budget does
 * not count it.
 */
export function replacedRow(row: ServerRow, now: string): ServerRow {
  const begun = withoutHealing(withoutObserved(row));
  return requeue(begun, { now, attempt: 0, gaveUp: false, adopting: false, replacing: true, approved: true });
}
