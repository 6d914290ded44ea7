// Tests the store's capacity for servers: what exceeds it is refused alone, admitted once it fits, and announced before.
import { describe, expect, it, test, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { reservedBytes } from '../../src/desired/store-capacity.ts';
import { warnOfCapacity } from '../../src/follow/activate.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { instanceFile, one, stacksRepository, TEMPLATES } from '../desired/stacks.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { Core } from './core.ts';

const FILES = { ...TEMPLATES, 'clients/A1.yaml': 'role: administrator\n' };

/** Lets the store say that its rows take so much. */
function pretendBytes(core: Core, bytes: number): void {
  Object.defineProperty(core.store, 'rowBytes', { get: () => bytes, configurable: true });
}

test('what does not fit is Invalid, the others go on, and it comes in once rows are gone', async () => {
  const core = new Core();
  core.source.commit({ ...FILES, [instanceFile('a')]: one('web') });
  await core.poll();
  pretendBytes(core, 2 ** 30);
  core.source.commit({
    [instanceFile('a')]: one('web').replace('needs: ""', 'needs: "", unused: x'),
    [instanceFile('b')]: one('db'),
  });
  await core.poll();
  expect(core.reader.status('b')).toBe('Invalid');
  expect(core.states()).toEqual({ web: 'done' });
  expect(core.lines.map(({ code }) => code)).toContain('no_room');
  await core.poll();
  expect(core.reader.status('b')).toBe('Invalid');
  pretendBytes(core, 2 ** 20);
  await core.poll();
  expect(core.reader.status('b')).toBe('Done');
  expect(core.states()).toEqual({ db: 'done', web: 'done' });
});

test('what is written while a commit is read counts when it is judged', async () => {
  const core = new Core();
  core.source.commit({ ...FILES, [instanceFile('a')]: one('web') });
  await core.poll();
  const snapshot = core.source.snapshot.bind(core.source);
  core.source.snapshot = (commit, wants) => {
    pretendBytes(core, 2 ** 30);
    return snapshot(commit, wants);
  };
  core.source.commit({ [instanceFile('b')]: one('db') });
  await core.poll();
  expect(core.reader.status('b')).toBe('Invalid');
  expect(core.states()).toEqual({ web: 'done' });
});

test('without room servers are deleted all the same', async () => {
  const core = new Core();
  core.source.commit({ ...FILES, [instanceFile('a')]: one('web'), [instanceFile('b')]: one('db') });
  await core.poll();
  pretendBytes(core, 2 ** 31);
  core.source.commit({ [instanceFile('b')]: null });
  await core.poll();
  expect(core.states()).toEqual({ web: 'done' });
});

test('what does not fit does not come in by a restart', async () => {
  const core = new Core();
  core.source.commit({ ...FILES, [instanceFile('a')]: one('web') });
  await core.poll();
  pretendBytes(core, 2 ** 30);
  core.source.commit({ [instanceFile('b')]: one('db') });
  await core.poll();
  const bytes = vi.spyOn(MemoryStore.prototype, 'rowBytes', 'get').mockReturnValue(2 ** 30);
  const again = await core.restart();
  expect([again.reader.status('b'), again.states()]).toEqual(['Invalid', { web: 'done' }]);
  bytes.mockRestore();
  await again.poll();
  expect(again.reader.status('b')).toBe('Done');
});

describe('a warning', () => {
  const repository = stacksRepository();
  const names = Array.from({ length: 10 }, (_, each) => `i${each}`);
  const desiredStates = names.map((name) => repository.commit({ [instanceFile(name)]: one(`${name}-web`) }));
  const largest = desiredStates.at(-1) as DesiredState;
  const taken = [...largest.units.values()].reduce((sum, unit) => sum + reservedBytes(unit), 0);

  function warnings(limit: number): JsonMap[] {
    const lines: JsonMap[] = [];
    const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
    for (const [index, desired] of desiredStates.entries()) {
      warnOfCapacity(desired, { before: desiredStates[index - 1], bytesBefore: 0, limit }, log);
    }
    return lines;
  }

  it('comes at 75 % and at 90 %, once each', () => {
    expect(warnings(taken * 2)).toEqual([]);
    expect(warnings(taken * 1.01).map(({ percent }) => percent)).toEqual([79, 99]);
    expect(warnings(taken * 1.2).map(({ percent, msg }) => [percent, msg])).toEqual([
      [75, 'the room for servers becomes short; beyond the limit instances are refused'],
    ]);
  });
});
