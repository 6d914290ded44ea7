import { describe, expect, it } from 'vitest';
import { adoptedRow, replaceRefusal, retainRefusal, retriedRow } from '../../src/machine/requests.ts';
import type { Reason, ServerRow } from '../../src/model/rows.ts';
import { STATES } from '../../src/model/state.ts';
import { at, NOW, rowIn, running, SMALL, SOON } from '../reconcile/build.ts';

const ENTRIES = { has: (name: string) => name === 'lab', match: () => 'lab' };
const EXISTS: Reason = { code: 'exists_already', text: 'it is there' };

describe('a retry', () => {
  it.each(STATES)('in the state %s only ends the wait for the next attempt', (state) => {
    const after = retriedRow(rowIn(state, { due: at(SOON), attempt: 2 }), at(NOW));
    const next = { failed: 'pending', retrying: 'pending', unknown: 'unknown' }[state as string];
    if (next === undefined) expect(after).toBeUndefined();
    else expect(after).toMatchObject({ state: next, due: null, attempt: 0 });
  });

  it('changes nothing if a check is due', () => {
    expect(retriedRow(rowIn('unknown'), at(NOW))).toBeUndefined();
  });

  it('continues a delete', () => {
    const row = rowIn('failed', { wanted: null, applied: SMALL, due: at(SOON) });
    expect(retriedRow(row, at(NOW))?.state).toBe('marked for delete');
  });
});

describe('an adoption', () => {
  it.each(STATES)('in the state %s needs the reason exists_already', (state) => {
    const after = adoptedRow(rowIn(state, { reason: EXISTS, replacing: true, checked: false }), at(NOW), ENTRIES);
    if (state === 'blocked') expect(after).toMatchObject({ state: 'pending', adopting: true, reason: null });
    else expect(after).toBeUndefined();
  });

  it.each<[string, Partial<ServerRow>]>([
    ['blocked for another reason', { reason: { code: 'no_provider', text: 'nobody' } }],
    ['unwanted', { reason: EXISTS, wanted: null }],
  ])('is refused for a server that is %s', (_case, fields) => {
    expect(adoptedRow(rowIn('blocked', fields), at(NOW), ENTRIES)).toBeUndefined();
  });
});

describe('a request is refused', () => {
  const made = { applied: SMALL };
  const policy = { ...rowIn('done').policy, protected: true };

  it.each<[string, ServerRow, string | undefined]>([
    ['is protected', rowIn('done', { ...made, policy }), 'its instance is protected'],
    ['is unwanted', rowIn('marked for delete', { ...made, wanted: null }), 'no commit wants it any more'],
    ['was not made by Treeline', rowIn('blocked', { reason: EXISTS }), 'Treeline did not make it'],
    [
      'is busy',
      rowIn('deleting', { ...made, action: running('delete', null) }),
      'the outcome of its delete is not known',
    ],
    [
      'is being replaced',
      rowIn('pending', { ...made, replacing: true, approved: true }),
      'it is being replaced already',
    ],
    [
      'was made by a removed entry',
      rowIn('done', { ...made, provider: 'old' }),
      'only the provider entry "old" can delete',
    ],
    ['is done', rowIn('done', made), undefined],
  ])('to replace a server that %s', (_case, row, reason) => {
    if (reason === undefined) expect(replaceRefusal(row, ENTRIES)).toBeUndefined();
    else expect(replaceRefusal(row, ENTRIES)).toContain(reason);
  });

  it.each<[string, ServerRow, string | undefined]>([
    ['is wanted', rowIn('done', made), 'give shop "deletion: retain" in one commit'],
    ['is being deleted', rowIn('deleting', { wanted: null, action: running('delete', null) }), 'its delete is running'],
    ['failed to be deleted', rowIn('failed', { ...made, wanted: null }), undefined],
    ['has an unknown outcome', rowIn('unknown', { wanted: null, action: running('delete', null) }), undefined],
  ])('to retain a server that %s', (_case, row, reason) => {
    if (reason === undefined) expect(retainRefusal(row)).toBeUndefined();
    else expect(retainRefusal(row)).toContain(reason);
  });
});
