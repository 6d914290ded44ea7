// A standby shows what the leader shows: after any history, also one that begins late; rows first, then the desired state.
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CurrentState } from '../../src/follow/current-state.ts';
import { pinnedRows } from '../../src/follow/object-rows.ts';
import { compareNames } from '../../src/model/names.ts';
import { linkTo } from '../catalog/snapshots.ts';
import { Core } from '../reconcile/core.ts';
import { countRuns } from '../support/count-runs.ts';
import { allReads, MirrorStore, Standby } from '../support/standby.ts';
import type { TextChanges } from '../support/text-repository.ts';
import type { TextSource } from '../support/text-source.ts';

const TEMPLATE = `parameters: { prefix: x, count: "1", size: small, needs: "" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { name: "<<prefix>>-<<index>>", size: "<<size>>", depends_on: "<<needs>>", role: r } } }
`;

const START: TextChanges = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': TEMPLATE,
  'stacks/instances/a.yaml': 'stackTemplate: t\nparameters: { prefix: x, count: "4", needs: "" }\n',
  'stacks/instances/other.yaml': 'stackTemplate: t\nparameters: { prefix: other, count: "1", needs: "" }\n',
  'types/role/r.yaml': 'a: 1\n',
};

type Step =
  | { readonly kind: 'commit'; readonly files: TextChanges; readonly isSeen: boolean; readonly isPolled: boolean }
  | { readonly kind: 'approve' | 'pass' | 'restart' | 'rewrite' };

function anyStep(): fc.Arbitrary<Step> {
  const commit = fc.record({
    kind: fc.constant('commit' as const),
    files: fc.array(anyEdit(), { minLength: 1, maxLength: 3 }).map((edits) => Object.fromEntries(edits)),
    isSeen: fc.boolean(),
    isPolled: fc.integer({ min: 0, max: 3 }).map((chance) => chance > 0),
  });
  const other = fc.constantFrom('approve', 'approve', 'approve', 'pass', 'restart', 'rewrite');
  return fc.oneof({ weight: 4, arbitrary: commit }, { weight: 1, arbitrary: other.map((kind) => ({ kind }) as Step) });
}

function anyEdit(): fc.Arbitrary<[path: string, text: string | null]> {
  const texts = (...values: string[]): fc.Arbitrary<string | null> => fc.constantFrom(...values, null);
  const file = (path: string, text: fc.Arbitrary<string | null>): fc.Arbitrary<[string, string | null]> =>
    fc.tuple(fc.constant(path), text);
  const instance = fc
    .record({
      prefix: fc.constantFrom('x', 'x', 'y', 'Y', 'other'),
      count: fc.integer({ min: 0, max: 5 }),
      size: fc.constantFrom('small', 'large'),
      needs: fc.constantFrom('', '', 'x-1', 'y-1', 'other-1'),
      more: fc.constantFrom('', '', '', 'protected: true\n', 'deletion: retain\n'),
    })
    .map(
      ({ prefix, count, size, needs, more }) =>
        `stackTemplate: t\nparameters: { prefix: ${prefix}, count: "${count}", size: ${size}, needs: "${needs}" }\n${more}`,
    );
  const wrong = texts('a: b: c\n', 'stackTemplate: nowhere\n', linkTo('x'));
  const instanceFile = fc.tuple(
    fc.constantFrom('stacks/instances/a.yaml', 'stacks/instances/b.yaml', 'stacks/instances/other.yaml'),
    fc.oneof({ weight: 5, arbitrary: instance }, { weight: 2, arbitrary: wrong }),
  );
  const otherFile = fc.oneof(
    file(
      'stacks/templates/t.yaml',
      texts(TEMPLATE, TEMPLATE.replace('<<size>>', 'huge'), TEMPLATE.replace('<<index>>', '<<ind>>')),
    ),
    file('types/role/r.yaml', texts('a: 1\n', 'a: 2\n', 'a: b: c\n', linkTo('x'))),
    file('types/clientcert/y-1.yaml', texts('role: r\n', 'b: 1\n', 'b: c: d\n')),
    file('types/clientcert/lone.yaml', texts('role: r\n', 'b: 1\n', 'b: c: d\n')),
    file('hierarchy.yaml', texts('secrets: { keys: [a] }\n', 'nothing: 1\n')),
    file('clients/A1.yaml', texts('role: administrator\n', 'role: none\n')),
    file('clients/AA.yaml', texts('role: administrator\n', 'role: proxy\n', 'role: none\n')),
    file(
      'tree.yaml',
      texts('name: global\ntype: common\n', 'name: global\ntype: common\ndescription: x\n', 'name: 1\n'),
    ),
  );
  return fc.oneof({ weight: 2, arbitrary: instanceFile }, { weight: 1, arbitrary: otherFile });
}

