// Tests the rows of objects that are not at their newest version, and that a restart computes the same rows.
import { describe, expect, it } from 'vitest';
import type { Safety } from '../../src/desired/admit.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { pinnedRows } from '../../src/follow/object-rows.ts';
import { deletionFacts, removalsOf } from '../desired/facts.ts';
import { instanceFile, one, stacksRepository, two, WRONG } from '../desired/stacks.ts';
import { Core } from '../reconcile/core.ts';

type Instances = Readonly<Record<string, string | null>>;

const STRICT: Safety = { deletions: deletionFacts({ limit: 0 }) };

function desiredAfter(...commits: readonly Instances[]): DesiredState {
  const repository = stacksRepository();
  const desiredStates = commits.map((instances) => {
    const files = Object.entries(instances).map(([name, text]) => [instanceFile(name), text]);
    return repository.commit(Object.fromEntries(files), { safety: STRICT });
  });
  const last = desiredStates.at(-1);
  if (last === undefined) throw new Error('no commit');
  return last;
}

describe('object rows record', () => {
  const protectedA = `${two('x', 'y')}protected: true\n`;

  it.each<[name: string, commits: readonly Instances[], pinned: Readonly<Record<string, string | null>>]>([
    ['nothing if all objects are active at their newest version', [{ a: one('x') }, { a: two('x', 'y') }], {}],
    ['an invalid instance', [{ a: one('x') }, { a: WRONG }], { a: 'commit 2' }],
    ['a new invalid instance, without a commit', [{ a: WRONG }], { a: null }],
    ['a held instance', [{ a: two('x', 'y') }, { a: one('x') }], { a: 'commit 2' }],
    ['a held instance whose file is removed', [{ a: one('x'), b: one('y') }, { a: null }], { a: 'commit 2' }],
    ['a refused protected instance', [{ a: protectedA }, { a: one('x') }], { a: 'commit 2' }],
    [
      'a refused protected instance whose file is removed',
      [{ a: protectedA, b: one('z') }, { a: null }],
      { a: 'commit 2' },
    ],
    [
      'an instance with a removed file that waits to hand a server over',
      [
        { a: one('x'), c: one('z') },
        { a: null, b: one('x', 'nobody') },
      ],
      { a: 'commit 2', b: null },
    ],
  ])('%s', (_name, commits, pinned) => {
    const rows = [...pinnedRows(desiredAfter(...commits))];
    const commitsOf = rows.map(([address, { commit }]) => [address.slice('stack-instance/'.length), commit]);
    expect(Object.fromEntries(commitsOf)).toEqual(pinned);
  });

  it('no instance that is held at its newest version', () => {
    const repository = stacksRepository();
    repository.commit({ [instanceFile('a')]: one('x') });
    const facts = { underWay: new Map([['a', removalsOf('w')]]), limit: 0 };
    const desired = repository.commit({}, { safety: { ...STRICT, deletions: deletionFacts(facts) } });
    expect([...desired.held.keys()]).toEqual(['a']);
    expect(pinnedRows(desired).size).toBe(0);
  });
});

describe('after a restart', () => {
  const FILES = {
    'tree.yaml': 'name: global\ntype: common\n',
    'clients/A1.yaml': 'role: administrator\n',
    'stacks/templates/one.yaml':
      'parameters: { name: "" }\nresources: { s: { type: "Platform::Server", properties: { name: "<<name>>" } } }\n',
    [instanceFile('other')]: 'stackTemplate: one\nparameters: { name: o }\n',
  };
  const a = 'stackTemplate: one\nparameters: { name: x }\n';

  it.each<[name: string, before: string, after: Readonly<Record<string, string | null>>, status: string]>([
    ['is held', a, { [instanceFile('a')]: null }, 'Awaiting approval'],
    ['is protected', `${a}protected: true\n`, { [instanceFile('a')]: null }, 'Invalid'],
    [
      'waits to hand its server over',
      a,
      { [instanceFile('a')]: null, [instanceFile('b')]: 'stackTemplate: nobody\nparameters: { name: x }\n' },
      'Awaiting approval',
    ],
  ])('an instance whose file is removed still %s', async (_name, before, after, status) => {
    const core = await Core.following(
      { ...FILES, [instanceFile('a')]: before },
      { budget: { percent: 0, least: 0, most: 0 } },
    );
    await core.follow(after);
    expect(core.reader.status('a')).toBe(status);
    const again = await core.restart({ budget: { percent: 100, least: 9, most: 9 } });
    await again.follow({ 'README.md': 'again' });
    expect(again.reader.status('a')).toBe(status);
    expect(again.states()).toEqual({ o: 'done', x: 'done' });
    expect(again.calls('delete')).toEqual([]);
  });
});
