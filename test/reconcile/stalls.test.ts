// Instances that only an operator can bring on: their status says what is wrong, and not that they are under way.

import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/model/state.ts';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';

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
  await core.follow({ ...TREE, ...files });
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

describe('an instance whose other servers wait', () => {
  const CHAIN = { db: 'size: small', app: 'depends_on: db', web: 'depends_on: app' };

  it('for a failed server is Failed', async () => {
    const core = await coreOn(stack('shop', CHAIN), {}, failing('create', 'shop-db'));
    expect(core.states()).toEqual({ 'shop-db': 'failed', 'shop-app': 'pending', 'shop-web': 'pending' });
    expect(statuses(core)).toEqual({ shop: 'Failed' });
  });

  it('for a failed server of another instance is Failed, and for a suspended one Blocked', async () => {
    const core = new Core({ budget: MANY });
    core.source.commit({ ...TREE, ...stack('data', { db: 'size: small' }) });
    core.provider.script = failing('create', 'data-db');
    await core.poll();
    await core.follow(stack('shop', { web: 'depends_on: data-db' }));
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
});

describe('a rollout', () => {
  it('whose next member is blocked is Blocked', async () => {
    const guarded = (size: string): Files => ({
      ...group(size),
      'stacks/instances/g.yaml': 'stackTemplate: g\nprotected: true\n',
    });
    const core = await coreOn(guarded('small'));
    core.provider.script = (call) => (call.operation === 'update' ? Promise.resolve(answerOf('replace')) : undefined);
    await core.follow(guarded('large'));
    expect(Object.values(core.states()).sort()).toEqual(['blocked', 'pending', 'pending', 'pending']);
    expect(statuses(core)).toEqual({ g: 'Blocked' });
  });
});
