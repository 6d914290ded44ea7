import { describe, expect, it } from 'vitest';
import type { HeldDeletes } from '../../src/desired/deletions.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import {
  heldRows,
  keptApprovals,
  openUpdatesAfter,
  rolloutRows,
  type ServerRowChange,
} from '../../src/follow/hold-rows.ts';
import { deletesDigest, failuresDigest } from '../../src/machine/hold-digests.ts';
import type { ApprovalRow, HeldRow, ServerRow } from '../../src/model/rows.ts';
import { RowIndex } from '../../src/reconcile/row-index.ts';
import { removalsOf } from '../desired/facts.ts';
import { at, LARGE, NOW, rowIn, SMALL } from '../reconcile/build.ts';

const COMMIT = 'commit-2';

function held(...servers: readonly string[]): HeldDeletes {
  const removals = removalsOf(...servers);
  return { digest: deletesDigest(removals), removals, reason: `${servers.length} too many` };
}

describe('the rows of holds', () => {
  const fresh: HeldRow = {
    digest: held('a', 'b').digest,
    servers: ['a', 'b'],
    reason: '2 too many',
    since: at(NOW),
    commit: COMMIT,
  };

  it('have servers, digest, reason and time', () => {
    const judged = new Map([['shop', held('a', 'b')]]);
    expect([...heldRows({ held: judged, commit: COMMIT }, new Map(), NOW)]).toEqual([['shop', fresh]]);
  });

  it('stay the same while the same servers are held', () => {
    const recorded = { ...fresh, since: at(NOW - 5_000), commit: 'commit-1' };
    const judged = new Map([['shop', { ...held('a', 'b'), reason: '7 too many' }]]);
    expect(heldRows({ held: judged, commit: COMMIT }, new Map([['shop', recorded]]), NOW).get('shop')).toBe(recorded);
  });

  it('record that an invalid instance may take over their servers', () => {
    const handOver = { ...held('a', 'b'), isHandOver: true };
    const row = heldRows({ held: new Map([['shop', handOver]]), commit: COMMIT }, new Map([['shop', fresh]]), NOW).get(
      'shop',
    );
    expect(row).toEqual({ ...fresh, isHandOver: true });
  });
});

describe('an approval', () => {
  const approval = (what: ApprovalRow['what']): ApprovalRow => ({ what, by: 'A1', reason: '', time: at(NOW) });
  const recorded = new Map([
    [held('a').digest, approval('deletes')],
    ['history-c1', approval('history')],
    ['nothing-left-c1', approval('nothing left')],
    [failuresDigest('c1'), approval('failures')],
    [failuresDigest('c2'), approval('failures')],
  ]);

  const taken = (commit: string, held: DesiredState['held'] = new Map(), spent = new Set<string>()) => ({
    desired: { commit, held, spent, unused: new Set<string>() },
    newest: commit as string | undefined,
    rollouts: new Map(),
    now: NOW,
  });

  it('is used up by the next commit, except for failing updates', () => {
    const rollouts = new Map([['c1', { updates: 9 }]]);
    expect([...keptApprovals(recorded, { ...taken('c1'), rollouts }).keys()]).toEqual([failuresDigest('c1')]);
    expect(keptApprovals(recorded, taken('c1')).size).toBe(0);
  });

  it('of the newest commit is kept until that commit is judged', () => {
    const both = ['history-c1', 'nothing-left-c1'];
    const kept = (newest: string | undefined) => [...keptApprovals(recorded, { ...taken('c0'), newest }).keys()];
    expect([kept('c1'), kept(undefined), kept('c0'), kept('c2')]).toEqual([both, both, [], []]);
  });

  it('of deletes is kept while these are held', () => {
    const kept = keptApprovals(recorded, taken('c1', new Map([['shop', held('a')]])));
    expect([...kept.keys()]).toEqual([held('a').digest]);
  });

  it('of a requested delete is kept for 15 minutes', () => {
    const asked = new Map([[held('a').digest, approval('requested delete')]]);
    const kept = (now: number) => keptApprovals(asked, { ...taken('c1'), now }).size;
    expect([kept(NOW), kept(NOW + 15 * 60_000 - 1), kept(NOW + 15 * 60_000)]).toEqual([1, 1, 0]);
    expect(keptApprovals(asked, taken('c1', new Map(), new Set([held('a').digest]))).size).toBe(0);
  });

  it('of another kind is not kept for the same name', () => {
    const odd = new Map([[failuresDigest('c1'), approval('deletes')]]);
    expect(keptApprovals(odd, { ...taken('c1'), rollouts: new Map([['c1', { updates: 9 }]]) }).size).toBe(0);
  });
});

