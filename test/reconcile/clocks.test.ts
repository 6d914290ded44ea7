// The wall clock is wrong, and somebody sets it right: nothing waits for the future, and nothing begins before its time.
import { describe, expect, it } from 'vitest';
import { answerOf, at } from './build.ts';
import { Core } from './core.ts';
import { answering, SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Somebody sets the clock, and the watch notices. */
async function set(core: Core, byMs: number): Promise<void> {
  core.clock.setWall(core.clock.now() + byMs);
  await core.pass(SECOND);
}

function groupText(size: string): string {
  const properties = `count: "2", pause_seconds: "0", resource_def: { properties: { size: ${size} } }`;
  return `resources:\n  web: { type: Platform::ResourceGroup, properties: { ${properties} } }\n`;
}

describe('a clock that was ahead and is set right', () => {
  it('makes no roll-out wait that has no pause', async () => {
    const core = new Core();
    core.source.commit({ ...shopFiles({}), [TEMPLATE]: groupText('small') });
    await core.poll();
    await set(core, DAY);
    const first = Promise.withResolvers<void>();
    answering(core, 'update', (call) => first.promise.then(() => core.provider.act(call)));
    core.source.commit({ [TEMPLATE]: groupText('large') });
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    first.resolve();
    await core.settle();
    expect(Object.values(core.states()).sort()).toEqual(['done', 'pending']);
    await set(core, -DAY);
    await core.operator.resume(core.order, 'shop');
    await core.settle();
    expect(core.states()).toEqual({ 'shop-web-1': 'done', 'shop-web-2': 'done' });
  });

  it('makes no failed server wait longer than it had left', async () => {
    const core = new Core();
    await set(core, DAY);
    answering(core, 'create', async () => answerOf('failed'));
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    expect(core.states()).toEqual({ web: 'failed' });
    core.provider.script = () => undefined;
    await set(core, -DAY);
    const row = core.ledger.server('web');
    expect(Date.parse(row?.due ?? '')).toBe(core.clock.now() + HOUR - SECOND);
    expect(Date.parse(row?.since ?? '')).toBeLessThanOrEqual(core.clock.now());
    await core.pass(HOUR);
    expect(core.states()).toEqual({ web: 'done' });
  });

  it('leaves no delete counted for longer than an hour', async () => {
    const core = new Core({ budget: { percent: 0, least: 1, most: 1 } });
    core.source.commit(shopFiles({ a: 'name: a', b: 'name: b', c: 'name: c' }));
    await core.poll();
    await set(core, DAY);
    core.source.commit({ [TEMPLATE]: templateText({ b: 'name: b', c: 'name: c' }) });
    await core.poll();
    expect(core.states()).toEqual({ b: 'done', c: 'done' });
    await set(core, -DAY);
    await core.pass(HOUR + SECOND);
    core.source.commit({ [TEMPLATE]: templateText({ c: 'name: c' }) });
    await core.poll();
    expect(core.states()).toEqual({ c: 'done' });
  });

  it('while the controller was down: waits end after the longest one at the latest', async () => {
    const core = new Core();
    await set(core, DAY);
    answering(core, 'create', async () => answerOf('failed'));
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    core.clock.setWall(core.clock.now() - DAY);
    const next = await core.restart();
    const now = next.clock.now();
    expect(Date.parse(next.ledger.read('suspension', 'shop')?.since ?? '')).toBeLessThanOrEqual(now);
    expect(Date.parse(next.ledger.server('web')?.since ?? '')).toBeLessThanOrEqual(now);
    await next.operator.resume(next.order, 'shop');
    next.provider.script = () => undefined;
    await next.pass(HOUR);
    expect(next.states()).toEqual({ web: 'done' });
  });

  it('is corrected once the store can be written again', async () => {
    const core = new Core();
    await set(core, DAY);
    answering(core, 'create', async () => answerOf('failed'));
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    core.store.failures.push(new Error('disk full'));
    await set(core, -DAY);
    expect(core.lines.map(({ msg }) => msg)).toContain('recorded times could not be corrected; it is tried again');
    await core.pass(SECOND);
    expect(Date.parse(core.ledger.server('web')?.due ?? '')).toBeLessThan(core.clock.now() + HOUR);
  });
});

describe('a clock that jumps forward', () => {
  it('wakes what is due by then', async () => {
    const core = new Core();
    answering(core, 'create', async () => answerOf('failed'));
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    core.provider.script = () => undefined;
    await set(core, 2 * HOUR);
    expect(core.states()).toEqual({ web: 'done' });
  });

  it('gives no delete back to the budget', async () => {
    const core = new Core({ budget: { percent: 0, least: 1, most: 1 } });
    core.source.commit(shopFiles({ a: 'name: a', b: 'name: b', c: 'name: c' }));
    await core.poll();
    core.source.commit({ [TEMPLATE]: templateText({ b: 'name: b', c: 'name: c' }) });
    await core.poll();
    expect(core.states()).toEqual({ b: 'done', c: 'done' });
    await set(core, DAY);
    core.source.commit({ [TEMPLATE]: templateText({ c: 'name: c' }) });
    await core.poll();
    expect(core.held('shop')?.resources).toEqual(['b']);
    await set(core, -DAY);
    core.source.commit({ [TEMPLATE]: templateText({ b: 'name: b', c: 'name: c' }) });
    await core.poll();
    await core.pass(HOUR + SECOND);
    core.source.commit({ [TEMPLATE]: templateText({ c: 'name: c' }) });
    await core.poll();
    expect(core.states()).toEqual({ c: 'done' });
  });

  it('ends a suspension whose time has come', async () => {
    const core = new Core();
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    await core.operator.suspend(core.order, { instance: 'shop', until: at(core.clock.now() + DAY) });
    core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    await core.poll();
    expect(core.states()).toEqual({ web: 'pending' });
    await set(core, DAY);
    expect(core.states()).toEqual({ web: 'done' });
  });

  it('does not end a lost action that may still be running, of which a step back is no longer', async () => {
    const core = new Core();
    core.provider.lostActionEnds = 'after its deadline';
    answering(core, 'create', () => Promise.reject(new Error('connection reset')));
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    const checks = core.calls('check').length;
    core.provider.script = () => undefined;
    await set(core, DAY);
    expect([core.states(), core.calls('check').length]).toEqual([{ web: 'creating' }, checks]);
    await set(core, -DAY);
    await core.pass(50 * SECOND);
    expect([core.states(), core.calls('check').length]).toEqual([{ web: 'creating' }, checks]);
    await core.pass(10 * SECOND);
    await core.pass(10 * SECOND);
    expect(core.states()).toEqual({ web: 'done' });
  });

  it('ends no call before its time', async () => {
    const core = new Core();
    const answer = Promise.withResolvers<void>();
    const aborted: string[] = [];
    core.provider.script = (call, signal) => {
      if (call.operation !== 'create') return undefined;
      signal.addEventListener('abort', () => aborted.push(call.resource));
      return answer.promise.then(() => core.provider.act(call));
    };
    core.source.commit(shopFiles({ web: 'name: web' }));
    await core.poll();
    await set(core, DAY);
    await core.pass(50 * SECOND);
    answer.resolve();
    await core.settle();
    expect([core.states(), aborted]).toEqual([{ web: 'done' }, []]);
  });
});

it('a clock that is right changes nothing', async () => {
  const core = new Core();
  core.source.commit(shopFiles({ web: 'name: web' }));
  await core.poll();
  const before = core.store.savedBytes;
  for (let second = 0; second < 20; second += 1) await core.pass(SECOND);
  expect(core.store.savedBytes).toBe(before);
  core.source.commit({ [SHOP]: null });
  await core.poll();
  expect(core.states()).toEqual({});
});
