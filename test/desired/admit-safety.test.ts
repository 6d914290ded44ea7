// Tests the admission of deletes: held ones, protected ones, and the instances that wait because of them.
import { describe, expect, it } from 'vitest';
import { admitInstances, type Safety } from '../../src/desired/admit.ts';
import type { DeletionFacts } from '../../src/desired/deletions.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { describeProblems } from '../support/entries.ts';
import type { TextRepository } from '../support/text-repository.ts';
import { deletionFacts, removalsOf } from './facts.ts';
import { instanceFile, one, ownersIn, stacksRepository, two, WRONG } from './stacks.ts';

type Instances = Readonly<Record<string, string | null>>;

const MANY = 'stacks/templates/many.yaml';

/** A template of one group, whose members are called after the instance and the resource key. */
function manyText(key = 's'): string {
  return `parameters: { count: "3" }
resources:
  ${key}: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } }
`;
}

/** An instance of that template; `more` is added at the top level. */
function many(count: number, more = ''): string {
  return `stackTemplate: many\nparameters: { count: "${count}" }\n${more}`;
}

function safety(facts: Partial<DeletionFacts> = {}): Safety {
  return { deletions: deletionFacts(facts) };
}

function commit(repository: TextRepository, instances: Instances, judged = safety()): DesiredState {
  const files = Object.entries(instances).map(([name, text]) => [instanceFile(name), text]);
  return repository.commit(Object.fromEntries(files), { safety: judged });
}

/** A repository whose first commit has these instances. */
function started(instances: Instances): TextRepository {
  const repository = stacksRepository();
  repository.commit({ [MANY]: manyText() });
  commit(repository, instances);
  return repository;
}

function summaryOf(desired: DesiredState) {
  const { held, approved, invalid } = desired;
  return {
    owners: ownersIn(desired),
    held: [...held.keys()],
    approved: [...approved],
    invalid: [...invalid],
    codes: desired.problems.map(({ code }) => code),
  };
}

const QUIET = { held: [], approved: [], invalid: [], codes: [] };
const SHOP_3 = ['shop-s-1: shop', 'shop-s-2: shop', 'shop-s-3: shop'];

describe('an instance that exceeds the delete budget', () => {
  it.each<[name: string, before: Instances, after: Instances, summary: Partial<ReturnType<typeof summaryOf>>]>([
    ['is held with all its servers', { shop: many(3) }, { shop: many(0) }, { owners: SHOP_3, held: ['shop'] }],
    [
      'is held if its file is removed',
      { shop: many(3), b: one('x') },
      { shop: null },
      { owners: [...SHOP_3, 'x: b'], held: ['shop'] },
    ],
    [
      'does not cause a hold of an instance that loses no server',
      { shop: many(3), b: one('x') },
      { shop: many(0), b: two('x', 'y') },
      { owners: [...SHOP_3, 'x: b', 'y: b'], held: ['shop'] },
    ],
  ])('%s', (_name, before, after, summary) => {
    const desired = commit(started(before), after);
    expect(summaryOf(desired)).toEqual({ ...QUIET, ...summary });
    expect(desired.units.get('stack-instance/shop')?.commit).toBe('commit 3');
    expect(desired.held.get('shop')?.removals).toEqual(removalsOf('shop-s-1', 'shop-s-2', 'shop-s-3'));
  });

  it('gets no new server of its newest version', () => {
    const desired = started({ shop: many(3) }).commit({ [MANY]: manyText('renamed') }, { safety: safety() });
    expect(summaryOf(desired)).toEqual({ ...QUIET, owners: SHOP_3, held: ['shop'] });
  });

  it('is not held after an approval, without a judge, or after a revert', () => {
    const approved = commit(started({ shop: many(3) }), { shop: many(0) }, safety({ isApproved: () => true }));
    expect(summaryOf(approved)).toEqual({ ...QUIET, owners: [], approved: ['shop'] });
    const unjudged = started({ shop: many(3) }).commit({ [instanceFile('shop')]: many(0) });
    expect(summaryOf(unjudged)).toEqual({ ...QUIET, owners: [] });
    const repository = started({ shop: many(3) });
    commit(repository, { shop: many(0) });
    expect(summaryOf(commit(repository, { shop: many(3) }))).toEqual({ ...QUIET, owners: SHOP_3 });
  });

  it('is also Invalid if its newest version is invalid', () => {
    const facts = { underWay: new Map([['shop', removalsOf('a', 'b', 'c')]]) };
    const desired = commit(started({ shop: many(3) }), { shop: WRONG }, safety(facts));
    expect(summaryOf(desired)).toMatchObject({ held: ['shop'], invalid: ['shop'] });
  });
});

