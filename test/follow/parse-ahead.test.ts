// Others are served while the files of a large commit are parsed.
import { expect, test } from 'vitest';
import { loadCatalog } from '../../src/catalog/load-catalog.ts';
import { EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import { parseAhead } from '../../src/follow/parse-ahead.ts';
import { deriveAt } from '../../src/follow/restore.ts';
import { snapshotOf, TREE } from '../catalog/snapshots.ts';
import { TextSource } from '../support/text-source.ts';

const LARGE = 'x'.repeat(200_000);

function files(count: number, text: string): Record<string, string> {
  return Object.fromEntries([
    ['tree.yaml', TREE],
    ...Array.from({ length: count }, (_, n) => [`types/role/r${n}.yaml`, `n: ${n}\na: "${text}"\n`]),
  ]);
}

test('gives a turn for each large file, the same number every time, and none for a small commit', async () => {
  const turns = async (texts: Record<string, string>): Promise<number> => {
    let count = 0;
    await parseAhead(snapshotOf(texts), undefined, async () => count++);
    return count;
  };
  expect(await turns(files(20, LARGE))).toBe(20);
  expect(await turns(files(20, LARGE))).toBe(20);
  expect(await turns(files(1000, 'x'))).toBe(7);
  expect(await turns(files(50, 'x'))).toBe(0);
});

test('leaves out what another catalog has', async () => {
  const first = loadCatalog(snapshotOf(files(3, 'x')));
  const parsed = await parseAhead(snapshotOf({ ...files(3, 'x'), 'types/role/new.yaml': 'a: 1\n' }), first);
  expect([...parsed.keys()]).toEqual(['types/role/new.yaml']);
});

test('others have their turn while a commit is derived', async () => {
  const source = new TextSource();
  const commit = source.commit(files(20, LARGE));
  let turns = 0;
  let isOver = false;
  const next = (): void => {
    turns++;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  const derivation = await deriveAt(source, commit, { baseline: EMPTY_BASELINE });
  isOver = true;
  expect(derivation.isFollowed).toBe(true);
  expect(turns).toBeGreaterThanOrEqual(20);
});
