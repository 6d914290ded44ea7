import { describe, expect, it } from 'vitest';
import { conclude } from '../../src/machine/conclude.ts';
import type { Answer } from '../../src/model/call-result.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { answerOf, at, LARGE, NOW, RETRY, rowIn, running, SMALL, specOf } from '../reconcile/build.ts';

const CIRCUMSTANCES = { now: NOW, retry: RETRY, random: () => 0.5 };
/** The waits after the second and the last failed try. */
const SECOND_WAIT = { attempt: 2, due: at(NOW + 2_000) };
const LONG_WAIT = { attempt: 0, gaveUp: true, due: at(NOW + 3_600_000) };
const SINCE_NOW = { since: at(NOW) };
const GONE = { applied: null, outputs: {}, dirty: false, checked: true, incarnation: 8 };

/** The update has not found it: it is to be confirmed. */
const MISSED = {
  dirty: false,
  observed: null,
  healing: { '': [at(NOW)] },
  reason: { code: 'drifted', text: 'it is gone, and not by a request; a retry makes it again, and so does healing' },
} as const;

function endAction(row: ServerRow, answer: Answer): ServerRow | null {
  return conclude(row, { kind: 'action', provider: 'lab', answer }, CIRCUMSTANCES);
}

const creating = rowIn('creating', { action: running('create', SMALL), attempt: 1 });
const updating = rowIn('updating', {
  applied: LARGE,
  action: running('update', SMALL),
  attempt: 1,
  dirty: true,
  outputs: { address: '10.0.0.1' },
});
const deleting = rowIn('deleting', {
  applied: SMALL,
  wanted: null,
  action: running('delete', null),
  attempt: 1,
  dirty: true,
});
const replacing = rowIn('deleting', {
  applied: LARGE,
  action: running('delete', null),
  attempt: 1,
  dirty: true,
  replacing: true,
});

const UNWANTED = { wanted: null };
const CHANGED = { wanted: LARGE };

interface Case {
  readonly row: ServerRow;
  readonly answer: Answer;
  readonly changes: Partial<ServerRow> | null;
}

const full = answerOf('retryable', { message: 'full' });
const wrong = answerOf('failed', { message: 'no such image' });
const made = answerOf('done', { outputs: { address: '10.0.0.2' } });
const MADE = { applied: SMALL, outputs: { address: '10.0.0.2' }, attempt: 0, dirty: false };

