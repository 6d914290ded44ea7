// Instances that only a person can bring on: their status says what is wrong, and not that they are under way.

import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/model/state.ts';
import { untilAborted } from '../support/scripted-provider.ts';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';
import { buildByHand } from './shop.ts';

const TREE = { 'tree.yaml': 'name: global\ntype: common\n', 'clients/A1.yaml': 'role: administrator\n' };
const MANY = { percent: 100, least: 100, most: 100 };

type Files = Readonly<Record<string, string>>;

/** A stack of its own: a template and the instance of that name. */
function stack(name: string, resources: Readonly<Record<string, string>>): Files {
  const lines = Object.entries(resources).map(
    ([key, properties]) =>
      `  ${key}: { type: "Platform::Server", properties: { name: ${name}-${key}, ${properties} } }\n`,
  );
  return {
    [`stacks/templates/${name}.yaml`]: `resources:\n${lines.join('')}`,
    [`stacks/instances/${name}.yaml`]: `stackTemplate: ${name}\n`,
  };
}

function group(size: string, count = 4, maxUnavailable = '1'): Files {
  return {
    'stacks/templates/g.yaml': `resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "${count}"
      max_unavailable: "${maxUnavailable}"
      resource_def: { properties: { size: ${size} } }
`,
    'stacks/instances/g.yaml': 'stackTemplate: g\n',
  };
}

async function coreOn(files: Files, options: CoreOptions = {}, script?: Core['provider']['script']): Promise<Core> {
  const core = new Core({ budget: MANY, ...options });
  if (script !== undefined) core.provider.script = script;
  core.source.commit({ ...TREE, ...files });
  await core.poll();
  return core;
}

function failing(operation: Operation, ...servers: readonly string[]): Core['provider']['script'] {
  return (call) =>
    call.operation === operation && servers.includes(call.resource)
      ? Promise.resolve(answerOf('failed', { message: 'bad image' }))
      : undefined;
}

function statuses(core: Core): Readonly<Record<string, string>> {
  return Object.fromEntries(core.reader.instances().map(({ name }) => [name, core.reader.status(name)]));
}

describe('an instance of which the rest waits', () => {
  const CHAIN = { db: 'size: small', app: 'depends_on: db', web: 'depends_on: app' };

  it('for a server that failed is Failed', async () => {
    const core = await coreOn(stack('shop', CHAIN), {}, failing('create', 'shop-db'));
    expect(core.states()).toEqual({ 'shop-db': 'failed', 'shop-app': 'pending', 'shop-web': 'pending' });
    expect(statuses(core)).toEqual({ shop: 'Failed' });
  });

  it('for a server that is blocked is Blocked', async () => {
    const core = new Core({ budget: MANY });
    core.source.commit({ ...TREE, ...stack('shop', { db: 'size: small' }) });
    await core.poll();
    buildByHand(core, 'shop-app');
    core.source.commit(stack('shop', CHAIN));
    await core.poll();
    expect(core.states()).toMatchObject({ 'shop-db': 'done', 'shop-app': 'blocked', 'shop-web': 'pending' });
    expect(statuses(core)).toEqual({ shop: 'Blocked' });
  });

  it('is In progress while anything of it can still go on', async () => {
    const more = { ...CHAIN, other: 'size: small' };
    const core = await coreOn(stack('shop', more), {}, (call, signal) =>
      call.resource === 'shop-other' && call.operation === 'create'
        ? untilAborted(signal)
        : failing('create', 'shop-db')(call, signal),
    );
    expect(core.states()).toMatchObject({ 'shop-db': 'failed', 'shop-other': 'creating' });
    expect(statuses(core)).toEqual({ shop: 'In progress' });
  });

  it('for a server of another instance that failed is Failed, and Blocked where that one is suspended', async () => {
    const core = new Core({ budget: MANY });
    core.source.commit({ ...TREE, ...stack('data', { db: 'size: small' }) });
    core.provider.script = failing('create', 'data-db');
    await core.poll();
    core.source.commit(stack('shop', { web: 'depends_on: data-db' }));
    await core.poll();
    expect(statuses(core)).toEqual({ data: 'Failed', shop: 'Failed' });
    await core.operator.suspend(core.order, { instance: 'data', until: null });
    core.provider.script = () => undefined;
    await core.operator.retry(core.order, { instance: 'data' });
    await core.settle();
    expect(statuses(core)).toEqual({ data: 'Suspended', shop: 'Blocked' });
    await core.operator.resume(core.order, 'data');
    await core.settle();
    expect(statuses(core)).toEqual({ data: 'Done', shop: 'Done' });
  });

  it('for a retry at a known time is In progress', async () => {
    const core = await coreOn(stack('shop', CHAIN), {}, (call) =>
      call.operation === 'create' ? Promise.resolve(answerOf('retryable')) : undefined,
    );
    expect(core.states()).toMatchObject({ 'shop-db': 'retrying' });
    expect(statuses(core)).toEqual({ shop: 'In progress' });
  });
});

