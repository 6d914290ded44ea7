// A first start derives the newest commit once, where nothing is wrong in it.
import { expect, test } from 'vitest';
import { EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import { deriveAt } from '../../src/follow/read-commit.ts';
import { searchHistory } from '../../src/follow/search-history.ts';
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
