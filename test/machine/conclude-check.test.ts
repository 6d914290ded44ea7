import { describe, expect, it } from 'vitest';
import { conclude } from '../../src/machine/conclude.ts';
import type { Answer } from '../../src/model/call-result.ts';
import { PROXIED } from '../../src/model/names.ts';
import type { RunningAction, ServerRow } from '../../src/model/rows.ts';
import { answerOf, at, LARGE, NOW, RETRY, rowIn, running, SMALL, specOf } from '../reconcile/build.ts';

const CIRCUMSTANCES = { now: NOW, retry: RETRY, random: () => 0.5 };
/** The waits after the first, the second and the last failed try. */
const FIRST_WAIT = { attempt: 1, due: at(NOW + 1_000) };
const SECOND_WAIT = { attempt: 2, due: at(NOW + 2_000) };
const LONG_WAIT = { attempt: 0, gaveUp: true, due: at(NOW + 3_600_000) };
const SINCE_NOW = { since: at(NOW) };
const GONE = { applied: null, outputs: {}, dirty: false, checked: true, incarnation: 8 };
const UNWANTED = { wanted: null };
const CHANGED = { wanted: LARGE };
const full = answerOf('retryable', { message: 'full' });
const wrong = answerOf('failed', { message: 'no such image' });

/** The wait for the next try after the first one was lost. */
function lostWait(operation: string): Partial<ServerRow> {
  return { reason: { code: 'outcome_lost', text: `the outcome of the last ${operation} is not known` }, ...FIRST_WAIT };
}

interface Case {
  readonly row: ServerRow;
  readonly answer: Answer;
  readonly changes: Partial<ServerRow> | null;
}

function endCheck(row: ServerRow, answer: Answer, provider = 'lab'): ServerRow | null {
  return conclude(row, { kind: 'check', provider, answer }, CIRCUMSTANCES);
}

describe('the first check of a server', () => {
  const unseen = rowIn('pending', { checked: false, provider: null, attempt: 1 });
  const adopting = { ...unseen, policy: { ...unseen.policy, adopt: true } };
  const there = answerOf('done', { observed: { size: 'small', extra: 'x' }, outputs: { address: '10.0.0.9' } });

  it('allows a create if it finds nothing', () => {
    expect(endCheck(unseen, answerOf('absent'))).toEqual({ ...unseen, checked: true, attempt: 0 });
  });

  it('blocks the server if it finds one that Treeline did not create', () => {
    expect(endCheck(unseen, there)).toEqual({
      ...unseen,
      ...SINCE_NOW,
      state: 'blocked',
      reason: { code: 'exists_already', text: 'it is already there; adopt it, or remove it by hand' },
    });
  });

  it('adopts a server as wanted, with its provider entry and proxies', () => {
    expect(endCheck(adopting, there, 'office')).toEqual({
      ...adopting,
      ...SINCE_NOW,
      state: 'done',
      checked: true,
      attempt: 0,
      provider: 'office',
      applied: SMALL,
      outputs: { address: '10.0.0.9' },
    });
  });

  it('adopts a server that differs as drifted, with the differences', () => {
    const wanted = specOf('small', { properties: { name: 'web-1', size: 'small', peers: ['a'], role: 'web' } });
    const observed = { size: 3, peers: ['a', 'b'], name: 'web-1' };
    expect(endCheck({ ...adopting, wanted }, answerOf('done', { observed }))).toMatchObject({
      state: 'drifted',
      reason: { code: 'drifted', text: 'differs in peers, size' },
      applied: { properties: { name: 'web-1', size: '3', peers: ['a', 'b'], role: 'web' } },
    });
  });

  it('adopts nothing if the server became unwanted', () => {
    const row: ServerRow = { ...adopting, state: 'marked for delete', wanted: null };
    expect(endCheck(row, there)).toMatchObject({ state: 'marked for delete', applied: null, mayExist: false });
    expect(endCheck(row, full)).toBe(row);
  });

  it.each([
    ['retryable', full, { state: 'retrying', reason: { code: 'check_failed', text: 'full' }, ...SECOND_WAIT }],
    ['failed', wrong, { state: 'failed', reason: { code: 'check_failed', text: 'no such image' }, ...LONG_WAIT }],
    [
      'an answer of another operation',
      answerOf('replace'),
      { state: 'retrying', reason: { code: 'check_failed', text: 'the check answered "replace"' }, ...SECOND_WAIT },
    ],
  ] as const)('does not succeed: %s', (_case, answer, changes) => {
    expect(endCheck(unseen, answer)).toEqual({ ...unseen, ...SINCE_NOW, ...changes });
  });
});