describe('a delete that waits', () => {
  it('for a holder that failed leaves the instance Failed', async () => {
    const both = stack('shop', { db: 'size: small', web: 'size: small, depends_on: db' });
    const core = await coreOn(both);
    core.provider.script = failing('update', 'shop-web');
    core.source.commit(stack('shop', { web: 'size: large' }));
    await core.poll();
    expect(core.states()).toEqual({ 'shop-db': 'marked for delete', 'shop-web': 'failed' });
    expect(statuses(core)).toEqual({ shop: 'Failed' });
  });
});

describe('a roll-out', () => {
  it('that stopped at a member that failed is Failed', async () => {
    const core = await coreOn(group('small'));
    core.provider.script = (call) => (call.operation === 'update' ? Promise.resolve(answerOf('failed')) : undefined);
    core.source.commit(group('large'));
    await core.poll();
    expect(Object.values(core.states()).sort()).toEqual(['failed', 'pending', 'pending', 'pending']);
    expect(statuses(core)).toEqual({ g: 'Failed' });
  });

  it('that goes on is In progress', async () => {
    const core = await coreOn(group('small'));
    core.provider.script = (call, signal) => (call.operation === 'update' ? untilAborted(signal) : undefined);
    core.source.commit(group('large'));
    await core.poll();
    expect(Object.values(core.states()).sort()).toEqual(['pending', 'pending', 'pending', 'updating']);
    expect(statuses(core)).toEqual({ g: 'In progress' });
  });

  it('of which the member whose turn it is is blocked is Blocked', async () => {
    const guarded = (size: string): Files => ({
      ...group(size),
      'stacks/instances/g.yaml': 'stackTemplate: g\nprotected: true\n',
    });
    const core = await coreOn(guarded('small'));
    core.provider.script = (call) => (call.operation === 'update' ? Promise.resolve(answerOf('replace')) : undefined);
    core.source.commit(guarded('large'));
    await core.poll();
    expect(Object.values(core.states()).sort()).toEqual(['blocked', 'pending', 'pending', 'pending']);
    expect(statuses(core)).toEqual({ g: 'Blocked' });
  });

  it('that too many failures of its commit hold is Failed also where none of its own failed', async () => {
    const six = (size: string): Files =>
      Object.assign({}, ...Array.from({ length: 6 }, (_, index) => stack(`s${index}`, { a: `size: ${size}` })));
    const core = await coreOn(six('small'), { concurrency: 1 });
    core.provider.script = (call) => (call.operation === 'update' ? Promise.resolve(answerOf('failed')) : undefined);
    core.source.commit(six('large'));
    await core.poll();
    expect(Object.values(core.states())).toContain('pending');
    expect(new Set(Object.values(statuses(core)))).toEqual(new Set(['Failed']));
  });
});