const LIFTED_BEFORE = new Map([['stack-instance/shop', { protected: false, deletion: 'delete' }]] as const);

describe('a removal under way', () => {
  const under = new Map([['shop', removalsOf('shop-s-1', 'shop-s-4', 'shop-s-5')]]);

  it('holds its instance at the active version', () => {
    const desired = commit(started({ shop: many(3) }), { shop: many(4) }, safety({ underWay: under }));
    expect(summaryOf(desired)).toEqual({ ...QUIET, owners: SHOP_3, held: ['shop'] });
  });

  it('is asked whether it continues, with the wanted spec of each server', () => {
    const asked = new Map<string, unknown>();
    const isContinued: DeletionFacts['isContinued'] = (server, spec) => {
      asked.set(server, spec?.properties.name);
      return spec === undefined;
    };
    const desired = commit(started({ shop: many(3) }), { shop: many(4) }, safety({ underWay: under, isContinued }));
    expect(Object.fromEntries(asked)).toEqual({
      'shop-s-1': 'shop-s-1',
      'shop-s-4': 'shop-s-4',
      'shop-s-5': undefined,
    });
    expect(summaryOf(desired)).toEqual({ ...QUIET, owners: [...SHOP_3, 'shop-s-4: shop'] });
  });
});

describe('judgeDeletions does not count', () => {
  it.each<[name: string, before: Instances, after: Instances, owners: readonly string[]]>([
    ['a server that moves to another instance', { a: two('x', 'y') }, { a: null, b: two('x', 'y') }, ['x: b', 'y: b']],
    ['a retained server', { a: `${two('x', 'y')}deletion: retain\n`, b: one('z') }, { a: null }, ['z: b']],
    ['a server that was retained until this commit', { a: `${one('x')}deletion: retain\n` }, { a: one('z') }, ['z: a']],
    ['a server of an invalid instance', { a: two('x', 'y') }, { a: WRONG }, ['x: a', 'y: a']],
  ])('%s', (_name, before, after, owners) => {
    const desired = commit(started(before), after, safety({ limit: 0 }));
    expect(ownersIn(desired)).toEqual(owners);
    expect([...desired.held.keys()]).toEqual([]);
  });

  it('a server of an invalid instance without a valid version', () => {
    const desired = commit(started({ a: WRONG, b: one('z') }), {});
    const owners = new Map([...desired.owners, ['x', 'stack-instance/a']]);
    const admission = admitInstances(
      { ...desired, receiversOf: () => [] },
      { ...desired, owners },
      safety({ limit: 0 }),
    );
    expect(admission.held.size).toBe(0);
    expect([...admission.refused]).toEqual(['stack-instance/a']);
  });

  it('a server that the new version retains, unless that version is refused', () => {
    const repository = started({ a: two('x', 'y') });
    const desired = commit(repository, { a: `${one('z')}deletion: retain\n` }, safety({ limit: 1 }));
    expect(summaryOf(desired)).toMatchObject({ owners: ['z: a'], held: [] });
    const wrong = commit(started({ a: two('x', 'y') }), { a: `${WRONG}deletion: retain\n` }, safety({ limit: 1 }));
    expect(summaryOf(wrong)).toMatchObject({ owners: ['x: a', 'y: a'], invalid: ['a'] });
  });
});