describe('the row of a rollout', () => {
  const open = (commit: string, fields: Partial<ServerRow> = {}): ServerRow =>
    rowIn('pending', { applied: SMALL, wanted: LARGE, commit, ...fields });

  /** The numbers of the open ones where these rows are recorded. */
  function openIn(rows: readonly ServerRow[]): ReadonlyMap<string, number> {
    const index = new RowIndex();
    for (const [number, row] of rows.entries()) index.follow(`web-${number}`, undefined, row);
    return openUpdatesAfter(index, []);
  }

  it('counts rows as they will be', () => {
    const index = new RowIndex();
    const [before, after] = [open('c1'), open('c2')];
    index.follow('web-1', undefined, before);
    index.follow('web-2', undefined, before);
    const changes: readonly ServerRowChange[] = [
      { kind: 'server', name: 'web-1', value: after, expected: before },
      { kind: 'server', name: 'web-3', value: after, expected: undefined },
    ];
    expect([...openUpdatesAfter(index, changes)]).toEqual([
      ['c1', 1],
      ['c2', 2],
    ]);
    expect([
      ...openUpdatesAfter(index, [
        { ...changes[0], name: 'web-1', value: open('c1', { applied: LARGE }) } as ServerRowChange,
      ]),
    ]).toEqual([['c1', 1]]);
  });

  it('counts the servers that a commit updates or replaces', () => {
    const rows = [
      open('c1'),
      open('c1', { state: 'failed' }),
      open('c1', { wanted: SMALL, dirty: true }),
      open('c1', { wanted: SMALL, replacing: true }),
      open('c0'),
    ];
    expect([...rolloutRows(new Map(), openIn(rows))]).toEqual([['c1', { updates: 4 }]]);
  });

  it.each<[name: string, row: ServerRow]>([
    ['a server that is done', open('c1', { state: 'done', applied: LARGE })],
    ['a newcomer', open('c1', { applied: null })],
    ['a server that is created again', open('c1', { applied: null, replacing: true })],
    ['an unwanted server', open('c1', { wanted: null })],
  ])('does not count %s', (_name, row) => {
    const others = Array.from({ length: 4 }, () => open('c1'));
    expect([...rolloutRows(new Map(), openIn([...others, row]))]).toEqual([['c1', { updates: 4 }]]);
  });

  it('is not kept if all its servers may fail', () => {
    const rows = [open('c1'), open('c1'), open('c1')];
    expect(rolloutRows(new Map(), openIn(rows)).size).toBe(0);
    expect(rolloutRows(new Map(), openIn([...rows, open('c1')])).size).toBe(1);
  });

  it('keeps its number until the last server is done', () => {
    const recorded = new Map([
      ['c0', { updates: 9 }],
      ['c1', { updates: 7 }],
    ]);
    expect([...rolloutRows(recorded, openIn([open('c1')]))]).toEqual([['c1', { updates: 7 }]]);
    const fresh = Array.from({ length: 5 }, () => open('c2'));
    expect([...rolloutRows(recorded, openIn([open('c0'), ...fresh]))]).toEqual([
      ['c0', { updates: 9 }],
      ['c2', { updates: 5 }],
    ]);
  });
});
