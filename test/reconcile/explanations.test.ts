// Explanations by a controller: with outputs, of pinned and unwanted servers, and of what an approval would change.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeExplanation } from '../../src/model/explanation.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';

const SHOP = 'stacks/instances/shop.yaml';
const OTHER = 'stacks/instances/other.yaml';
const TEMPLATE = `parameters: { count: "1", level: "" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { level: "<<level>>", role: web } } }
`;

function instance(count: number, level = 'info'): string {
  return `stackTemplate: t\nparameters:\n  count: "${count}"\n  level: ${level}\n`;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'types/common/global.yaml': 'level: error\nzone_file: a\n',
  'types/role/web.yaml': 'port: 80\n',
  'stacks/templates/t.yaml': TEMPLATE,
  [SHOP]: instance(4),
  [OTHER]: instance(1),
};

async function up(): Promise<Core> {
  const core = new Core();
  core.source.commit(FILES);
  await core.poll();
  return core;
}

/** A commit that takes three of four servers of `shop` and sets its level, and changes the port of all web servers. */
async function held(): Promise<Core> {
  const core = await up();
  core.source.commit({ [SHOP]: instance(1, 'debug'), 'types/role/web.yaml': 'port: 443\n' });
  await core.poll();
  expect(core.held('shop')?.resources).toHaveLength(3);
  return core;
}

function placesIn({ keys, files }: NodeExplanation, key: string): readonly unknown[] {
  return (keys[key]?.statements ?? []).map(({ value, effect, at, suppliedAt }) => {
    const place = suppliedAt ?? at;
    return [value, effect, place === null ? null : `${place.file}:${place.line}`, files[place?.file ?? '']?.commit];
  });
}

/** The record of a node as the approval is told to leave it; null where the node goes. */
async function recordAfter(
  core: Core,
  digest: string,
  node: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  const { from, to, changes } = await core.explainer.explainApproval(digest, node).catch(goneAlready);
  if (to === null) return null;
  const before = from === null ? {} : core.reader.record(node);
  const after: Record<string, unknown> = { ...before };
  for (const change of changes) {
    if (change.to === null || change.to.value === null) delete after[change.key];
    else after[change.key] = change.to.value;
  }
  delete after.last_stack_update;
  return after;
}

/** A server that is on its way out already has a record, and no commit wants it with or without the approval. */
function goneAlready(error: unknown): { from: null; to: null; changes: [] } {
  if (error instanceof ServiceError && error.code === 'not_found') return { from: null, to: null, changes: [] };
  throw error;
}

async function recordNow(core: Core, node: string): Promise<Readonly<Record<string, unknown>> | null> {
  const isWanted = await core.explainer.explain(node).then(
    (explained) => explained.isWanted,
    () => false,
  );
  if (!isWanted) return null;
  const { last_stack_update: _, ...record } = core.reader.record(node);
  return record;
}