const CASES: Readonly<Record<string, Case>> = {
  'create: done': { row: creating, answer: made, changes: { state: 'done', ...MADE } },
  'create: done, and unwanted since': {
    row: { ...creating, ...UNWANTED },
    answer: made,
    changes: { state: 'marked for delete', ...MADE },
  },
  'create: done, and the wanted spec has changed': {
    row: { ...creating, ...CHANGED },
    answer: made,
    changes: { state: 'pending', ...MADE },
  },
  'create: done, with a property left by an earlier try': {
    row: creating,
    answer: { ...made, observed: { size: 'tiny', extra: 'x' } },
    changes: { state: 'pending', ...MADE, applied: specOf('tiny'), attempt: 2 },
  },
  'create after an update: done, and differs again': {
    row: { ...creating, attempt: 3 },
    answer: { ...made, observed: { size: 'tiny' } },
    changes: {
      state: 'failed',
      ...MADE,
      applied: specOf('tiny'),
      ...LONG_WAIT,
      reason: { code: 'action_failed', text: 'create: it is made otherwise than asked, each time' },
    },
  },
  'create: retryable': {
    row: creating,
    answer: full,
    changes: {
      checked: false,
      state: 'retrying',
      reason: { code: 'action_failed', text: 'create: full' },
      ...SECOND_WAIT,
    },
  },
  'create: retryable on the last attempt': {
    row: { ...creating, attempt: 2 },
    answer: full,
    changes: { checked: false, state: 'failed', reason: { code: 'action_failed', text: 'create: full' }, ...LONG_WAIT },
  },
  'create: retryable, and unwanted since': {
    row: { ...creating, ...UNWANTED },
    answer: full,
    changes: { checked: false, state: 'marked for delete', attempt: 2 },
  },
  'create: retryable, and the wanted spec has changed': {
    row: { ...creating, ...CHANGED },
    answer: full,
    changes: { checked: false, state: 'pending', attempt: 2 },
  },
  'create: failed': {
    row: creating,
    answer: wrong,
    changes: {
      checked: false,
      state: 'failed',
      reason: { code: 'action_failed', text: 'create: no such image' },
      ...LONG_WAIT,
    },
  },
  'create: failed, and the wanted spec has changed': {
    row: { ...creating, ...CHANGED },
    answer: wrong,
    changes: { checked: false, state: 'pending', attempt: 0 },
  },
  'create: absent, an answer of another operation': {
    row: creating,
    answer: answerOf('absent'),
    changes: {
      checked: false,
      state: 'retrying',
      reason: { code: 'action_failed', text: 'create: answered "absent"' },
      ...SECOND_WAIT,
    },
  },
  'create: replace, an answer of another operation': {
    row: creating,
    answer: answerOf('replace'),
    changes: {
      checked: false,
      state: 'retrying',
      reason: { code: 'action_failed', text: 'create: answered "replace"' },
      ...SECOND_WAIT,
    },
  },

  'update: done': { row: updating, answer: made, changes: { state: 'done', ...MADE } },
  'update: done, and unwanted since': {
    row: { ...updating, ...UNWANTED },
    answer: made,
    changes: { state: 'marked for delete', ...MADE },
  },
  'update: done, and the wanted spec has changed': {
    row: { ...updating, ...CHANGED },
    answer: made,
    changes: { state: 'pending', ...MADE },
  },
  'update: absent': {
    row: updating,
    answer: answerOf('absent'),
    changes: { state: 'pending', ...MISSED, attempt: 2 },
  },
  'update: absent on the last attempt': {
    row: { ...updating, attempt: CIRCUMSTANCES.retry.attempts - 1 },
    answer: answerOf('absent'),
    changes: { state: 'pending', ...MISSED, attempt: CIRCUMSTANCES.retry.attempts },
  },
  'update: absent, and unwanted since': {
    row: { ...updating, ...UNWANTED },
    answer: answerOf('absent'),
    changes: { state: 'marked for delete', ...GONE },
  },
  'update: replace': {
    row: updating,
    answer: answerOf('replace', { message: 'the disk cannot shrink' }),
    changes: {
      state: 'pending',
      replacing: true,
      attempt: 0,
      reason: { code: 'must_replace', text: 'the disk cannot shrink' },
    },
  },
  'update: replace, and unwanted since': {
    row: { ...updating, ...UNWANTED },
    answer: answerOf('replace'),
    changes: { state: 'marked for delete', attempt: 0 },
  },
  'update: replace, and the wanted spec has changed': {
    row: { ...updating, ...CHANGED },
    answer: answerOf('replace'),
    changes: { state: 'pending', replacing: false, attempt: 0 },
  },
  'update: retryable': {
    row: updating,
    answer: full,
    changes: { state: 'retrying', reason: { code: 'action_failed', text: 'update: full' }, ...SECOND_WAIT },
  },
  'update: failed': {
    row: updating,
    answer: wrong,
    changes: { state: 'failed', reason: { code: 'action_failed', text: 'update: no such image' }, ...LONG_WAIT },
  },
  'update: retryable, and unwanted since': {
    row: { ...updating, ...UNWANTED },
    answer: full,
    changes: { state: 'marked for delete', attempt: 2 },
  },

  'delete: done': { row: deleting, answer: answerOf('done'), changes: null },
  'delete: absent': { row: deleting, answer: answerOf('absent'), changes: null },
  'delete: done, and wanted again': {
    row: { ...deleting, ...CHANGED },
    answer: answerOf('done'),
    changes: { state: 'pending', ...GONE, replacing: true, attempt: 0, checked: false },
  },
  'delete: absent, and wanted again': {
    row: { ...deleting, ...CHANGED },
    answer: answerOf('absent'),
    changes: { state: 'pending', ...GONE, replacing: true, attempt: 0 },
  },
  'delete: retryable': {
    row: deleting,
    answer: full,
    changes: { state: 'retrying', reason: { code: 'action_failed', text: 'delete: full' }, ...SECOND_WAIT },
  },
  'delete: failed': {
    row: deleting,
    answer: wrong,
    changes: { state: 'failed', reason: { code: 'action_failed', text: 'delete: no such image' }, ...LONG_WAIT },
  },
  'delete: retryable, and wanted again': {
    row: { ...deleting, ...CHANGED },
    answer: full,
    changes: { state: 'pending', attempt: 2, dirty: true },
  },
  'delete: replace, an answer of another operation': {
    row: deleting,
    answer: answerOf('replace'),
    changes: {
      state: 'retrying',
      reason: { code: 'action_failed', text: 'delete: answered "replace"' },
      ...SECOND_WAIT,
    },
  },
  'delete of a replacement: done': {
    row: replacing,
    answer: answerOf('absent'),
    changes: { state: 'pending', ...GONE, replacing: true, attempt: 0 },
  },
  'delete of a replacement: done, and unwanted since': {
    row: { ...replacing, ...UNWANTED },
    answer: answerOf('absent'),
    changes: null,
  },
  'delete of a replacement: retryable': {
    row: replacing,
    answer: full,
    changes: { state: 'retrying', reason: { code: 'action_failed', text: 'delete: full' }, ...SECOND_WAIT },
  },
  'create of a replacement: done': {
    row: { ...creating, replacing: true },
    answer: made,
    changes: { state: 'done', ...MADE, replacing: false },
  },
};

describe('an action', () => {
  it.each(Object.entries(CASES))('%s', (_name, { row, answer, changes }) => {
    const after = endAction(row, answer);
    const stamp = changes?.state === row.state ? {} : SINCE_NOW;
    expect(after).toEqual(changes === null ? null : { ...row, due: null, action: null, ...stamp, ...changes });
  });

  it('records the wanted spec as applied if that needs no other action', () => {
    const wanted = specOf('small', { dependsOn: ['db'], configurationOnly: ['peers'] });
    const after = endAction({ ...creating, wanted }, made);
    expect(after).toMatchObject({ state: 'done', applied: wanted });
  });

  it('that is not in the row changes nothing', () => {
    const row = rowIn('done', { applied: SMALL });
    expect(endAction(row, made)).toBe(row);
  });
});
