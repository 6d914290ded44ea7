// A first start derives the newest commit once, where nothing is wrong in it.
import { expect, test } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import { deriveAt } from '../../src/follow/read-commit.ts';
import { formerServers, searchHistory } from '../../src/follow/search-history.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TextSource } from '../support/text-source.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': `parameters: { count: "1" }
resources:
  s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } }
`,
  'stacks/instances/shop.yaml': 'stackTemplate: t\nparameters: { count: "2" }\n',
  'types/role/web.yaml': 'port: 80\n',
};
const SHOP = 'stacks/instances/shop.yaml';

/** Searches the history of the newest commit; `derived`: the commits of which files were read. */
async function search(source: TextSource, commit: string) {
  const derived: string[] = [];
  const reader = {
    describe: (oid: string) => source.describe(oid),
    snapshot: async (...[oid, wants]: Parameters<TextSource['snapshot']>) => {
      const snapshot = await source.snapshot(oid, wants);
      if (snapshot.blobs.size > 0) derived.push(oid);
      return snapshot;
    },
  };
  return { desired: await searchHistory(reader, commit), derived };
}

test('a commit that is right is read once, and is what it is upon its own objects', async () => {
  const source = new TextSource();
  source.commit(FILES);
  const head = source.commit({ 'types/role/web.yaml': 'port: 81\n' });
  const { desired, derived } = await search(source, head);
  expect(derived).toEqual([head]);
  const baseline = { ...EMPTY_BASELINE, objects: desired?.objects ?? new Map() };
  const upon = await deriveAt(source, head, { baseline, isAccepted: true });
  expect(upon.isFollowed && factsOf(upon.desired)).toEqual(desired && factsOf(desired));
  expect(desired?.units.size).toBe(1);
  expect(desired?.objects.size).toBe(2);
});

test('a commit in which something is wrong is followed from the commit in which that was right', async () => {
  const source = new TextSource();
  const right = source.commit(FILES);
  const head = source.commit({ [SHOP]: 'stackTemplate: nothing\n' });
  const { desired, derived } = await search(source, head);
  expect(derived).toEqual([head, right, right, head]);
  expect(desired?.commit).toBe(head);
  expect(desired?.units.get('stack-instance/shop')?.commit).toBe(right);
});

test('a hidden copy is followed from the commit with the object, although something else stood in place of the folder between them', async () => {
  const source = new TextSource();
  const right = source.commit(FILES);
  const hidden = { 'types/role/web.yaml': null, 'types/role/.web.yaml': 'port: 80\n' };
  source.commit(hidden);
  source.commit({ 'types/role/.web.yaml': null, types: '../elsewhere' });
  const head = source.commit({ types: null, 'types/role/.web.yaml': 'port: 80\n' });
  const { desired } = await search(source, head);
  expect(desired?.objects.get('role/web')?.commit).toBe(right);
});

/** A desired state without functions, which are never equal. */
function factsOf(desired: object): unknown {
  return JSON.parse(JSON.stringify(desired, (_key, value) => (value instanceof Map ? [...value] : value)));
}

/** Searches for former servers of the newest commit; `files`: the paths that were read, by commit. */
async function former(source: TextSource, commit: string, clock = new ManualClock()) {
  const files = new Map<string, readonly string[]>();
  const reader = {
    describe: (oid: string) => source.describe(oid),
    async snapshot(...[oid, wants]: Parameters<TextSource['snapshot']>) {
      const snapshot = await source.snapshot(oid, wants);
      const read = [...snapshot.files].filter(([, { oid: blob }]) => snapshot.blobs.has(blob)).map(([path]) => path);
      files.set(oid, read);
      clock.advance(1_000);
      return snapshot;
    },
  };
  const desired = await searchHistory(source, commit);
  if (desired === undefined) throw new Error('nothing is followed');
  const found = await formerServers(desired, { source: reader, breathe: withoutPause, clock });
  return { files, found, owners: Object.fromEntries(found.baseline.owners) };
}

test('former servers are looked for in what differs from the commit after it, and in no other file', async () => {
  const source = new TextSource();
  const oldest = source.commit(FILES);
  const other = source.commit({ 'types/role/web.yaml': 'port: 81\n' });
  const smaller = source.commit({ [SHOP]: 'stackTemplate: t\n' });
  const { files, owners } = await former(source, source.commit({ [SHOP]: null, 'README.md': 'text\n' }));
  expect(owners).toEqual({ 'shop-s-1': 'stack-instance/shop', 'shop-s-2': 'stack-instance/shop' });
  expect([...files]).toEqual([
    [smaller, [SHOP]],
    [other, [SHOP]],
    [oldest, ['types/role/web.yaml']],
  ]);
});

test('former servers are looked for in 300 commits, and for 30 seconds', async () => {
  const source = new TextSource();
  source.commit(FILES);
  let head = source.commit({ [SHOP]: null });
  for (let number = 0; number < 301; number += 1) head = source.commit({ 'types/role/web.yaml': `port: ${number}\n` });
  const still = Object.assign(new ManualClock(), { advance: () => undefined });
  const all = await former(source, head, still);
  expect([all.found.commitsRead, all.owners]).toEqual([300, {}]);
  expect((await former(source, head)).found.commitsRead).toBe(30);
});