/** A leader, and the commits that it was given. */
class Story {
  core = new Core();
  readonly commits: string[] = [];

  commit(files: TextChanges): void {
    this.commits.push(this.core.source.commit(files));
  }

  async play(step: Step): Promise<void> {
    const { core } = this;
    if (step.kind === 'commit') {
      this.commit(step.files);
      if (step.isPolled) await core.poll();
    } else if (step.kind === 'approve') {
      const [item] = core.operator.held();
      if (item !== undefined) await core.approve(item.digest);
      await core.poll();
    } else if (step.kind === 'pass') {
      await core.pass(3_700_000);
      await core.poll();
    } else if (step.kind === 'rewrite') {
      core.source.reset(this.commits.at(-2) ?? this.commits[0] ?? '');
      await core.poll();
    } else {
      this.core = await core.restart();
      await this.core.poll();
    }
    // What waited for servers that are gone since is judged again.
    if (step.kind !== 'commit' || step.isPolled) await this.core.poll();
  }
}

describe('a standby', () => {
  it('shows the same as the leader after any history, also after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep(), { maxLength: 10 }), async (steps) => {
        const story = new Story();
        story.commit(START);
        await story.core.poll();
        const { source, clock } = story.core;
        const parts = { source, clock };
        const follows = new Standby(new MirrorStore(() => story.core.store), parts);
        follows.follower.start();
        await story.core.settle();
        for (const step of steps) {
          await story.play(step);
          if (step.kind === 'commit' && !step.isSeen) continue;
          await follows.store.refresh();
          // The rows are newer than the desired state: each read has an answer.
          allReads(follows.reader);
          await follows.follower.catchUp();
          const begins = new Standby(new MirrorStore(() => story.core.store), parts);
          begins.follower.start();
          await begins.follower.catchUp();
          for (const standby of [follows, begins]) {
            expect(restOf(standby)).toEqual(restOf(story.core));
            expect(allReads(standby.reader)).toEqual(allReads(story.core.reader));
          }
          await begins.follower.stop();
        }
        await follows.follower.stop();
        await story.core.stop();
      }),
      { numRuns: countRuns(100), endOnFailure: true },
    );
  });

  it('shows rows immediately, and the desired state when it can read the commit', async () => {
    const { core, standby, source } = await started();
    source.isGone = true;
    await core.follow(shop(5));
    await expect(standby.follower.catchUp()).rejects.toThrow('the remote cannot be reached');
    expect(standby.ledger.read('head', 'head')?.commit).toBe('commit-2');
    expect(standby.current.get()?.commit).toBe('commit-1');
    await core.pass(1_000);
    expect(standby.follower.failure).toMatchObject({ reason: 'the remote cannot be reached' });
    source.isGone = false;
    await core.follow(shop(2));
    await core.pass(60_000);
    expect(standby.follower.failure).toBeUndefined();
    expect(allReads(standby.reader)).toEqual(allReads(core.reader));
  });

  it('reports how long it is behind while the database hangs', async () => {
    const { core, standby } = await started();
    await core.pass(2_000);
    const { store } = standby;
    const hanging = Promise.withResolvers<void>();
    const refresh = store.refresh.bind(store);
    store.refresh = () => hanging.promise;
    const since = new Date(core.clock.now()).toISOString();
    await core.pass(1_000);
    await core.pass(4_000);
    expect(standby.follower.failure).toBeUndefined();
    await core.pass(4_000);
    expect(standby.follower.failure).toMatchObject({ reason: expect.stringContaining('has not answered'), since });
    hanging.reject(new Error('the database does not answer in time'));
    await core.settle();
    expect(standby.follower.failure).toEqual({ reason: 'the database does not answer in time', since });
    store.refresh = refresh;
    await core.pass(1_000);
    expect(standby.follower.failure).toBeUndefined();
  });

  it('backs off while it cannot fetch a commit', async () => {
    const { core, standby, source } = await started();
    source.isGone = true;
    await core.follow(shop(2));
    const before = source.fetches;
    for (let second = 0; second < 120; second += 1) await core.pass(1_000);
    expect(source.fetches - before).toBeLessThan(10);
    expect(standby.follower.failure?.since).toBe(new Date(core.clock.now() - 120_000).toISOString());
    source.isGone = false;
    await core.pass(30_000);
    expect(standby.current.get()?.commit).toBe('commit-2');
  });

  it('reads only changed files, and derives only affected instances', async () => {
    const { core, standby, source } = await started();
    source.filesRead = 0;
    await core.follow(shop(2));
    await standby.follower.catchUp();
    expect(source.filesRead).toBe(1);
    const other = 'stack-instance/other';
    expect(standby.current.get()?.candidates.get(other)?.commit).toBe('commit-1');
  });

  it('shows nothing and holds the newest commit if the recorded head is lost', async () => {
    const first = new Core();
    await first.follow(START);
    await first.stop();
    const rewritten = first.source.commit({ ...START, ...shop(1) }, { parents: [] });
    first.source.loseCopy();
    const core = await first.restart();
    const standby = new Standby(new MirrorStore(() => core.store), { source: core.source, clock: core.clock });
    standby.follower.start();
    await core.settle();
    expect(standby.current.get()).toBeUndefined();
    // What accepting it does is asked of the leader.
    const hold = { ...core.current.refused?.hold, effect: undefined };
    expect(standby.current.refused).toMatchObject({ commit: rewritten, hold });
    expect(standby.current.refused?.reason).toBe(core.current.refused?.reason);
    expect(allReads(standby.reader)).toEqual(allReads(core.reader));
    await core.operator.acceptHistory({ ...core.order, reason: 'meant' }, rewritten);
    await core.settle();
    await core.pass(60_000);
    expect(standby.current.get()?.commit).toBe(rewritten);
    expect(allReads(standby.reader)).toEqual(allReads(core.reader));
    await standby.follower.stop();
  });
});