describe('an explanation by a controller', () => {
  it('has what every layer says, and the commit that changed its file last', async () => {
    const core = await up();
    core.source.commit({ 'types/common/global.yaml': 'zone_file: a\nlevel: fatal\n' });
    core.source.commit({ [OTHER]: instance(2) });
    await core.poll();
    const explained = await core.explainer.explain('shop-s-1', 'level');
    expect(explained).toMatchObject({ node: 'shop-s-1', commit: 'commit-3', isWanted: true, stackInstance: ['shop'] });
    expect(placesIn(explained, 'level')).toEqual([
      ['info', 'used', `${SHOP}:4`, 'commit-1'],
      ['fatal', 'overridden', 'types/common/global.yaml:2', 'commit-2'],
    ]);
    expect(Object.keys(explained.keys)).toEqual(['level']);
    const whole = await core.explainer.explain('shop-s-1');
    expect(whole.keys.level).toEqual(explained.keys.level);
    expect(Object.keys(whole.keys)).toEqual(Object.keys(core.reader.record('shop-s-1')));
  });

  it('has what a provider reported', async () => {
    const core = new Core();
    core.provider.script = (call) => {
      const outputs = { address: '10.0.0.1' };
      return call.operation === 'create' ? Promise.resolve({ ...core.provider.act(call), outputs }) : undefined;
    };
    core.source.commit(FILES);
    await core.poll();
    const { layers, keys } = await core.explainer.explain('shop-s-1', 'address');
    expect(keys.address?.statements.map(({ layer, at }) => [layers[layer]?.kind, at])).toEqual([['outputs', null]]);
  });

  it('of an instance that is held is of its active commit', async () => {
    const core = await held();
    const explained = await core.explainer.explain('shop-s-1', 'port');
    expect(explained).toMatchObject({ commit: 'commit-1', keys: { port: { value: 80 } } });
    expect((await core.explainer.explain('other-s-1', 'port')).keys.port?.value).toBe(443);
  });

  it('of a server that no commit wants any more is of its last record', async () => {
    const core = await held();
    core.provider.script = ({ operation }) =>
      operation === 'delete' ? Promise.resolve(answerOf('retryable', { message: 'busy' })) : undefined;
    await core.approve(core.held('shop')?.digest ?? '');
    await core.poll();
    const explained = await core.explainer.explain('shop-s-4', 'level');
    expect(explained).toMatchObject({ commit: null, isWanted: false, keys: { level: { value: 'info' } } });
    expect(placesIn(explained, 'level')).toEqual([
      ['info', 'used', 'stacks/templates/t.yaml:5', null],
      ['error', 'overridden', 'types/common/global.yaml:1', null],
    ]);
  });

  it.each([
    ['web-1', undefined, /^There is no node "web-1"/],
    ['shop-s-11', undefined, 'There is no node "shop-s-11"; did you mean "shop-s-1"?'],
    ['shop-s-1', 'prot', 'The record of "shop-s-1" has no key "prot"; did you mean "port"?'],
    ['shop-s-1', '__proto__', /^The record of "shop-s-1" has no key "__proto__"/],
  ])('of %s %s is refused', async (node, key, message) => {
    const core = await up();
    await expect(core.explainer.explain(node, key)).rejects.toMatchObject({
      code: 'not_found',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });
});

describe('what an approval would change', () => {
  it('is what the approval then changes', async () => {
    const core = await held();
    const digest = core.held('shop')?.digest ?? '';
    const effect = await core.explainer.explainApproval(digest, 'shop-s-1');
    expect(effect).toMatchObject({
      held: { kind: 'deletes', digest, instance: 'shop' },
      from: { commit: 'commit-1' },
      to: { commit: 'commit-2' },
    });
    expect(effect.changes.map(({ key, from, to }) => [key, from?.value, to?.value])).toEqual([
      ['level', 'info', 'debug'],
      ['port', 80, 443],
    ]);
    expect(placesIn({ ...effect.to, keys: { level: effect.changes[0]?.to } } as NodeExplanation, 'level')[0]).toEqual([
      'debug',
      'used',
      `${SHOP}:4`,
      'commit-2',
    ]);
    expect((await core.explainer.explainApproval(digest, 'shop-s-1', 'port')).changes).toHaveLength(1);
    await core.approve(digest);
    await core.poll();
    expect(core.reader.record('shop-s-1')).toMatchObject({ level: 'debug', port: 443 });
  });

  it('is what the approval then changes, whatever is held beside it', async () => {
    const step = fc.array(
      fc.record({ name: fc.constantFrom('a', 'b', 'c'), count: fc.nat({ max: 5 }), isGone: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    let approved = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 4 }), fc.nat({ max: 5 }), async (steps, choice) => {
        const core = await up();
        for (const [number, changes] of steps.entries()) {
          const texts = changes.map(({ name, count, isGone }) => {
            const isRemoved = isGone && number > 0;
            return [`stacks/instances/${name}.yaml`, isRemoved ? null : instance(count, `level-${number}`)] as const;
          });
          core.source.commit(Object.fromEntries(texts));
          await core.poll();
        }
        const items = core.operator.held().filter(({ kind }) => kind === 'deletes');
        const digest = items[choice % items.length]?.digest;
        if (digest === undefined) return;
        approved += 1;
        const nodes = core.reader.nodes().map(({ name }) => name);
        const told = new Map<string, Readonly<Record<string, unknown>> | null>();
        for (const node of nodes) told.set(node, await recordAfter(core, digest, node));
        await core.approve(digest);
        await core.poll();
        for (const node of nodes) expect(await recordNow(core, node), node).toEqual(told.get(node));
      }),
      { numRuns: 40 },
    );
    expect(approved).toBeGreaterThan(5);
  });

  it('of a server that goes is the end of its record', async () => {
    const core = await held();
    const digest = core.held('shop')?.digest ?? '';
    const effect = await core.explainer.explainApproval(digest, 'shop-s-4', 'level');
    expect(effect).toMatchObject({ from: { node: 'shop-s-4' }, to: null });
    expect(effect.changes).toMatchObject([{ key: 'level', from: { value: 'info' }, to: null }]);
  });

  it('of a node of another instance is nothing', async () => {
    const core = await held();
    const effect = await core.explainer.explainApproval(core.held('shop')?.digest ?? '', 'other-s-1');
    expect(effect.changes).toEqual([]);
  });

  it('is not told for what is not held, nor for a whole commit', async () => {
    const core = await held();
    await expect(core.explainer.explainApproval('beef', 'shop-s-1')).rejects.toMatchObject({ code: 'not_found' });
    const digest = core.held('shop')?.digest ?? '';
    await expect(core.explainer.explainApproval(digest, 'shop-s-9')).rejects.toMatchObject({ code: 'not_found' });
    await expect(core.explainer.explainApproval(digest, 'shop-s-1', 'prot')).rejects.toMatchObject({
      code: 'not_found',
    });
    core.source.commit({ [SHOP]: null, [OTHER]: null });
    await core.poll();
    const commit = core.operator.held().find(({ kind }) => kind === 'nothing left')?.digest ?? '';
    await expect(core.explainer.explainApproval(commit, 'shop-s-1')).rejects.toMatchObject({ code: 'conflict' });
  });
});
