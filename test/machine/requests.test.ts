import { describe, expect, it } from 'vitest';
import { adoptedRow, retriedRow } from '../../src/machine/requests.ts';
import type { Reason, ServerRow } from '../../src/model/rows.ts';
import { STATES } from '../../src/model/state.ts';
import { at, NOW, rowIn, SMALL, SOON } from '../reconcile/build.ts';

const ENTRIES = { has: (name: string) => name === 'lab', isMatched: () => true };
const EXISTS: Reason = { code: 'exists_already', text: 'it is there' };

describe('trying again', () => {
  it.each(STATES)('in the state %s ends a wait for the next try, and nothing else', (state) => {
    const after = retriedRow(rowIn(state, { due: at(SOON), attempt: 2 }), at(NOW));
    const next = { failed: 'pending', retrying: 'pending', unknown: 'unknown' }[state as string];
    if (next === undefined) expect(after).toBeUndefined();
    else expect(after).toMatchObject({ state: next, due: null, attempt: 0 });
  });

  it('leaves a check alone that is about to be made', () => {
    expect(retriedRow(rowIn('unknown'), at(NOW))).toBeUndefined();
  });

  it('goes on with a delete', () => {
    const row = rowIn('failed', { wanted: null, applied: SMALL, due: at(SOON) });
    expect(retriedRow(row, at(NOW))?.state).toBe('marked for delete');
  });
});

describe('adopting', () => {
  it.each(STATES)('in the state %s is for what is blocked because it exists already', (state) => {
    const after = adoptedRow(rowIn(state, { reason: EXISTS, replacing: true, checked: false }), at(NOW), ENTRIES);
    if (state === 'blocked') expect(after).toMatchObject({ state: 'pending', adopting: true, reason: null });
    else expect(after).toBeUndefined();
  });

  it.each<[string, Partial<ServerRow>]>([
    ['blocked for another reason', { reason: { code: 'no_provider', text: 'nobody' } }],
    ['not wanted any more', { reason: EXISTS, wanted: null }],
  ])('is not for what is %s', (_case, fields) => {
    expect(adoptedRow(rowIn('blocked', fields), at(NOW), ENTRIES)).toBeUndefined();
  });
});
