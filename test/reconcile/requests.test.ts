// Tests requests for servers in the middle of something: each works, or is refused with a reason.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { answering, buildByHand, shopFiles, TEMPLATE, templateText } from './shop.ts';

async function up(): Promise<Core> {
  const core = new Core();
  core.source.commit(shopFiles({ web: 'name: web, size: small' }));
  await core.poll();
  expect(core.states()).toEqual({ web: 'done' });
  return core;
}

function expectNoThrow(core: Core): void {
  expect(core.lines.filter(({ msg }) => msg === 'pass failed; it is tried again')).toEqual([]);
}

describe('a server that is being replaced', () => {
  /** Its delete has answered `done`, and somebody has built it anew before the check. */
  async function found(): Promise<Core> {
    const core = await up();
    core.provider.script = async (call) => {
      if (call.operation === 'update') return answerOf('replace');
      if (call.operation !== 'delete') return core.provider.act(call);
      core.provider.act(call);
      buildByHand(core, 'web', { name: 'web', size: 'large' });
      return answerOf('done');
    };
    core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    await core.poll();
    expect(core.ledger.server('web')).toMatchObject({ state: 'blocked', replacing: true });
    return core;
  }

  it('is adopted where it is blocked because something is there', async () => {
    const core = await found();
    await core.operator.adopt(core.order, { resource: 'web' });
    await core.pass(5_000);
    expect(core.states()).toEqual({ web: 'done' });
    expect(core.ledger.server('web')).toMatchObject({ replacing: false, adopting: false });
    expect(core.calls('delete')).toHaveLength(1);
    expectNoThrow(core);
  });
});

it('an order to adopt ends where nothing is there any more: what is built later is no matter of it', async () => {
  const core = await up();
  buildByHand(core, 'db');
  core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: small', db: 'name: db, size: small' }) });
  await core.poll();
  expect(core.states()).toMatchObject({ db: 'blocked' });
  removeByHand(core, 'db');
  await core.operator.adopt(core.order, { resource: 'db' });
  await core.settle();
  expect(core.states()).toMatchObject({ db: 'done' });
  expect(core.ledger.server('db')).toMatchObject({ adopting: false });
  answering(core, 'update', async () => {
    removeByHand(core, 'db');
    buildByHand(core, 'db');
    return answerOf('absent');
  });
  core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: small', db: 'name: db, size: large' }) });
  await core.poll();
  // Neither taken over nor made a second time: checks find what updates do not.
  expect(core.ledger.server('db')).toMatchObject({
    ...{
      adopting: false,
      state: 'pending',
      applied: expect.objectContaining({ properties: expect.objectContaining({ size: 'small' }) }),
    },
    reason: expect.objectContaining({ code: 'drifted' }),
  });
  expect(
    core.provider.calls.filter(({ operation, resource }) => `${operation} ${resource}` === 'create db'),
  ).toHaveLength(1);
});

function removeByHand(core: Core, resource: string): void {
  const [call] = core.provider.calls;
  if (call !== undefined) core.provider.act({ ...call, operation: 'delete', resource });
}

describe('a suspension that is given another end', () => {
  it.each([
    ['one instance, without an end until then', 'shop', null],
    ['everything, without an end until then', null, null],
    ['one instance, with a later end', 'shop', 7_200_000],
  ])('ends then: %s', async (_, instance, laterMs) => {
    const core = await up();
    const untilIn = (ms: number): string => new Date(core.clock.now() + ms).toISOString();
    await core.operator.suspend(core.order, { instance, until: laterMs === null ? null : untilIn(laterMs) });
    core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    await core.poll();
    await core.operator.suspend(core.order, { instance, until: untilIn(60_000) });
    await core.settle();
    await core.pass(59_000);
    expect(core.states()).toEqual({ web: 'pending' });
    await core.pass(2_000);
    expect(core.states()).toEqual({ web: 'done' });
  });
});

describe('a server whose outcome is unknown and whose check has failed', () => {
  async function unknown(): Promise<Core> {
    const core = await up();
    core.provider.script = async ({ operation }) => {
      if (operation === 'check') return answerOf('failed', { message: 'no right to look' });
      throw new Error('connection reset');
    };
    core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    await core.poll();
    expect(core.states()).toEqual({ web: 'unknown' });
    core.provider.script = () => undefined;
    return core;
  }

  it.each([
    ['changes the server', 'name: web, size: huge'],
    ['takes the change back', 'name: web, size: small'],
  ])('is checked at once when a commit %s', async (_case, properties) => {
    const core = await unknown();
    core.source.commit({ [TEMPLATE]: templateText({ web: properties }) });
    await core.pass(0);
    await core.poll();
    expect(core.states()).toEqual({ web: 'done' });
  });
});
