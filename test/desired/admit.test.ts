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

describe('a server name', () => {
  test('goes to neither of two new instances', () => {
    const desired = follow({ a: one('web'), b: one('web') });
    expect(ownersIn(desired)).toEqual([]);
    expect(invalidIn(desired)).toEqual(['a', 'b']);
    expect(describeProblems(desired.problems)).toEqual([
      `a.yaml:2:21 server_name_taken: the server name "web" is also that of a server of the instance "b" (${TAKEN_HINT}) [a]`,
      `b.yaml:2:21 server_name_taken: the server name "web" is also that of a server of the instance "a" (${TAKEN_HINT}) [b]`,
    ]);
  });

  test('is taken by a name that differs only in case', () => {
    const desired = follow({ m: one('web') }, { a: one('WEB') });
    expect(ownersIn(desired)).toEqual(['web: m']);
    expect(desired.problems.map(({ message }) => message)).toEqual([
      'the server name "WEB" differs only in case from that of the server "web"',
    ]);
  });

  test('cannot change its case, also not by a move to another instance', () => {
    expect(ownersIn(follow({ m: two('web', 'db') }, { m: two('WEB', 'db') }))).toEqual(['db: m', 'web: m']);
    const moved = follow({ m: two('web', 'db') }, { m: one('db'), a: one('WEB') });
    expect(ownersIn(moved)).toEqual(['db: m']);
    expect(moved.awaited).toEqual(new Set(['web']));
  });

  test('that clashes twice gets one problem per instance', () => {
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
  'a new instance sorted before the owner of a name is refused': {
    commits: [{ m: one('web') }, { a: one('web') }],
    owners: ['web: m'],
    invalid: ['a'],
  },
  'a new instance sorted after the owner of a name is refused': {
    commits: [{ m: one('web') }, { z: one('web') }],
    owners: ['web: m'],
    invalid: ['z'],
  },
  'the owner keeps a name if it changes in the same commit': {
    commits: [{ m: two('web', 'db') }, { m: two('web', 'cache'), a: one('web') }],
    owners: ['cache: m', 'web: m'],
    invalid: ['a'],
  },
  'an instance that wants a taken name keeps all its servers': {
    commits: [{ m: one('web'), a: two('x', 'y') }, { a: two('z', 'web') }],
    owners: ['web: m', 'x: a', 'y: a'],
    invalid: ['a'],
  },
  'a refused instance gets the name when the owner is gone': {
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
  'a receiver is pinned while the giver is pinned': {
    commits: [
      { m: one('web'), a: one('x') },
      { m: WRONG, a: one('web') },
    ],
    owners: ['web: m', 'x: a'],
    invalid: ['a', 'm'],
  },
  // a gives x away and is refused, so b cannot have it; and b keeps y, so c cannot have that.
  'a pinned instance keeps a name that another instance wants': {
    commits: [
      { a: one('x'), b: one('y'), c: one('z'), h: one('held') },
      { a: one('held'), b: one('x'), c: one('y') },
    ],
    owners: ['held: h', 'x: a', 'y: b', 'z: c'],
    invalid: ['a', 'b', 'c'],
  },
  'a refused instance makes its dependants refused, and theirs': {
    commits: [{ a: one('x', 'y'), b: one('y', 'z'), c: WRONG }],
    owners: [],
    invalid: ['a', 'b', 'c'],
  },
  'the active version of a pinned instance meets a dependency': {
    commits: [{ b: one('db') }, { a: one('web', 'db'), b: WRONG }],
    owners: ['db: b', 'web: a'],
    invalid: ['b'],
  },
  'an owner keeps a removed server on which it depends itself': {
    commits: [{ a: one('x', 'y'), b: one('y') }, { b: one('z', 'y') }],
    owners: ['x: a', 'y: b'],
    invalid: ['b'],
  },
  'an owner keeps a removed server if the receiver of another one is refused': {
    commits: [
      { a: two('w', 'y'), b: one('x') },
      { a: null, b: one('x', 'y'), c: one('w', 'nobody') },
    ],
    owners: ['w: a', 'x: b', 'y: a'],
    invalid: ['a', 'c'],
  },
  'an owner keeps a removed server if its new version is part of a cycle': {
    commits: [
      { a: one('p'), b: one('y'), c: one('z') },
      { a: one('p', 'y'), b: one('y1', 'z1'), c: one('z1', 'y1') },
    ],
    owners: ['p: a', 'y: b', 'z: c'],
    invalid: ['b', 'c'],
  },
  'an owner may remove a server if its dependant is refused for another reason': {
    commits: [
      { a: one('x'), b: one('y'), c: one('z') },
      { a: one('x1', 'y'), b: one('y1', 'z'), c: one('z1', 'nobody') },
    ],
    owners: ['x: a', 'y1: b', 'z: c'],
    invalid: ['a', 'c'],
  },
  'one of two instances that need what the other removes is refused': {
    commits: [
      { a: one('x'), b: one('y') },
      { a: one('x1', 'y'), b: one('y1', 'x') },
    ],
    owners: ['x: a', 'y1: b'],
    invalid: ['a'],
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
  test('is met by a server of the same commit', () => {
    const desired = follow({ a: one('web', 'db'), b: one('db') });
    expect(ownersIn(desired)).toEqual(['db: b', 'web: a']);
    expect(desired.units.get('stack-instance/a')?.servers.get('web')?.spec.dependsOn).toEqual(['db']);
  });

  test('on an unknown name is an error with a suggestion', () => {
    const desired = follow({ a: one('web', 'bd'), b: one('db') });
    expect(ownersIn(desired)).toEqual(['db: b']);
    expect(describeProblems(desired.problems)).toEqual([
      expect.stringMatching(
        /unknown_dependency: "web" depends on "bd", which is neither a resource of its template nor a server of any stack \(did you mean "db"\?\) \[a\]$/,
      ),
    ]);
  });

  test('on a misspelt resource of its own stack gets a suggestion', () => {
    const desired = follow({ a: one('web', 'sevrer') });
    expect(desired.problems.map(({ hint }) => hint)).toEqual(['did you mean "server"?']);
  });

  test('on unknown names gets a suggestion for the first twenty', () => {
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

  test('is case sensitive', () => {
    const desired = follow({ a: one('web', 'DB'), b: one('db') });
    expect(invalidIn(desired)).toEqual(['a']);
    expect(desired.problems.map(({ hint }) => hint)).toEqual(['did you mean "db"?']);
  });

  test('on a hand-written clientcert is an error', () => {
    const repository = stacksRepository();
    const desired = repository.commit({
      'types/clientcert/db.yaml': 'ip: 192.0.2.1\n',
      [instanceFile('a')]: one('web', 'db'),
    });
    expect(invalidIn(desired)).toEqual(['a']);
    expect(desired.problems.map(({ code }) => code)).toEqual(['unknown_dependency']);
  });

  test('on a removed server makes its unchanged instance Invalid, and keeps its servers', () => {
    const desired = follow({ a: one('web', 'db'), b: one('db'), c: one('c') }, { b: null });
    expect(ownersIn(desired)).toEqual(['c: c', 'web: a']);
    expect(desired.problems.map(({ code, instances }) => [code, instances])).toEqual([['unknown_dependency', ['a']]]);
    expect(invalidIn(desired)).toEqual(['a']);
  });
});

describe('a cycle of dependencies across stacks', () => {
  test('refuses all new instances in it', () => {
    const desired = follow({ a: one('x', 'y'), b: one('y', 'x'), c: one('z') });
    expect(ownersIn(desired)).toEqual(['z: c']);
    expect(invalidIn(desired)).toEqual(['a', 'b']);
    expect(new Set(desired.problems.map(({ code }) => code))).toEqual(new Set(['dependency_cycle']));
  });

  test('refuses the instance that closed it', () => {
    const desired = follow({ a: one('x', 'y'), b: one('y') }, { b: one('y', 'x') });
    expect(ownersIn(desired)).toEqual(['x: a', 'y: b']);
    expect(invalidIn(desired)).toEqual(['b']);
    expect(desired.units.get('stack-instance/b')?.servers.get('y')?.spec.dependsOn).toEqual([]);
  });

  test('refuses the same instance if all files are read again', () => {
    const repository = stacksRepository(false);
    repository.commit(filesOf({ a: one('x', 'y'), b: one('y') }));
    expect(invalidIn(repository.commit(filesOf({ b: one('y', 'x') })))).toEqual(['b']);
  });

  test('of three servers is printed as a whole', () => {
    const desired = follow({ a: one('x', 'y'), b: one('y', 'z'), c: one('z', 'x') });
    expect(desired.problems[0]?.message).toBe('dependencies go in a circle: x → y → z → x');
    expect(invalidIn(desired)).toEqual(['a', 'b', 'c']);
  });

  test('refuses the instances that depend on it, but not those it depends on', () => {
    const desired = follow(
      { a: one('x', 'y'), b: two('y', 'free'), c: one('z') },
      { d: one('w', 'x'), e: one('v', 'w') },
    );
    expect(ownersIn(desired)).toEqual(['free: b', 'v: e', 'w: d', 'x: a', 'y: b', 'z: c']);
    const after = follow({ a: one('x', 'y'), b: one('y', 'x'), d: one('w', 'x'), z: one('z') });
    expect(ownersIn(after)).toEqual(['z: z']);
    expect(after.problems.find(({ instances }) => instances?.includes('d'))).toMatchObject({
      code: 'dependency_waits',
      severity: 'warning',
      message: '"w" depends on "x", a server of "a", which cannot become active',
    });
  });
});

describe('a dependency on a server of an invalid instance', () => {
  const MISSPELT = 'stackTemplate: oen\nparameters: { name: db, needs: "" }\n';

  function saidOf(desired: DesiredState): string[] {
    return desired.problems.map(({ severity, code, file }) => `${severity} ${code} ${file.split('/').at(-1)}`);
  }

  test('is a warning if the servers of that instance are unknown', () => {
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

  test('is an error if the active version of that instance has no such server', () => {
    const desired = follow({ b: one('db') }, { a: one('web', 'other'), b: MISSPELT });
    expect(saidOf(desired)).toEqual(['error unknown_dependency a.yaml', 'error unknown_template b.yaml']);
  });

  test('names the first of many invalid instances', () => {
    const wrong = Array.from({ length: 7 }, (_, index) => [`w${index}`, MISSPELT]);
    const desired = follow({ a: one('web', 'db'), ...Object.fromEntries(wrong) });
    expect(desired.problems[0]?.message).toBe(
      '"web" depends on "db", which may be a server of "w0", "w1", "w2", "w3", "w4" or 2 more, which are wrong',
    );
  });
});

describe('active versions that clash', () => {
  test('lead to the refusal of one, which keeps its servers', () => {
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

describe('a clientcert with the name of a server that was never active', () => {
  const LAB = { 'types/clientcert/lab.yaml': 'ip: 192.0.2.1\n' };

  test.each([
    ['is refused', { a: one('web'), b: two('lab', 'web') }],
    ['is invalid', { b: one('lab', 'nobody') }],
  ])('is hand-written if the instance %s', (_what, instances) => {
    const repository = stacksRepository();
    repository.commit({ ...LAB, ...filesOf({ a: one('web') }) });
    const desired = repository.commit(filesOf(instances));
    expect(invalidIn(desired)).toEqual(['b']);
    expect(desired.units.has('clientcert/lab')).toBe(true);
  });

  test('belongs to the server when its instance becomes active', () => {
    const repository = stacksRepository();
    repository.commit({ ...LAB, ...filesOf({ b: two('lab', 'lab') }) });
    const desired = repository.commit(filesOf({ b: one('lab') }));
    expect(desired.units.has('clientcert/lab')).toBe(false);
    expect(ownersIn(desired)).toEqual(['lab: b']);
  });
});

describe('an exception while one file is built', () => {
  test('makes only that unit invalid, and the next commit tries again', () => {
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
