import { describe, expect, test } from 'vitest';
import { attentionKeyOf } from '../../src/machine/attention.ts';
import type { ReasonCode, ServerRow } from '../../src/model/rows.ts';
import { STATES } from '../../src/model/state.ts';
import { rowIn } from '../reconcile/build.ts';

function because(code: ReasonCode, fields: Partial<ServerRow> = {}): Partial<ServerRow> {
  return { reason: { code, text: 'so it is' }, ...fields };
}

describe('the cause for which a server needs an operator', () => {
  const { instance } = rowIn('done');
  const OF_STATE = { failed: `failed:${instance}`, blocked: `blocked:${instance}`, drifted: `drifted:${instance}` };

  test.each(STATES)('in the state %s', (state) => {
    expect(attentionKeyOf(rowIn(state))).toBe(Object.hasOwn(OF_STATE, state) ? OF_STATE[state as 'failed'] : undefined);
  });

  test.each<[string, ServerRow, string | undefined]>([
    ['it has failed, and is tried again', rowIn('creating', { gaveUp: true }), `failed:${instance}`],
    ['the outcome of its last action is unknown', rowIn('unknown', because('no_provider')), `lost:${instance}`],
    ['its checks failed twice', rowIn('unknown', because('check_failed', { attempt: 3 })), undefined],
    ['its checks failed three times', rowIn('unknown', because('check_failed', { attempt: 4 })), `lost:${instance}`],
    [
      'its checks failed until a long wait',
      rowIn('unknown', because('check_failed', { gaveUp: true })),
      `lost:${instance}`,
    ],
    ['it is checked again', rowIn('unknown', because('outcome_lost', { attempt: 4 })), undefined],
    ['its site is gone', rowIn('drifted', because('many_gone', { provider: 'lab' })), 'gone:lab'],
    [
      'the site of a proxy is gone',
      rowIn('drifted', because('many_gone', { provider: 'proxied', proxyTags: ['eu', 'us'] })),
      'gone:proxied/eu/us',
    ],
  ])('%s', (_what, row, key) => {
    expect(attentionKeyOf(row)).toBe(key);
  });
});
