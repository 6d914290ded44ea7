// Searches that many callers share: none gets a result that is older than its question.
import { expect, it } from 'vitest';
import { shareRuns } from '../../src/programs/linux-processes.ts';

it('shares a run among those who ask while another one runs, and begins it after their question', async () => {
  const begun: PromiseWithResolvers<number>[] = [];
  const search = shareRuns(() => {
    const run = Promise.withResolvers<number>();
    begun.push(run);
    return run.promise;
  });
  const first = search();
  const later = [search(), search(), search()];
  expect(begun).toHaveLength(1);
  begun[0]?.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => begun.length).toBe(2);
  const last = search();
  begun[1]?.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
  await expect.poll(() => begun.length).toBe(3);
  begun[2]?.resolve(3);
  expect(await last).toBe(3);
});

it('goes on after a run that failed', async () => {
  let runs = 0;
  const search = shareRuns(async () => {
    runs += 1;
    if (runs === 1) throw new Error('no list of processes');
    return runs;
  });
  const [first, second] = await Promise.allSettled([search(), search()]);
  expect([first.status, second]).toEqual(['rejected', { status: 'fulfilled', value: 2 }]);
  expect(await search()).toBe(3);
});
