// A first start, or one after the store was lost: only versions that get along are joined, and one defect stops nobody else.

import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';
import { SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const WRONG = 'stackTemplate: one\nparameters: { needs: "" }\n';
const TEMPLATES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/one.yaml': `parameters: { name: "", needs: "" }
resources:
  server: { type: Platform::Server, properties: { name: "<<name>>", depends_on: "<<needs>>" } }
`,
};

function one(name: string, needs = ''): string {
  return `stackTemplate: one\nparameters: { name: "${name}", needs: "${needs}" }\n`;
}

/** Commits instances one commit after another; then two controllers, one that followed each, one that begins at the end. */
async function both(...commits: readonly Readonly<Record<string, string | null>>[]) {
  const follower = new Core({ budget: { percent: 100, least: 100, most: 100 } });
  for (const [index, instances] of commits.entries()) {
    const files = Object.entries(instances).map(([name, text]) => [`stacks/instances/${name}.yaml`, text]);
    follower.source.commit({ ...(index === 0 ? TEMPLATES : {}), ...Object.fromEntries(files) });
    await follower.poll();
  }
  const { source, clock } = follower;
  const beginner = new Core({}, { rows: new Map(), servers: new Map(), source, clock });
  await beginner.settle();
  return { follower, beginner };
}

function activeFacts({ reader, ledger, operator }: Core) {
  return {
    statuses: Object.fromEntries(reader.instances().map(({ name }) => [name, reader.status(name)])),
    owners: Object.fromEntries([...ledger.list('server')].map(([name, { instance }]) => [name, instance])),
    problems: operator.problems().problems,
  };
}

describe('a controller that begins at the end of a history', () => {
  it('comes up where two instances made one server, and both are wrong now', async () => {
    const { follower, beginner } = await both({ a: one('x'), c: one('z') }, { a: WRONG, b: one('x') }, { b: WRONG });
    expect(activeFacts(beginner)).toEqual(activeFacts(follower));
    expect(activeFacts(beginner)).toMatchObject({
      statuses: { a: 'Invalid', b: 'Invalid', c: 'Done' },
      owners: { x: 'a', z: 'c' },
    });
  });

  it('comes up where older versions depend on one another in a circle', async () => {
    const { follower, beginner } = await both(
      { a: one('x'), b: one('y', 'x'), c: one('z') },
      { b: WRONG },
      { a: one('x', 'y') },
      { a: WRONG },
    );
    expect(activeFacts(beginner)).toEqual(activeFacts(follower));
    expect(activeFacts(beginner).statuses).toEqual({ a: 'Invalid', b: 'Invalid', c: 'Done' });
  });

  it('gives a server to whoever it was handed over to', async () => {
    const { follower, beginner } = await both({ a: one('x'), b: one('y') }, { a: one('w'), b: one('x') }, { b: WRONG });
    expect(activeFacts(beginner)).toEqual(activeFacts(follower));
    expect(activeFacts(beginner).owners).toMatchObject({ w: 'a', x: 'b' });
  });

  it('follows the newest commit that can be taken', async () => {
    const { follower } = await both({ a: one('x') }, { a: WRONG });
    follower.source.commit({ 'tree.yaml': 'name: 1\n' });
    const { source, clock } = follower;
    const beginner = new Core({}, { rows: new Map(), servers: new Map(), source, clock });
    await beginner.settle();
    expect(activeFacts(beginner)).toMatchObject({ owners: { x: 'a' }, statuses: { a: 'Invalid' } });
  });
});

describe('a suspension', () => {
  it('ends with its instance, and does not meet a later one of that name', async () => {
    const core = new Core({ budget: { percent: 100, least: 100, most: 100 } });
    core.source.commit({ ...TEMPLATES, 'stacks/instances/new.yaml': WRONG, 'stacks/instances/b.yaml': one('y') });
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'new', until: null });
    await core.operator.suspend(core.order, { instance: null, until: null });
    core.source.commit({ 'stacks/instances/new.yaml': null });
    await core.poll();
    expect([...core.ledger.list('suspension').keys()]).toEqual(['*']);
  });

  it('ends with the last server of its instance', async () => {
    const core = new Core({ budget: { percent: 100, least: 100, most: 100 } });
    core.source.commit({ ...TEMPLATES, 'stacks/instances/a.yaml': one('x'), 'stacks/instances/b.yaml': one('y') });
    await core.poll();
    await core.operator.suspend(core.order, {
      instance: 'a',
      until: new Date(core.clock.now() + 60_000).toISOString(),
    });
    core.source.commit({ 'stacks/instances/a.yaml': null });
    await core.poll();
    expect([core.ledger.list('suspension').size, core.states().x]).toEqual([1, 'marked for delete']);
    await core.pass(120_000);
    await core.pass(120_000);
    expect([core.ledger.list('suspension').size, core.states()]).toEqual([0, { y: 'done' }]);
    core.source.commit({ 'stacks/instances/a.yaml': one('x') });
    await core.poll();
    expect(core.reader.status('a')).toBe('Done');
  });
});

const SIGN = 'the store is empty, and its directory has "repository" of an earlier one';

const OLD = { a: 'size: small', b: 'size: small', c: 'size: small' };

/** A shop with three servers, which are there. */
async function shop(): Promise<Core> {
  const core = new Core();
  core.source.commit(shopFiles(OLD));
  await core.poll();
  expect(core.states()).toEqual({ 'shop-a': 'done', 'shop-b': 'done', 'shop-c': 'done' });
  return core;
}

function whyOf({ operator, order }: Core, instance: string) {
  return operator.why(order.by, instance);
}

describe('what the branch made before the store was lost, and makes no more', () => {
  it('is not made again under other names beside it, until a person has let it go', async () => {
    const first = await shop();
    first.source.commit({ [TEMPLATE]: templateText({ d: 'size: small', e: 'size: small', f: 'size: small' }) });
    await first.poll();
    expect(first.held('shop')?.resources).toEqual(['shop-a', 'shop-b', 'shop-c']);
    const core = await first.lose(SIGN);
    expect(core.calls('create')).toEqual([]);
    expect(core.states()).toEqual({
      ...{ 'shop-a': 'blocked', 'shop-b': 'blocked', 'shop-c': 'blocked' },
      ...{ 'shop-d': 'pending', 'shop-e': 'pending', 'shop-f': 'pending' },
    });
    const why = whyOf(core, 'shop');
    expect(why.status).toBe('Blocked');
    const [former] = why.waiting;
    expect(former).toMatchObject({ resource: 'shop-a', state: 'blocked' });
    expect(former?.reason).toContain('exists_already: before the store was lost, this branch made it');
    expect(former?.action).toContain('treeline retain shop-a');
    const wait = why.waiting.find(({ resource }) => resource === 'shop-d');
    expect(wait?.reason).toContain('waits until shop-');
    for (const name of ['shop-a', 'shop-b']) await core.operator.retain(core.order, name);
    await core.settle();
    expect(core.calls('create')).toEqual([]);
    await core.operator.retain(core.order, 'shop-c');
    await core.settle();
    expect(core.states()).toEqual({ 'shop-d': 'done', 'shop-e': 'done', 'shop-f': 'done' });
    expect(core.calls('delete')).toEqual([]);
    expect([...core.provider.servers.keys()].sort()).toEqual(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => `shop-${key}`),
    );
  });

  it('is adopted where a commit wants it again', async () => {
    const first = await shop();
    first.source.commit({ [TEMPLATE]: templateText({ d: 'size: small' }) });
    const core = await first.lose(SIGN);
    core.source.commit(shopFiles(OLD, 'adopt: true\n'));
    await core.poll();
    expect(core.states()).toEqual({ 'shop-a': 'done', 'shop-b': 'done', 'shop-c': 'done' });
    expect([...core.calls('create'), ...core.calls('delete')]).toEqual([]);
  });

  it('is forgotten without a word where it is not there', async () => {
    const first = await shop();
    for (const name of ['shop-a', 'shop-b', 'shop-c']) first.provider.forget(name);
    first.source.commit({ [TEMPLATE]: templateText({ d: 'size: small' }) });
    const core = await first.lose(SIGN);
    expect(core.states()).toEqual({ 'shop-d': 'done' });
    expect(whyOf(core, 'shop')).toMatchObject({ status: 'Done', waiting: [] });
  });

  it('is told of an instance whose file is gone, until each server is let go', async () => {
    const first = await shop();
    first.source.commit({ [SHOP]: null });
    await first.poll();
    expect(first.held('shop')?.resources).toHaveLength(3);
    const core = await (await first.lose(SIGN)).restart();
    expect(core.states()).toEqual({ 'shop-a': 'blocked', 'shop-b': 'blocked', 'shop-c': 'blocked' });
    expect(whyOf(core, 'shop').waiting.map(({ resource }) => resource)).toEqual(['shop-a', 'shop-b', 'shop-c']);
    expect(core.reader.record('shop-a')).toMatchObject({ size: 'small' });
    for (const name of Object.keys(core.states())) await core.operator.retain(core.order, name);
    await core.settle();
    expect(core.states()).toEqual({});
    expect(core.calls('delete')).toEqual([]);
    expect(core.provider.servers.size).toBe(3);
  });

  it('is told of all instances where the newest commit has none', async () => {
    const first = await shop();
    first.source.commit({ [SHOP]: null, 'stacks/instances/rest.yaml': null });
    await first.poll();
    expect(first.held(null)?.kind).toBe('nothing left');
    const core = await first.lose(SIGN);
    expect(core.states()).toEqual({ 'shop-a': 'blocked', 'shop-b': 'blocked', 'shop-c': 'blocked' });
    expect(core.calls('delete')).toEqual([]);
  });

  it('is found in the last version of each instance that made it', async () => {
    const first = await shop();
    first.source.commit({ [TEMPLATE]: templateText({ a: 'size: small', d: 'size: small' }) });
    first.source.commit({ [TEMPLATE]: 'resources: [\n' });
    first.source.commit({ [TEMPLATE]: templateText({ e: 'size: small' }) });
    const core = await first.lose(SIGN);
    expect(core.states()).toEqual({
      ...{ 'shop-a': 'blocked', 'shop-b': 'blocked', 'shop-c': 'blocked', 'shop-e': 'pending' },
    });
    expect(core.provider.calls.filter(({ resource }) => resource === 'shop-d')).toMatchObject([{ operation: 'check' }]);
  });

  it('is left alone where its instance retains what it does not want', async () => {
    const first = await shop();
    first.source.commit(shopFiles({ d: 'size: small' }, 'deletion: retain\n'));
    expect((await first.lose(SIGN)).states()).toEqual({ 'shop-d': 'done' });
  });

  it('is let go by a commit that gives its instance "deletion: retain"', async () => {
    const first = await shop();
    first.source.commit({ [TEMPLATE]: templateText({ d: 'size: small' }) });
    const core = await first.lose(SIGN);
    core.source.commit({ [SHOP]: 'stackTemplate: t\ndeletion: retain\n' });
    await core.poll();
    expect(core.states()).toEqual({ 'shop-d': 'done' });
    expect(core.calls('delete')).toEqual([]);
    expect(core.provider.servers.size).toBe(4);
  });

  it('keeps nothing from being made again that was adopted', async () => {
    const first = await shop();
    first.source.commit({ [TEMPLATE]: templateText({ a: 'size: small, color: red' }) });
    const core = await first.lose(SIGN);
    await core.operator.adopt(core.order, { all: true });
    await core.settle();
    await core.operator.replace(core.order, 'shop-a');
    await core.settle();
    expect([core.calls('delete'), core.calls('create')]).toEqual([['shop-a'], ['shop-a']]);
    expect(core.states()).toEqual({ 'shop-a': 'done', 'shop-b': 'blocked', 'shop-c': 'blocked' });
  });

  it('is not looked for at a first start', async () => {
    const first = await shop();
    first.source.commit({ [TEMPLATE]: templateText({ d: 'size: small' }) });
    expect((await first.lose(undefined)).states()).toEqual({ 'shop-d': 'done' });
  });
});