/** A leader at its first commit, and a standby beside it with a copy of its own. */
async function started(): Promise<{ core: Core; standby: Standby; source: TextSource }> {
  const core = await Core.following(START);
  const source = core.source.copy();
  const standby = new Standby(new MirrorStore(() => core.store), { source, clock: core.clock });
  standby.follower.start();
  await core.settle();
  expect(standby.current.get()?.commit).toBe('commit-1');
  expect(standby.follower.failure).toBeUndefined();
  onTestFinished(() => standby.follower.stop());
  return { core, standby, source };
}

function shop(count: number): TextChanges {
  return { 'stacks/instances/a.yaml': `stackTemplate: t\nparameters: { prefix: x, count: "${count}", needs: "" }\n` };
}

/** Returns what of a desired state is not in the reads, as plain data. */
function restOf({ current }: { readonly current: CurrentState }): unknown {
  const desired = current.get();
  if (desired === undefined) return undefined;
  const { units, candidates, owners, invalid, held, objects, clients, receivers, hasHierarchy, awaited } = desired;
  return {
    units: [...units].map(([key, unit]) => [key, [...unit.servers.values()], unit.nodes.size]).sort(byName),
    // As the rows tell it: one that a later commit made again in the same words is not pinned, whoever saw that commit.
    pinned: [...pinnedRows(desired)].map(([key, { commit }]) => [key, commit]).sort(byName),
    candidates: [...candidates].map(([key, { entry }]) => [key, entry.oid]).sort(byName),
    owners: [...owners].sort(byName),
    invalid: [...invalid].sort(compareNames),
    held: [...held].map(([name, { digest, removals }]) => [name, digest, removals]).sort(byName),
    // Of a clientcert that is an object and a unit, the row has the commit of the unit.
    objects: [...objects].map(([address, { entry }]) => [address, entry.oid]).sort(byName),
    clients: [...clients].map(([serial, { entry, commit }]) => [serial, entry.oid, commit]).sort(byName),
    receivers: [...receivers],
    hasHierarchy,
    awaited,
    // The place in a file that is gone is not recorded, nor what may be meant to take over its servers.
    problems: desired.problems.map(({ code, file, message, instances }) => [
      ...[code, file, code === 'unreadable_object' ? '' : message, instances],
    ]),
  };
}

function byName(a: readonly unknown[], b: readonly unknown[]): number {
  return compareNames(String(a[0]), String(b[0]));
}
