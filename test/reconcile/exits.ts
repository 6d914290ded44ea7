// What leads out of every state in which a server may stand, with every reason, and destroys nothing. exits.test.ts plays each;
// core.ts fails a test in which a row is in none of them.
import type { ReasonCode, ServerRow } from '../../src/model/rows.ts';
import type { State } from '../../src/model/state.ts';

type Owner = 'wanted' | 'unwanted';
type Running = 'creating' | 'updating' | 'deleting';

/** A running action ends by its deadline, whatever its reason says. */
export type ExitKey = Running | `${Exclude<State, Running>}/${ReasonCode | '-'}/${Owner}`;

/** The exit from each, for an operator who reads a failed test. */
export const EXITS = {
  creating: 'its deadline, and the check after it',
  updating: 'its deadline, and the check after it',
  deleting: 'its deadline, and the check after it; it is gone as nobody wants it',
  'pending/-/wanted': 'what it waits for; a suspension is resumed',
  'pending/drifted/wanted': 'what it waits for; a suspension is resumed',
  'pending/must_replace/wanted':
    'a commit that takes the change back; of drift: corrected by hand, then treeline retry',
  'blocked/exists_already/wanted': 'treeline adopt',
  'blocked/no_provider/wanted': 'a commit that an entry matches, or another entry',
  'blocked/no_proxy/wanted': 'a proxy is registered, or asks again',
  'blocked/protected/wanted': 'treeline retry, or a commit that takes the change back',
  'blocked/provider_changed/wanted': 'the entry is put back, or treeline adopt',
  'blocked/no_proxy/unwanted': 'treeline retain',
  'blocked/provider_changed/unwanted': 'treeline retain',
  'blocked/no_output/wanted': 'the provider of the other server reports it, or a commit that takes it no more',
  'blocked/output_fight/wanted': 'treeline retry',
  'retrying/action_failed/wanted': 'the next try, at a known time',
  'retrying/check_failed/wanted': 'the next try, at a known time',
  'retrying/outcome_lost/wanted': 'the next try, at a known time',
  'retrying/action_failed/unwanted': 'treeline retain, or a commit that wants it again',
  'retrying/outcome_lost/unwanted': 'treeline retain, or a commit that wants it again',
  'failed/action_failed/wanted': 'treeline retry, or a commit that takes the change back',
  'failed/check_failed/wanted': 'treeline retry',
  'failed/outcome_lost/wanted': 'treeline retry',
  'failed/action_failed/unwanted': 'treeline retain, or a commit that wants it again',
  'failed/outcome_lost/unwanted': 'treeline retain, or a commit that wants it again',
  'unknown/-/wanted': 'the check that comes next',
  'unknown/-/unwanted': 'treeline retain, or the check that comes next',
  'unknown/check_failed/wanted': 'treeline retry, once its provider answers',
  'unknown/check_failed/unwanted': 'treeline retain',
  'unknown/outcome_lost/wanted': 'the check that comes next',
  'unknown/outcome_lost/unwanted': 'treeline retain, or the check that comes next',
  'unknown/provider_changed/wanted': 'the entry is put back',
  'unknown/provider_changed/unwanted': 'treeline retain',
  'unknown/no_provider/wanted': 'the entry is put back',
  'unknown/no_proxy/wanted': 'a proxy is registered, or asks again',
  'unknown/no_proxy/unwanted': 'treeline retain',
  'done/-/wanted': 'nothing is to be done',
  'drifted/drifted/wanted': 'treeline retry, or a check that finds it corrected',
  'drifted/drift_fight/wanted': 'treeline retry',
  'drifted/many_gone/wanted': 'treeline retry',
  'marked for delete/-/unwanted': 'a commit that wants it again, or treeline retain',
} as const satisfies Partial<Record<ExitKey, string>>;

/** Returns the key of the exit of a row; it may not be in {@link EXITS}. */
export function exitKeyOf({ state, reason, wanted }: ServerRow): string {
  if (state === 'creating' || state === 'updating' || state === 'deleting') return state;
  return `${state}/${reason?.code ?? '-'}/${wanted === null ? 'unwanted' : 'wanted'}`;
}
