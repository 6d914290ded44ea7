// Tests when a suspension ends.
import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';
import { shopFiles, TEMPLATE, templateText } from './shop.ts';

describe('a suspension ends with its instance, although one of the same name follows', () => {
  const A = 'stacks/instances/a.yaml';
  const RETAIN = 'deletion: retain\n';
  const some = (count: number, more = ''): string => `stackTemplate: t\nparameters: { count: "${count}" }\n${more}`;

  it.each<[name: string, made: string, wanted: string, end: Readonly<Record<string, string>>]>([
    ['that has no servers', some(0), some(0), {}],
    ['whose servers were never created', some(0), some(2), { 'a-s-1': 'done', 'a-s-2': 'done' }],
    ['whose servers are retained', some(2, RETAIN), some(2, RETAIN), { 'a-s-1': 'blocked', 'a-s-2': 'blocked' }],
  ])('%s', async (_, made, wanted, end) => {
    const core = new Core();
    const template =
      'parameters: { count: "0" }\nresources: { s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } } }\n';
    await core.follow({ ...shopFiles({}), [TEMPLATE]: template, [A]: made });
    await core.operator.suspend(core.order, { instance: 'a', until: null });
    if (wanted !== made) core.source.commit({ [A]: wanted });
    await core.poll();
    await core.follow({ [A]: null });
    await core.follow({ [A]: wanted });
    await core.pass(60_000);
    expect(core.states()).toEqual(end);
    expect([...core.ledger.list('suspension').keys()]).toEqual([]);
  });
});

async function up(): Promise<Core> {
  const core = await Core.following(shopFiles({ web: 'name: web, size: small' }));
  expect(core.states()).toEqual({ web: 'done' });
  return core;
}

it.each([
  ['shop', 'shop is not suspended, but every instance is: treeline resume --all'],
  ['shpo', 'There is no stack instance "shpo"; did you mean "shop"?'],
])('a resume of %s while every instance is suspended fails: %s', async (instance, message) => {
  const core = await up();
  await core.operator.suspend(core.order, { instance: null, until: null });
  await expect(core.operator.resume(core.order, instance)).rejects.toThrow(message);
});

describe('a suspension with a changed end', () => {
  it.each([
    ['one instance, without an end before', 'shop', null],
    ['everything, without an end before', null, null],
    ['one instance, with a later end before', 'shop', 7_200_000],
  ])('ends at the new time: %s', async (_, instance, laterMs) => {
    const core = await up();
    const untilIn = (ms: number): string => new Date(core.clock.now() + ms).toISOString();
    await core.operator.suspend(core.order, { instance, until: laterMs === null ? null : untilIn(laterMs) });
    await core.follow({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
    await core.operator.suspend(core.order, { instance, until: untilIn(60_000) });
    await core.settle();
    await core.pass(59_000);
    expect(core.states()).toEqual({ web: 'pending' });
    await core.pass(2_000);
    expect(core.states()).toEqual({ web: 'done' });
  });
});
