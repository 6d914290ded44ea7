import { describe, expect, test } from 'vitest';
import { admitInstances } from '../../src/desired/admit.ts';
import { InstanceBuilder } from '../../src/desired/candidates.ts';
import { type DesiredState, EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import { describeProblems } from '../support/entries.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { instanceFile, one, ownersIn, stacksRepository, two, WRONG } from './stacks.ts';

type Instances = Readonly<Record<string, string | null>>;

/** Commits instances one commit after another; returns the last desired state. */
function follow(...commits: readonly Instances[]): DesiredState {
  const repository = stacksRepository();
  const desiredStates = commits.map((instances) => repository.commit(filesOf(instances)));
  const last = desiredStates.at(-1);
  if (last === undefined) throw new Error('no commit');
  return last;
}

function filesOf(instances: Instances): TextChanges {
  return Object.fromEntries(Object.entries(instances).map(([name, text]) => [instanceFile(name), text]));
}

function invalidIn({ invalid }: DesiredState): string[] {
  return [...invalid].sort();
}

const TAKEN_HINT =
  'server names are unique over all instances, without regard to case: change a parameter that the name is made of';

describe('a server name belongs to one instance', () => {
  test('two newcomers: neither gets it', () => {
    const desired = follow({ a: one('web'), b: one('web') });
    expect(ownersIn(desired)).toEqual([]);
    expect(invalidIn(desired)).toEqual(['a', 'b']);
    expect(describeProblems(desired.problems)).toEqual([
      `a.yaml:2:21 server_name_taken: the server name "web" is also that of a server of the instance "b" (${TAKEN_HINT}) [a]`,
      `b.yaml:2:21 server_name_taken: the server name "web" is also that of a server of the instance "a" (${TAKEN_HINT}) [b]`,
    ]);
  });

  test('names that differ in case only are one name', () => {
    const desired = follow({ m: one('web') }, { a: one('WEB') });
    expect(ownersIn(desired)).toEqual(['web: m']);
    expect(desired.problems.map(({ message }) => message)).toEqual([
      'the server name "WEB" differs only in case from that of the server "web"',
    ]);
  });

  test('a commit that changes the case of a name is refused, and so is one that moves it', () => {
    expect(ownersIn(follow({ m: two('web', 'db') }, { m: two('WEB', 'db') }))).toEqual(['db: m', 'web: m']);
    const moved = follow({ m: two('web', 'db') }, { m: one('db'), a: one('WEB') });
    expect(ownersIn(moved)).toEqual(['db: m']);
    expect(moved.awaited).toEqual(new Set(['web']));
  });

  test('one instance with two clashes is told of one at a time', () => {
    const desired = follow({ m: two('web', 'db') }, { a: two('db', 'web') });
    expect(desired.problems).toHaveLength(1);
    expect(ownersIn(desired)).toEqual(['db: m', 'web: m']);
  });
});

interface Story {
  readonly commits: readonly Instances[];
  readonly owners: readonly string[];
  readonly invalid?: readonly string[];
}

const STORIES: Readonly<Record<string, Story>> = {
  'a newcomer that is sorted before the holder of a name is refused': {
    commits: [{ m: one('web') }, { a: one('web') }],
    ...{ owners: ['web: m'], invalid: ['a'] },
  },
  'a newcomer that is sorted after the holder of a name is refused': {
    commits: [{ m: one('web') }, { z: one('web') }],
    ...{ owners: ['web: m'], invalid: ['z'] },
  },
  'the holder keeps a name when it is changed in the same commit': {
    commits: [{ m: two('web', 'db') }, { m: two('web', 'cache'), a: one('web') }],
    ...{ owners: ['cache: m', 'web: m'], invalid: ['a'] },
  },
  'an instance that wants the name of another one stays whole': {
    commits: [{ m: one('web'), a: two('x', 'y') }, { a: two('z', 'web') }],
    ...{ owners: ['web: m', 'x: a', 'y: a'], invalid: ['a'] },
  },
  'the refused one gets the name once the holder is gone': {
    commits: [{ m: one('web'), n: one('db') }, { a: one('web') }, { m: null }],
    owners: ['db: n', 'web: a'],
  },
  'a server is handed from one instance to another in one commit': {
    commits: [
      { m: two('web', 'db'), a: one('x') },
      { m: two('cache', 'db'), a: one('web') },
    ],
    owners: ['cache: m', 'db: m', 'web: a'],
  },
  'two instances swap their servers': {
    commits: [
      { a: one('left'), b: one('right') },
      { a: one('right'), b: one('left') },
    ],
    owners: ['left: b', 'right: a'],
  },
  'a receiver stays behind while the giver does': {
    commits: [
      { m: one('web'), a: one('x') },
      { m: WRONG, a: one('web') },
    ],
    ...{ owners: ['web: m', 'x: a'], invalid: ['a', 'm'] },
  },
  // a gives x away and is refused, so b cannot have it; and b keeps y, so c cannot have that.
  'being pinned takes a name that another one counted on': {
    commits: [
      { a: one('x'), b: one('y'), c: one('z'), h: one('held') },
      { a: one('held'), b: one('x'), c: one('y') },
    ],
    ...{ owners: ['held: h', 'x: a', 'y: b', 'z: c'], invalid: ['a', 'b', 'c'] },
  },
  'a dependency falls with the instance it is on, and with what is on that': {
    commits: [{ a: one('x', 'y'), b: one('y', 'z'), c: WRONG }],
    ...{ owners: [], invalid: ['a', 'b', 'c'] },
  },
  'a dependency is met by the active version of an instance that stays behind': {
    commits: [{ b: one('db') }, { a: one('web', 'db'), b: WRONG }],
    ...{ owners: ['db: b', 'web: a'], invalid: ['b'] },
  },
  'an owner keeps a server that it gives up and needs itself': {
    commits: [{ a: one('x', 'y'), b: one('y') }, { b: one('z', 'y') }],
    ...{ owners: ['x: a', 'y: b'], invalid: ['b'] },
  },
  'an owner keeps a server as the receiver of another one cannot become active': {
    commits: [
      { a: two('w', 'y'), b: one('x') },
      { a: null, b: one('x', 'y'), c: one('w', 'nobody') },
    ],
    ...{ owners: ['w: a', 'x: b', 'y: a'], invalid: ['a', 'c'] },
  },
  'an owner keeps a server as it is part of a circle': {
    commits: [
      { a: one('p'), b: one('y'), c: one('z') },
      { a: one('p', 'y'), b: one('y1', 'z1'), c: one('z1', 'y1') },
    ],
    ...{ owners: ['p: a', 'y: b', 'z: c'], invalid: ['b', 'c'] },
  },
  'an owner gives a server up although what needs it gives up what a third one needs': {
    commits: [
      { a: one('x'), b: one('y'), c: one('z') },
      { a: one('x1', 'y'), b: one('y1', 'z'), c: one('z1', 'nobody') },
    ],
    ...{ owners: ['x: a', 'y1: b', 'z: c'], invalid: ['a', 'c'] },
  },
  'one of two that each need what the other gives up is refused': {
    commits: [
      { a: one('x'), b: one('y') },
      { a: one('x1', 'y'), b: one('y1', 'x') },
    ],
    ...{ owners: ['x: a', 'y1: b'], invalid: ['a'] },
  },
};

test.each(Object.entries(STORIES))('%s', (_name, { commits, owners, invalid = [] }) => {
  const desired = follow(...commits);
  expect(ownersIn(desired)).toEqual(owners);
  expect(invalidIn(desired)).toEqual(invalid);
  // A refusal blames nobody but the refused ones.
  expect(new Set(desired.problems.flatMap(({ instances }) => instances))).toEqual(new Set(invalid));
});

describe('a dependency on a server of another stack', () => {
  test('is met by a server that comes in the same commit', () => {
    const desired = follow({ a: one('web', 'db'), b: one('db') });
    expect(ownersIn(desired)).toEqual(['db: b', 'web: a']);
    expect(desired.units.get('stack-instance/a')?.servers.get('web')?.spec.dependsOn).toEqual(['db']);
  });

  test('that nobody makes is an error with a suggestion', () => {
    const desired = follow({ a: one('web', 'bd'), b: one('db') });
    expect(ownersIn(desired)).toEqual(['db: b']);
    expect(describeProblems(desired.problems)).toEqual([
      expect.stringMatching(
        /unknown_dependency: "web" depends on "bd", which is neither a resource of its template nor a server of any stack \(did you mean "db"\?\) \[a\]$/,
      ),
    ]);
  });

  test('may be misspelled for a resource of the own stack', () => {
    const desired = follow({ a: one('web', 'sevrer') });
    expect(desired.problems.map(({ hint }) => hint)).toEqual(['did you mean "server"?']);
  });

  test('that many miss gets a suggestion for each of the first names', () => {
    const wanting = Array.from({ length: 30 }, (_, index) => [
      `a${index}`,
      one(`server-${index}`, `missing-${index}x`),
    ]);
    const close = Array.from({ length: 30 }, (_, index) => [`b${index}`, one(`missing-${index}`)]);
    const desired = follow(Object.fromEntries([...wanting, ...close]));
    const hints = desired.problems.filter(({ hint }) => hint !== null);
    expect(desired.problems).toHaveLength(30);
    expect(hints).toHaveLength(20);
    expect(hints.every(({ message, hint }) => hint?.includes(/"(missing-\d+)x"/.exec(message)?.[1] ?? '?'))).toBe(true);
  });

  test('is spelled in one way: case counts', () => {
    const desired = follow({ a: one('web', 'DB'), b: one('db') });
    expect(invalidIn(desired)).toEqual(['a']);
    expect(desired.problems.map(({ hint }) => hint)).toEqual(['did you mean "db"?']);
  });

  test('on a hand-written clientcert is an error: nobody ever makes that', () => {
    const repository = stacksRepository();
    const desired = repository.commit({
      'types/clientcert/db.yaml': 'ip: 192.0.2.1\n',
      [instanceFile('a')]: one('web', 'db'),
    });
    expect(invalidIn(desired)).toEqual(['a']);
    expect(desired.problems.map(({ code }) => code)).toEqual(['unknown_dependency']);
  });

  test('that another commit takes away makes an untouched instance invalid, and leaves it as it is', () => {
    const desired = follow({ a: one('web', 'db'), b: one('db'), c: one('c') }, { b: null });
    expect(ownersIn(desired)).toEqual(['c: c', 'web: a']);
    expect(desired.problems.map(({ code, instances }) => [code, instances])).toEqual([['unknown_dependency', ['a']]]);
    expect(invalidIn(desired)).toEqual(['a']);
  });
});

describe('dependencies that go in a circle across stacks', () => {
  test('two newcomers: neither comes', () => {
    const desired = follow({ a: one('x', 'y'), b: one('y', 'x'), c: one('z') });
    expect(ownersIn(desired)).toEqual(['z: c']);
    expect(invalidIn(desired)).toEqual(['a', 'b']);
    expect(new Set(desired.problems.map(({ code }) => code))).toEqual(new Set(['dependency_cycle']));
  });

  test('is blamed on the one that closed it', () => {
    const desired = follow({ a: one('x', 'y'), b: one('y') }, { b: one('y', 'x') });
    expect(ownersIn(desired)).toEqual(['x: a', 'y: b']);
    expect(invalidIn(desired)).toEqual(['b']);
    expect(desired.units.get('stack-instance/b')?.servers.get('y')?.spec.dependsOn).toEqual([]);
  });

  test('is blamed on the same one where every file was read anew', () => {
    const repository = stacksRepository({ reuses: false });
    repository.commit(filesOf({ a: one('x', 'y'), b: one('y') }));
    expect(invalidIn(repository.commit(filesOf({ b: one('y', 'x') })))).toEqual(['b']);
  });

  test('of three is printed whole', () => {
    const desired = follow({ a: one('x', 'y'), b: one('y', 'z'), c: one('z', 'x') });
    expect(desired.problems[0]?.message).toBe('dependencies go in a circle: x → y → z → x');
    expect(invalidIn(desired)).toEqual(['a', 'b', 'c']);
  });

  test('one that is only depended on from a circle stays, one that depends on it falls', () => {
    const desired = follow(
      { a: one('x', 'y'), b: two('y', 'free'), c: one('z') },
      { d: one('w', 'x'), e: one('v', 'w') },
    );
    expect(ownersIn(desired)).toEqual(['free: b', 'v: e', 'w: d', 'x: a', 'y: b', 'z: c']);
    const after = follow({ a: one('x', 'y'), b: one('y', 'x'), d: one('w', 'x'), z: one('z') });
    expect(ownersIn(after)).toEqual(['z: z']);
    expect(after.problems.find(({ instances }) => instances?.includes('d'))).toMatchObject({
      ...{ code: 'dependency_waits', severity: 'warning' },
      message: '"w" depends on "x", a server of "a", which cannot come into force',
    });
  });
});

describe('a dependency that another mistake keeps away', () => {
  const MISSPELT = 'stackTemplate: oen\nparameters: { name: db, needs: "" }\n';

  function saidOf(desired: DesiredState): string[] {
    return desired.problems.map(({ severity, code, file }) => `${severity} ${code} ${file.split('/').at(-1)}`);
  }

  test('is no second one where nobody knows what the wrong instance makes', () => {
    const desired = follow({ a: one('web', 'db'), b: MISSPELT, c: one('lb', 'web') });
    expect(saidOf(desired)).toEqual([
      'warning dependency_waits a.yaml',
      'error unknown_template b.yaml',
      'warning dependency_waits c.yaml',
    ]);
    expect(desired.problems[0]).toMatchObject({
      message: '"web" depends on "db", which may be a server of "b", which is wrong',
      instances: ['a'],
    });
    expect(invalidIn(desired)).toEqual(['a', 'b', 'c']);
  });

  test('is one where the wrong instance has a version in force: that makes no such server', () => {
    const desired = follow({ b: one('db') }, { a: one('web', 'other'), b: MISSPELT });
    expect(saidOf(desired)).toEqual(['error unknown_dependency a.yaml', 'error unknown_template b.yaml']);
  });

  test('names the first of many wrong instances', () => {
    const wrong = Array.from({ length: 7 }, (_, index) => [`w${index}`, MISSPELT]);
    const desired = follow({ a: one('web', 'db'), ...Object.fromEntries(wrong) });
    expect(desired.problems[0]?.message).toBe(
      '"web" depends on "db", which may be a server of "w0", "w1", "w2", "w3", "w4" or 2 more, which are wrong',
    );
  });
});

describe('versions that are said to be in force and clash', () => {
  test('put one of them out, and leave its servers alone', () => {
    const a = follow({ a: one('x'), c: one('z') });
    const b = follow({ b: one('x') });
    const units = new Map([...a.units, ...b.units]);
    const baseline = { ...EMPTY_BASELINE, units, owners: new Map([['x', 'stack-instance/a']]) };
    const wrong = follow({ a: WRONG, b: WRONG, c: one('z') });
    const { owners, refused, problems } = admitInstances({ ...wrong, receiversOf: () => [] }, baseline);
    expect([...owners].sort()).toEqual([
      ['x', 'stack-instance/a'],
      ['z', 'stack-instance/c'],
    ]);
    expect([...refused]).toEqual(['stack-instance/a', 'stack-instance/b']);
    expect(problems).toMatchObject([{ code: 'server_name_taken', instances: ['b'] }]);
  });
});

describe('a clientcert of the name of a server that never came into force', () => {
  const LAB = { 'types/clientcert/lab.yaml': 'ip: 192.0.2.1\n' };

  test.each([
    ['is refused', { a: one('web'), b: two('lab', 'web') }],
    ['is wrong', { b: one('lab', 'nobody') }],
  ])('is hand-written where the instance %s', (_what, instances) => {
    const repository = stacksRepository();
    repository.commit({ ...LAB, ...filesOf({ a: one('web') }) });
    const desired = repository.commit(filesOf(instances));
    expect(invalidIn(desired)).toEqual(['b']);
    expect(desired.units.has('clientcert/lab')).toBe(true);
  });

  test('is that of the server once it comes into force', () => {
    const repository = stacksRepository();
    repository.commit({ ...LAB, ...filesOf({ b: two('lab', 'lab') }) });
    const desired = repository.commit(filesOf({ b: one('lab') }));
    expect(desired.units.has('clientcert/lab')).toBe(false);
    expect(ownersIn(desired)).toEqual(['lab: b']);
  });
});

describe('a defect of ours in one file', () => {
  test('makes what is made of it wrong, and nothing else; it is tried again with the next commit', () => {
    const repository = stacksRepository();
    const desired = repository.commit(filesOf({ a: one('x'), b: one('y') }));
    const entry = { ...(desired.catalog.instances.get('a') ?? raise()) };
    const broken = { ...entry, object: new Proxy(entry.object ?? raise(), { get: () => raise('out of cheese') }) };
    const catalog = { ...desired.catalog, instances: new Map([...desired.catalog.instances, ['a', broken]]) };
    const { units } = built(catalog);
    expect(describeProblems(units.get('stack-instance/a')?.problems ?? [])).toEqual([
      'a.yaml:1:1 internal_error: Treeline failed on this file: out of cheese (this is a defect of Treeline: report it with this text and the file; everything else continues) [a]',
    ]);
    expect(units.get('stack-instance/b')?.servers.size).toBe(1);
    const again = built(catalog, { candidates: units });
    expect(again.built).toBe(1);
  });

  function built(...[catalog, earlier]: [DesiredState['catalog'], Pick<DesiredState, 'candidates'>?]): InstanceBuilder {
    const builder = new InstanceBuilder(catalog, new Map(), earlier);
    for (const named of catalog.instances) builder.add(named);
    return builder;
  }

  function raise(message = 'not there'): never {
    throw new Error(message);
  }
});