describe('the check after a lost outcome', () => {
  function lost(action: RunningAction, fields: Partial<ServerRow>): ServerRow {
    return rowIn('unknown', { action, attempt: 1, since: at(NOW - 5_000), ...fields });
  }
  const lostCreate = lost(running('create', SMALL), {});
  const lostUpdate = lost(running('update', SMALL), { applied: LARGE, dirty: true });
  const lostDelete = lost(running('delete', null), { applied: SMALL, wanted: null, dirty: true });
  const there = answerOf('done', { observed: { name: 'web-1', size: 'small' } });

  const LOST: Readonly<Record<string, Case>> = {
    'create: absent': {
      row: lostCreate,
      answer: answerOf('absent'),
      changes: { state: 'retrying', ...lostWait('create'), action: null },
    },
    'create: absent and unwanted': {
      row: { ...lostCreate, ...UNWANTED },
      answer: answerOf('absent'),
      changes: null,
    },
    'create: found': {
      row: lostCreate,
      answer: there,
      changes: { state: 'pending', action: null, applied: SMALL },
    },
    'create: found with a difference': {
      row: lostCreate,
      answer: answerOf('done', { observed: { name: 'web-1', size: 'tiny' } }),
      changes: { state: 'retrying', ...lostWait('create'), action: null, applied: specOf('tiny') },
    },
    'create: found, with few properties observed': {
      row: lostCreate,
      answer: answerOf('done', { observed: { size: 'small' } }),
      changes: { state: 'retrying', ...lostWait('create'), action: null, applied: SMALL, dirty: true },
    },
    'create: found and unwanted': {
      row: { ...lostCreate, ...UNWANTED },
      answer: there,
      changes: { state: 'marked for delete', action: null, applied: SMALL },
    },
    'create of a replacement: found': {
      row: { ...lostCreate, replacing: true },
      answer: there,
      changes: { state: 'pending', action: null, applied: SMALL, replacing: false },
    },
    'update: the change is observed': {
      row: lostUpdate,
      answer: there,
      changes: { state: 'pending', action: null, applied: SMALL, dirty: false },
    },
    'update: the old value is observed': {
      row: lostUpdate,
      answer: answerOf('done', { observed: { size: 'large' } }),
      changes: { state: 'retrying', ...lostWait('update'), action: null },
    },
    'update: the property is not observed': {
      row: lostUpdate,
      answer: answerOf('done', { observed: { name: 'web-1' } }),
      changes: { state: 'retrying', ...lostWait('update'), action: null },
    },
    'update: the change and another difference are observed': {
      row: lostUpdate,
      answer: answerOf('done', { observed: { size: 'small', name: 'web-2' } }),
      changes: { state: 'retrying', ...lostWait('update'), action: null },
    },
    'update: absent': {
      row: lostUpdate,
      answer: answerOf('absent'),
      changes: {
        state: 'pending',
        action: null,
        dirty: false,
        observed: null,
        healing: { '': [at(NOW)] },
        reason: {
          code: 'drifted',
          text: 'it is gone, and not by a request; a retry makes it again, and so does healing',
        },
      },
    },
    'delete: found': {
      row: lostDelete,
      answer: there,
      changes: { state: 'retrying', ...lostWait('delete'), action: null },
    },
    'delete: absent': { row: lostDelete, answer: answerOf('absent'), changes: null },
    'delete: absent and wanted again': {
      row: { ...lostDelete, ...CHANGED },
      answer: answerOf('absent'),
      changes: { state: 'pending', action: null, ...GONE, replacing: true },
    },
    'delete: found and wanted again': {
      row: { ...lostDelete, ...CHANGED },
      answer: there,
      changes: { state: 'pending', action: null },
    },
    'delete of a server that may not exist: absent and wanted again': {
      row: { ...lostDelete, ...CHANGED, applied: null },
      answer: answerOf('absent'),
      changes: { state: 'pending', action: null, ...GONE },
    },
    'the last attempt was lost': {
      row: { ...lostCreate, attempt: 3 },
      answer: answerOf('absent'),
      changes: {
        state: 'failed',
        action: null,
        reason: { code: 'outcome_lost', text: 'the outcome was lost too often' },
        ...LONG_WAIT,
      },
    },
    'the check fails': {
      row: lostCreate,
      answer: full,
      changes: {
        state: 'unknown',
        since: lostCreate.since,
        reason: { code: 'check_failed', text: 'full' },
        ...SECOND_WAIT,
      },
    },
    'the check fails for the last time': {
      row: { ...lostCreate, attempt: 2 },
      answer: full,
      changes: {
        state: 'unknown',
        since: lostCreate.since,
        reason: { code: 'check_failed', text: 'full' },
        ...LONG_WAIT,
      },
    },
  };

  it.each(Object.entries(LOST))('%s', (_name, { row, answer, changes }) => {
    const after = endCheck(row, answer);
    expect(after).toEqual(changes === null ? null : { ...row, ...SINCE_NOW, ...changes });
  });

  it('continues if the row has no action', () => {
    const row = rowIn('unknown', { applied: SMALL });
    expect(endCheck(row, there)).toMatchObject({ state: 'pending', applied: SMALL });
  });
});

it('a check keeps an unwanted server that a failed create may have left at another site', () => {
  const row = rowIn('pending', {
    wanted: null,
    applied: null,
    mayExist: true,
    adopting: true,
    provider: PROXIED,
    proxyTags: ['east'],
  });
  const check = { kind: 'check', provider: PROXIED, answer: answerOf('absent') } as const;
  const after = conclude(row, check, { ...CIRCUMSTANCES, proxyTags: ['east'] });
  expect(after).toMatchObject({ mayExist: true, adopting: false, proxyTags: ['east'], provider: PROXIED });
});

describe('the outputs of a check', () => {
  const done = rowIn('done', { applied: SMALL, outputs: { address: '10.0.0.1', url: 'x' } });

  it('replace the earlier ones', () => {
    const told = answerOf('done', { outputs: { address: '10.0.0.2' } });
    expect(endCheck(done, told)).toEqual({ ...done, outputs: { address: '10.0.0.2' } });
  });

  it('change nothing if they are missing or equal', () => {
    expect(endCheck(done, answerOf('done'))).toBe(done);
    expect(endCheck(done, answerOf('done', { outputs: { ...done.outputs } }))).toBe(done);
  });

  it('are ignored if Treeline did not create the server', () => {
    const there = endCheck(
      rowIn('pending', { checked: false }),
      answerOf('done', { outputs: { address: '10.0.0.2' } }),
    );
    expect(there).toMatchObject({ state: 'blocked', outputs: {} });
  });
});