describe('an instance is refused because of a hold', () => {
  it('if it wants a server name that the held instance keeps', () => {
    const receiver = { b: two('x', 'shop-s-1') };
    const desired = commit(started({ shop: many(3), b: one('x') }), { shop: null, ...receiver }, safety({ limit: 1 }));
    expect(summaryOf(desired)).toEqual({
      ...QUIET,
      owners: [...SHOP_3, 'x: b'],
      held: ['shop'],
      invalid: ['b'],
      codes: ['server_name_taken'],
    });
    const within = commit(started({ shop: many(3), b: one('x') }), { shop: null, ...receiver }, safety({ limit: 2 }));
    expect(summaryOf(within)).toEqual({ ...QUIET, owners: ['shop-s-1: b', 'x: b'] });
  });

  it('if it is new and has a server name of the held instance in another case', () => {
    const desired = commit(started({ shop: many(3) }), { shop: null, b: one('SHOP-s-1') });
    expect(summaryOf(desired)).toMatchObject({ owners: SHOP_3, held: ['shop'], invalid: ['b'] });
    expect(desired.problems).toMatchObject([{ code: 'server_name_taken', instances: ['b'] }]);
  });

  it('if it hands a server over to the held instance', () => {
    const desired = commit(started({ shop: many(3), b: two('x', 'y') }), { shop: two('x', 'w'), b: one('y') });
    expect(summaryOf(desired)).toMatchObject({
      owners: [...SHOP_3, 'x: b', 'y: b'],
      held: ['shop'],
      invalid: ['b'],
      codes: ['hand_over_waits'],
    });
  });
});

describe('a server that is handed over to a refused instance', () => {
  it('stays with its present instance', () => {
    const desired = commit(started({ a: two('x', 'y') }), { a: one('y'), b: one('x', 'nobody') });
    expect(ownersIn(desired)).toEqual(['x: a', 'y: a']);
    expect(describeProblems(desired.problems)).toEqual([
      'a.yaml:1:16 hand_over_waits: "x" is handed over to the instance "b", which cannot become active (correct "b" first; until then nothing of either changes) [a]',
      expect.stringMatching(/^b\.yaml:.* unknown_dependency: "x" depends on "nobody"/),
    ]);
  });

  it('stays with its present instance although the file of that is removed', () => {
    const desired = commit(started({ a: one('x'), c: one('z') }), { a: null, b: one('x', 'nobody') });
    expect(summaryOf(desired)).toMatchObject({ owners: ['x: a', 'z: c'], invalid: ['b', 'a'] });
    expect(desired.problems.map(({ code }) => code)).toContain('hand_over_waits');
  });

  it('moves when the receiver is corrected', () => {
    const repository = started({ a: two('x', 'y') });
    commit(repository, { a: one('y'), b: one('x', 'nobody') });
    expect(summaryOf(commit(repository, { b: one('x') }))).toEqual({ ...QUIET, owners: ['x: b', 'y: a'] });
  });
});

