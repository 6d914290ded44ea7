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

describe('a clock that was ahead and is corrected', () => {
  it.each([false, true])('ends each wait after the longest configured one; with a restart: %s', async (isRestarted) => {
    const core = new Core();
    await set(core, DAY);
    answering(core, 'create', async () => answerOf('failed'));
    await core.follow(shopFiles({ web: 'name: web' }));
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    core.clock.setWall(core.clock.now() - DAY);
    const next = isRestarted ? await core.restart() : core;
    next.provider.script = () => undefined;
    await next.operator.resume(next.order, 'shop');
    await next.pass(HOUR);
    await next.pass(MINUTE);
    expect(next.states()).toEqual({ web: 'done' });
  });
});

describe('a clock that jumps forward', () => {
  it('wakes servers that are due', async () => {
    const core = new Core();
    answering(core, 'create', async () => answerOf('failed'));
    await core.follow(shopFiles({ web: 'name: web' }));
    core.provider.script = () => undefined;
    await set(core, 2 * HOUR);
    expect(core.states()).toEqual({ web: 'done' });
  });

  it('ends a suspension whose time has passed', async () => {
    const core = await Core.following(shopFiles({ web: 'name: web' }));
    await core.operator.suspend(core.order, { instance: 'shop', until: at(core.clock.now() + DAY) });
    await core.follow({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    expect(core.states()).toEqual({ web: 'pending' });
    await set(core, DAY);
    expect(core.states()).toEqual({ web: 'done' });
  });
});
