// The servers of each commit, counted row by row.
import { expect, it } from 'vitest';
import type { ServerRow } from '../../src/model/rows.ts';
import { CommitProgress } from '../../src/statuses/commit-progress.ts';
import { rowIn, SMALL } from '../reconcile/build.ts';

function done(commit: string): ServerRow {
  return rowIn('done', { commit, applied: SMALL });
}

it('counts what is at rest, what is not, what is gone and what a later commit changed', () => {
  const progress = new CommitProgress();
  const pending = rowIn('pending', { commit: 'one' });
  for (const name of ['a', 'b', 'c', 'd']) progress.follow(name, undefined, pending);
  expect(progress.of('one')).toMatchObject({ done: 0, deleted: 0, takenOver: 0 });
  progress.follow('a', pending, done('one'));
  progress.follow('b', pending, undefined);
  progress.follow('c', pending, rowIn('updating', { commit: 'two' }));
  expect(progress.of('one')).toEqual({ done: 1, open: new Map([['d', 'pending']]), deleted: 1, takenOver: 1 });
  expect(progress.of('two')).toEqual({ done: 0, open: new Map([['c', 'updating']]), deleted: 0, takenOver: 0 });
  progress.follow('a', done('one'), rowIn('drifted', { commit: 'one', applied: SMALL }));
  expect(progress.of('one').done).toBe(1);
});

it('takes a server that cannot be checked for a blocked one', () => {
  const progress = new CommitProgress();
  progress.follow('a', undefined, rowIn('unknown', { commit: 'one', reason: { code: 'no_provider', text: '' } }));
  expect([...progress.of('one').open.values()]).toEqual(['blocked']);
});

it('forgets commits that nobody asks about', () => {
  const progress = new CommitProgress();
  for (const commit of ['one', 'two', 'three']) progress.follow(commit, undefined, done(commit));
  for (const commit of ['one', 'two']) progress.follow(commit, done(commit), undefined);
  progress.forgetOthers(new Set(['two']));
  expect(['one', 'two', 'three'].map((commit) => progress.of(commit))).toMatchObject([
    { done: 0, deleted: 0 },
    { done: 0, deleted: 1 },
    { done: 1, deleted: 0 },
  ]);
});