describe('a protected instance', () => {
  const PROTECTED = 'protected: true\n';
  const LIFTED = 'protected: false\n';
  const all = safety({ limit: 100 });

  it.each<[name: string, change: Instances]>([
    ['its group shrinks', { shop: many(2, PROTECTED) }],
    ['its group shrinks in the commit that ends the protection', { shop: many(2, LIFTED) }],
    ['its servers are renamed', { shop: two('x', 'y') + PROTECTED }],
    ['its file is removed', { shop: null }],
    ['it has no servers any more', { shop: many(0, PROTECTED) }],
  ])('keeps all servers and is Invalid if %s', (_name, change) => {
    const desired = commit(started({ shop: many(3, PROTECTED), other: one('o') }), change, all);
    expect(summaryOf(desired)).toEqual({
      ...QUIET,
      owners: ['o: other', ...SHOP_3],
      invalid: ['shop'],
      codes: ['protected_instance'],
    });
  });

  it.each<[name: string, change: Instances]>([
    ['its servers are handed over to an unprotected instance', { shop: null, store: store() }],
    [
      'one of its servers is handed over to an unprotected instance',
      { shop: two('shop-s-2', 'shop-s-3') + PROTECTED, other: two('o', 'shop-s-1') },
    ],
    [
      'its servers are handed over to an unprotected instance that retains servers',
      { shop: null, store: store('deletion: retain\n') },
    ],
  ])('keeps all servers and makes the receiver Invalid if %s', (_name, change) => {
    const desired = commit(started({ shop: many(3, PROTECTED), other: one('o') }), change, all);
    expect(summaryOf(desired)).toMatchObject({
      owners: ['o: other', ...SHOP_3],
      codes: expect.arrayContaining(['protected_instance', 'server_name_taken']),
    });
    expect([...desired.invalid]).toContain('shop');
  });

  it('names the servers that would be handed over, and the receiver', () => {
    const change = { shop: two('shop-s-2', 'z') + PROTECTED, other: two('o', 'shop-s-1') };
    const { problems } = commit(started({ shop: many(3, PROTECTED), other: one('o') }), change, all);
    expect(describeProblems(problems.filter(({ code }) => code === 'protected_instance'))).toEqual([
      'shop.yaml:3:12 protected_instance: the instance "shop" is protected, and this would delete shop-s-3, and hand shop-s-1 over to "other", which is not (protect the instance that takes over too, or set protected: false in a commit of its own first, in a pull request of its own where those are merged) [shop]',
    ]);
  });

  it('names the servers that would be deleted, and the remedy', () => {
    const repository = started({ shop: many(7, PROTECTED) });
    expect(describeProblems(commit(repository, { shop: many(6, PROTECTED) }, all).problems)).toEqual([
      'shop.yaml:3:12 protected_instance: the instance "shop" is protected, and this would delete shop-s-7 (set protected: false in a commit of its own first, in a pull request of its own where those are merged) [shop]',
    ]);
    expect(commit(repository, { shop: many(0, PROTECTED) }, all).problems[0]?.message).toBe(
      'the instance "shop" is protected, and this would delete shop-s-1, shop-s-2, shop-s-3, shop-s-4, shop-s-5 and others',
    );
  });

  it.each<[name: string, change: Instances, owners: readonly string[]]>([
    ['may grow', { shop: many(4, PROTECTED) }, [...SHOP_3, 'shop-s-4: shop']],
    [
      'may hand its servers over to another protected instance',
      { shop: null, store: store(PROTECTED) },
      handedTo('store'),
    ],
    ['may lose its protection without other changes', { shop: many(3, LIFTED) }, SHOP_3],
  ])('%s', (_name, change, owners) => {
    const desired = commit(started({ shop: many(3, PROTECTED) }), change, all);
    expect(summaryOf(desired)).toEqual({ ...QUIET, owners });
  });

  it('may lose servers or hand them over after an earlier commit ended the protection', () => {
    const repository = started({ shop: many(3, PROTECTED) });
    commit(repository, { shop: many(3, LIFTED) }, all);
    const left = { ...QUIET, owners: SHOP_3.slice(0, 1) };
    expect(summaryOf(commit(repository, { shop: many(1, LIFTED) }, all))).toEqual(left);
    const lifted = { ...all, losses: LIFTED_BEFORE };
    expect(summaryOf(commit(started({ shop: many(3, PROTECTED) }), { shop: many(1) }, lifted))).toEqual(left);
    const given = commit(started({ shop: many(3, PROTECTED) }), { shop: null, store: store() }, lifted);
    expect(summaryOf(given)).toEqual({ ...QUIET, owners: handedTo('store') });
  });

  it.each<[name: string, change: Instances]>([
    ['its file is removed', { shop: null }],
    ['its group shrinks', { shop: many(2, `${PROTECTED}deletion: retain\n`) }],
  ])('keeps all servers with "deletion: retain" if %s', (_name, change) => {
    const repository = started({ shop: many(3, `${PROTECTED}deletion: retain\n`), other: one('o') });
    const desired = commit(repository, change, all);
    expect(summaryOf(desired)).toMatchObject({ owners: ['o: other', ...SHOP_3], codes: ['protected_instance'] });
  });

  it('is protected from its first protected version on, even an invalid one', () => {
    const repository = started({ shop: many(3) });
    commit(repository, { shop: WRONG + PROTECTED }, all);
    expect(summaryOf(commit(repository, { shop: many(1) }, all))).toMatchObject({ owners: SHOP_3, invalid: ['shop'] });
    commit(repository, { shop: many(3) }, all);
    expect(summaryOf(commit(repository, { shop: many(1) }, all))).toEqual({ ...QUIET, owners: SHOP_3.slice(0, 1) });
  });

  it('is refused instead of held, and does not count for the others', () => {
    const repository = started({ shop: many(3, PROTECTED), b: two('x', 'y') });
    const desired = commit(repository, { shop: many(0, PROTECTED), b: one('x') }, safety({ limit: 1 }));
    expect(summaryOf(desired)).toMatchObject({ owners: [...SHOP_3, 'x: b'], held: [], invalid: ['shop'] });
  });
});

