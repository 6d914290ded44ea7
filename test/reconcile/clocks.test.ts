// Sets the wall clock: no server waits for a time that it never reaches, and no action starts next to one that may run.
import { describe, expect, it } from 'vitest';
import { answerOf, at } from './build.ts';
import { Core } from './core.ts';
import { answering, shopFiles, TEMPLATE, templateText } from './shop.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Sets the wall clock, and waits until servers that wait for a time are examined again. */
async function set(core: Core, byMs: number): Promise<void> {
  core.clock.setWall(core.clock.now() + byMs);
  await core.pass(5 * MINUTE);
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

  it.each([false, true])(
    'ends waits after the longest one at the latest; restarted meanwhile: %s',
    async (isRestarted) => {
      const core = new Core();
      await set(core, DAY);
      answering(core, 'create', async () => answerOf('failed'));
      core.source.commit(shopFiles({ web: 'name: web' }));
      await core.poll();
      await core.operator.suspend(core.order, { instance: 'shop', until: null });
      core.clock.setWall(core.clock.now() - DAY);
      const next = isRestarted ? await core.restart() : core;
      next.provider.script = () => undefined;
      await next.operator.resume(next.order, 'shop');
      await next.pass(HOUR);
      await next.pass(MINUTE);
      expect(next.states()).toEqual({ web: 'done' });
    },
  );
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
    core.clock.setWall(core.clock.now() + DAY);
    await core.pass(SECOND);
    expect([core.states(), core.calls('check').length]).toEqual([{ web: 'creating' }, checks]);
    core.clock.setWall(core.clock.now() - DAY);
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
    core.clock.setWall(core.clock.now() + DAY);
    await core.pass(SECOND);
    await core.pass(50 * SECOND);
    answer.resolve();
    await core.settle();
    expect([core.states(), aborted]).toEqual([{ web: 'done' }, []]);
  });
});
