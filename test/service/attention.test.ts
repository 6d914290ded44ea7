// Tests what needs a person: each cause is one item, whatever it concerns, and what waits for it is none.

import { describe, expect, it } from 'vitest';
import { finish } from '../../src/base/steps.ts';
import type { Client } from '../../src/model/objects.ts';
import type { AttentionItem, Overview } from '../../src/service/operate/answers.ts';
import { answerOf } from '../reconcile/build.ts';
import { Core, type CoreOptions } from '../reconcile/core.ts';

const TREE = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\ndescription: Ada\n',
};
const MANY = { percent: 100, least: 100, most: 100 };
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const NO_SERVERS = { count: 0, examples: [] };

type Files = Readonly<Record<string, string>>;
type Script = Core['provider']['script'];

function stack(name: string, count = 1, properties = ''): Files {
  const member = `resource_def: { properties: { name: "${name}-<<index>>", ${properties} } }`;
  return {
    [`stacks/templates/${name}.yaml`]: `resources:
  web: { type: Platform::ResourceGroup, properties: { count: "${count}", max_unavailable: "100%", ${member} } }
`,
    [`stacks/instances/${name}.yaml`]: `stackTemplate: ${name}\n`,
  };
}

async function coreOn(files: Files, script: Script = () => undefined, options: CoreOptions = {}): Promise<Core> {
  const core = new Core({ budget: MANY, ...options });
  core.provider.script = script;
  core.source.commit({ ...TREE, ...files });
  await core.poll();
  return core;
}

function overview(core: Core, by: Client = core.order.by): Overview {
  return finish(core.operator.overview(by));
}

function attention(core: Core, by?: Client): readonly AttentionItem[] {
  return overview(core, by).attention;
}

function ids(core: Core): readonly string[] {
  return attention(core).map(({ id }) => id);
}

const failing: Script = ({ operation }) =>
  operation === 'create' ? Promise.resolve(answerOf('failed', { message: 'no such image' })) : undefined;

describe('what needs a person', () => {
  it('is nothing where all is done, or goes on by itself', async () => {
    const core = await coreOn(stack('shop', 2));
    expect(ids(core)).toEqual([]);
    core.provider.script = () => Promise.resolve(answerOf('retryable', { message: 'busy' }));
    core.source.commit(stack('shop', 2, 'size: large'));
    await core.poll();
    expect(overview(core).counts).toEqual({ retrying: 2 });
    expect(ids(core)).toEqual([]);
  });

  it('is one item for all servers of an instance that failed, and none for those that wait for them', async () => {
    const web = stack('web', 3, 'depends_on: shop-1');
    const core = await coreOn({ ...stack('shop', 12), ...web }, failing);
    expect(attention(core)).toEqual([
      {
        ...{ id: 'failed:shop', kind: 'failed', instances: ['shop'], acknowledged: null },
        servers: { count: 12, examples: ['shop-1', 'shop-10', 'shop-11', 'shop-12', 'shop-2'] },
        reason: 'shop-1 is failed: action_failed: create: no such image; others: 11',
        ...{ since: expect.stringMatching(MOMENT), action: 'correct that, then push, or: treeline retry shop' },
      },
    ]);
  });

  it('is the same item until the servers have succeeded, whatever they do meanwhile', async () => {
    const core = await coreOn(stack('shop', 2), failing);
    const answer = Promise.withResolvers<void>();
    core.provider.script = () => answer.promise.then(() => answerOf('done'));
    await core.operator.retry({ ...core.order }, { instance: 'shop' });
    await core.settle();
    expect(attention(core)).toMatchObject([{ id: 'failed:shop', servers: { count: 2 } }]);
    answer.resolve();
    await core.settle();
    expect(ids(core)).toEqual([]);
  });

  it('is one item for each kind of an instance, in the order of kinds', async () => {
    const core = await coreOn({ ...stack('app'), ...stack('shop', 3) }, (call, servers) => {
      if (call.resource === 'shop-1') return failing(call, servers);
      return call.resource === 'shop-3' ? Promise.resolve(answerOf('done')) : undefined;
    });
    expect(attention(core).map(({ id, action }) => [id, action])).toEqual([
      ['failed:shop', 'correct that, then push, or: treeline retry --resource shop-1'],
      ['blocked:shop', 'treeline adopt --resource shop-3'],
    ]);
  });

  it('is one item for all instances that one file stops', async () => {
    const other = { 'stacks/instances/other.yaml': 'stackTemplate: shop\n' };
    const core = await coreOn({ ...stack('shop'), ...other, ...stack('app') });
    core.source.commit({ 'stacks/templates/shop.yaml': 'resources: { web: { type: Platform::Serve } }\n' });
    await core.poll();
    const [item, ...others] = attention(core);
    expect(others).toEqual([]);
    expect(item).toMatchObject({
      ...{ id: 'invalid:stacks/templates/shop.yaml', instances: ['other', 'shop'], servers: NO_SERVERS, since: null },
      reason: expect.stringMatching(
        /^the newest version of 2 instances is wrong: stacks\/templates\/shop\.yaml:1:\d+: /,
      ),
      action: 'correct stacks/templates/shop.yaml, and push',
    });
    const proxy: Client = { ...core.order.by, role: 'proxy' };
    expect(attention(core, proxy)[0]?.reason).toContain('only administrators and automation endpoints are shown');
  });

  it('is what waits for an approval', async () => {
    const core = await coreOn({ ...stack('app'), ...stack('shop', 8) }, undefined, {
      budget: { percent: 0, least: 2, most: 2 },
    });
    core.source.commit(stack('shop', 1));
    await core.poll();
    const [held] = core.operator.held();
    expect(attention(core)).toEqual([
      {
        ...{ id: 'held:shop', kind: 'held', instances: ['shop'], since: held?.since, reason: held?.reason },
        servers: { count: 7, examples: ['shop-2', 'shop-3', 'shop-4', 'shop-5', 'shop-6'] },
        ...{ action: `treeline approve ${held?.digest}`, acknowledged: null },
      },
    ]);
  });

  it('is a commit that is not followed, and what fails outside; a proxy is not told of the latter', async () => {
    const core = await coreOn(stack('shop'));
    core.source.commit({ 'tree.yaml': 'name: [global]\n' });
    await core.poll();
    core.statusFailure = { reason: 'it answers 500', since: '2026-11-20T10:00:00.000Z' };
    expect(attention(core)).toMatchObject([
      { id: 'commit:wrong', instances: [], servers: NO_SERVERS, action: 'treeline problems; correct that, then push' },
      {
        id: 'statuses:unsent',
        reason: 'commit statuses are not sent: it answers 500',
        since: core.statusFailure.since,
      },
    ]);
    const proxy: Client = { ...core.order.by, role: 'proxy' };
    expect(attention(core, proxy).map(({ id }) => id)).toEqual(['commit:wrong']);
  });
});
