// Tests the facts about deletes that are collected from the rows and from the commits that are followed.

import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { approvedCountOf, readSafety } from '../../src/follow/safety.ts';
import type { Change } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import type { Commit } from '../../src/repository/source.ts';
import { at, LARGE, NOW, rowIn, SMALL, specOf } from '../reconcile/build.ts';
import { MemoryStore } from '../support/memory-store.ts';

function commit(message: string, name = 'c'): Commit {
  return { oid: name, time: '2026-11-20T10:00:00Z', author: '', message, parents: [] };
}

describe('the trailer Treeline-Approve-Deletes counts', () => {
  it.each<[name: string, message: string, count: number]>([
    ['after the subject', 'Fewer servers\n\nTreeline-Approve-Deletes: 12\n', 12],
    ['after the body', 'Fewer servers\n\nThey are idle.\n\nTreeline-Approve-Deletes: 12', 12],
    ['among others', 'S\n\nReviewed-by: Ann\nTreeline-Approve-Deletes: 12\nSigned-off-by: Bob\n', 12],
    ['in any case', 'S\n\ntreeline-approve-DELETES: 12\n', 12],
    ['without a space before the number', 'S\n\nTreeline-Approve-Deletes:12\n', 12],
    ['with blanks and tabs around it', 'S\n\nTreeline-Approve-Deletes: \t12 \t\n', 12],
    ['after a line of spaces', 'S\n \t\nTreeline-Approve-Deletes: 12', 12],
    ['with lines that end as on Windows', 'S\r\n\r\nTreeline-Approve-Deletes: 12\r\n', 12],
    ['twice: the larger number', 'S\n\nTreeline-Approve-Deletes: 3\nTreeline-Approve-Deletes: 12\n', 12],
    ['with a number that is too long', 'S\n\nTreeline-Approve-Deletes: 1000000', 0],
    ['with a sign', 'S\n\nTreeline-Approve-Deletes: -12', 0],
    ['with something after the number', 'S\n\nTreeline-Approve-Deletes: 12 servers', 0],
    ['with its number on the next line', 'S\n\nTreeline-Approve-Deletes:\n12', 0],
    ['quoted', 'S\n\n> Treeline-Approve-Deletes: 12', 0],
    ['in the subject', 'Treeline-Approve-Deletes: 12', 0],
    ['right after the subject', 'S\nTreeline-Approve-Deletes: 12', 0],
    ['before the last paragraph', 'S\n\nTreeline-Approve-Deletes: 12\n\nSigned-off-by: Bob', 0],
    ['of another name', 'S\n\nApprove-Deletes: 12\nX-Treeline-Approve-Deletes: 12', 0],
    ['in an empty message', '', 0],
  ])('%s', (_name, message, count) => {
    expect(approvedCountOf([commit(message)])).toBe(count);
  });

  it('with the largest number of several commits', () => {
    const messages = [
      'S\n\nTreeline-Approve-Deletes: 3',
      'S',
      'S\n\nTreeline-Approve-Deletes: 12',
      'S\n\nSigned-off-by: B',
    ];
    expect(approvedCountOf(messages.map((message) => commit(message)))).toBe(12);
    expect(approvedCountOf([])).toBe(0);
  });
});

describe('the facts for the delete budget', () => {
  const budget = { percent: 10, least: 1, most: 20 };

  async function ledgerOf(...changes: readonly Change[]): Promise<Ledger> {
    const ledger = new Ledger(new MemoryStore(), withoutPause);
    await ledger.commit(changes);
    return ledger;
  }

  it('come from the rows', async () => {
    const terminating = rowIn('marked for delete', { wanted: null, applied: SMALL });
    const servers = Array.from({ length: 30 }, (_, index): Change => {
      return {
        kind: 'server',
        name: `s-${index}`,
        value: index === 0 ? terminating : rowIn('done', { applied: SMALL }),
        expected: undefined,
      };
    });
    const held = { digest: 'd1', servers: ['s-9'], reason: '', since: at(NOW), commit: 'c1' };
    const approval = { what: 'deletes', by: 'A1', reason: '', time: at(NOW) } as const;
    const ledger = await ledgerOf(
      ...servers,
      { kind: 'removal', name: 's-31/1', value: { time: at(NOW) }, expected: undefined },
      { kind: 'removal', name: 's-32/1', value: { time: at(NOW - 3_600_000) }, expected: undefined },
      { kind: 'held', name: 'shop', value: held, expected: undefined },
      { kind: 'approval', name: 'd2', value: approval, expected: undefined },
    );
    const { deletions } = readSafety(ledger, { budget, now: NOW, approvedCount: 4 });
    expect(deletions.isRecent({ server: 's-31', incarnation: 1 })).toBe(true);
    expect(deletions.isRecent({ server: 's-32', incarnation: 1 })).toBe(false);
    expect(deletions).toMatchObject({ limit: 3, recent: 1, approvedCount: 4, heldBefore: new Map([['shop', held]]) });
    expect([...deletions.underWay]).toEqual([['shop', [{ server: 's-0', incarnation: 7 }]]]);
    expect([deletions.incarnationOf('s-1'), deletions.incarnationOf('nobody')]).toEqual([7, undefined]);
    expect([deletions.isApproved('d2'), deletions.isApproved('d1')]).toEqual([true, false]);
  });

  it.each<[name: string, wanted: Spec | null, spec: Spec | undefined, isContinued: boolean]>([
    ['a delete of an unwanted server continues', null, undefined, true],
    ['a delete of a server that is wanted again ends', null, SMALL, false],
    ['a replacement for the same spec continues', LARGE, specOf('large'), true],
    ['a replacement for another spec ends', LARGE, SMALL, false],
    ['a replacement of an unwanted server ends', LARGE, undefined, false],
  ])('say whether an action continues: %s', async (_name, wanted, spec, isContinued) => {
    const value = rowIn('pending', { wanted, applied: SMALL, replacing: wanted !== null });
    const ledger = await ledgerOf({ kind: 'server', name: 'web-1', value, expected: undefined });
    expect(readSafety(ledger, { budget, now: NOW }).deletions.isContinued('web-1', spec)).toBe(isContinued);
  });
});
