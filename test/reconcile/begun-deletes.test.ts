// Tests what counts against the delete budget, and since when: deletes that have begun, that are wanted again, that begin
// while a commit is read, and servers that were never made.

import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';

const TEMPLATE = `parameters: { count: "1", size: "small" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", max_unavailable: "100%", resource_def: { properties: { size: "<<size>>" } } }
`;

function stack(name: string, count: number, more = ''): Readonly<Record<string, string>> {
  return { [`stacks/instances/${name}.yaml`]: `stackTemplate: t\nparameters: { count: "${count}" }\n${more}` };
}

function enlarged(name: string, count: number): Readonly<Record<string, string>> {
  return { [`stacks/instances/${name}.yaml`]: `stackTemplate: t\nparameters: { count: "${count}", size: large }\n` };
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': TEMPLATE,
};

/** A desired state of four instances with three servers each; two servers may go without a yes. */
async function up(options: CoreOptions = {}): Promise<Core> {
  const core = await Core.following(
    { ...FILES, ...stack('a', 3), ...stack('b', 3), ...stack('c', 3), ...stack('d', 3) },
    options,
  );
  expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  return core;
}

/** Lets no delete end until the returned function is called; each is carried out then. */
function slowDeletes(core: Core): () => Promise<void> {
  const end = Promise.withResolvers<void>();
  core.provider.script = (call) =>
    call.operation === 'delete' ? end.promise.then((): Answer => core.provider.act(call)) : undefined;
  return async () => {
    end.resolve();
    await core.settle();
  };
}

async function commit(core: Core, ...files: readonly Readonly<Record<string, string | null>>[]): Promise<void> {
  await core.follow(Object.assign({}, ...files));
}

describe('a delete that has begun', () => {
  it('counts for an hour, although its server is wanted again', async () => {
    const core = await up();
    const end = slowDeletes(core);
    await commit(core, stack('a', 1));
    expect(core.calls('delete')).toEqual(['a-s-2', 'a-s-3']);
    await commit(core, stack('a', 3), stack('b', 1));
    await commit(core, stack('b', 3), stack('c', 1));
    expect(core.calls('delete')).toEqual(['a-s-2', 'a-s-3']);
    expect(core.held('c')).toMatchObject({
      resources: ['c-s-2', 'c-s-3'],
      reason: expect.stringContaining('2 were within the last hour'),
    });
    const again = await core.restart();
    await again.poll();
    expect(again.held('c')?.resources).toEqual(['c-s-2', 'c-s-3']);
    await end();
  });

  it.each([
    { number: 2, held: [], words: 'counts no more' },
    { number: 1, held: ['b'], words: 'counts all the same, as more would go,' },
  ])('$words if a trailer for $number comes before its server is wanted again', async ({ number, held }) => {
    const core = await up();
    slowDeletes(core);
    await commit(core, stack('a', 1));
    core.source.commit({ 'README.md': 'x' }, { message: `Fewer\n\nTreeline-Approve-Deletes: ${number}\n` });
    await core.poll();
    await commit(core, stack('a', 3));
    await commit(core, stack('b', 1));
    expect(core.operator.held().map(({ instance }) => instance)).toEqual(held);
  });
});

describe('a delete that begins while a commit is read', () => {
  it('counts when the commit is judged', async () => {
    const core = await up();
    const asked = Promise.withResolvers<Answer>();
    core.provider.script = ({ operation }) => (operation === 'update' ? asked.promise : undefined);
    core.source.commit({ ...enlarged('a', 2), ...enlarged('d', 3) }, { message: 'x\n\nTreeline-Approve-Deletes: 1\n' });
    await core.poll();
    const snapshot = core.source.snapshot.bind(core.source);
    const read = Promise.withResolvers<void>();
    core.source.snapshot = async (...args) => {
      const answer = await snapshot(...args);
      await read.promise;
      return answer;
    };
    await commit(core, stack('b', 2), stack('c', 2));
    asked.resolve(answerOf('replace'));
    await core.settle();
    read.resolve();
    await core.settle();
    expect(core.calls('delete').filter((name) => !name.startsWith('a-'))).toEqual([]);
    expect(core.operator.held().map(({ instance }) => instance)).toEqual(expect.arrayContaining(['b', 'c']));
  });
});

describe('a server that was never created', () => {
  it('is no longer held when its create has failed', async () => {
    const core = await up();
    const end = Promise.withResolvers<Answer>();
    core.provider.script = ({ operation }) => (operation === 'create' ? end.promise : undefined);
    await commit(core, stack('e', 5));
    await commit(core, { 'stacks/instances/e.yaml': null });
    expect(core.held('e')?.resources).toHaveLength(5);
    end.resolve(answerOf('failed', { message: 'no such image' }));
    await core.settle();
    expect(core.operator.held()).toEqual([]);
    expect(Object.keys(core.states())).toHaveLength(12);
    expect(core.calls('delete')).toEqual([]);
  });
});