describe('admission looks dependencies up in the versions that become active', () => {
  const NEEDS_SHOP = { b: one('x', 'shop-s-1'), c: one('z') };

  it.each<[name: string, shop: string | null]>([
    ['whose removal is refused', null],
    ['that may not shrink', many(0, 'protected: true\n')],
  ])('of a protected instance %s', (_name, shop) => {
    const repository = started({ shop: many(3, 'protected: true\n'), ...NEEDS_SHOP });
    const desired = commit(repository, { shop, c: one('z', 'x') }, safety({ limit: 100 }));
    expect(summaryOf(desired)).toEqual({
      ...QUIET,
      owners: [...SHOP_3, 'x: b', 'z: c'],
      invalid: ['shop'],
      codes: ['protected_instance'],
    });
    expect(desired.units.get('stack-instance/c')?.commit).toBe('commit 4');
  });

  it('of a held instance, and judges instances that are refused because of the hold', () => {
    const repository = started({ shop: many(3), b: two('x', 'y'), c: one('z') });
    const change = { shop: null, b: one('x', 'shop-s-1'), c: one('z', 'shop-s-2') };
    const desired = commit(repository, change, safety({ limit: 2 }));
    expect(summaryOf(desired)).toEqual({
      ...QUIET,
      owners: [...SHOP_3, 'x: b', 'y: b', 'z: c'],
      held: ['shop', 'b'],
    });
    expect(desired.held.get('b')?.removals).toEqual(removalsOf('y'));
    expect(desired.units.get('stack-instance/c')?.commit).toBe('commit 4');
  });
});

/** An instance that makes the servers of `shop` under the names that these have. */
function store(more = ''): string {
  return many(3, more) + additions(SHOP_3);
}

function additions(owners: readonly string[]): string {
  const names = owners.map((owner) => owner.split(':')[0]?.replace(/\d$/, '<<index>>'));
  return `stackTemplateAdditions: { resources: { s: { properties: { resource_def: { properties: { name: "${names[0]}" } } } } } }\n`;
}

function handedTo(instance: string): string[] {
  return SHOP_3.map((owner) => owner.replace('shop', 'SHOP').replace('shop', instance).replace('SHOP', 'shop'));
}

it('admission ends and keeps all servers if an active protected instance clashes', {
  timeout: 5_000,
}, () => {
  const repository = stacksRepository();
  const a = commit(repository, { a: `${two('x', 'y')}protected: true\n` });
  const b = commit(stacksRepository(), { b: one('x') });
  const units = new Map([...a.units, ...b.units]);
  const owners = new Map([['x', 'stack-instance/b']]);
  const newest = commit(stacksRepository(), { a: one('z'), b: one('x') });
  const admitted = admitInstances(
    { ...newest, receiversOf: () => [] },
    { ...newest, units, owners },
    safety({ limit: 0 }),
  );
  expect([...admitted.owners]).toEqual([['x', 'stack-instance/b']]);
  expect([...admitted.refused]).toEqual(['stack-instance/a']);
  expect(admitted.problems.map(({ code }) => code)).toEqual(['protected_instance', 'server_name_taken']);
  expect(admitted.held).toEqual(new Map());
});
