// Tests that the other updates of a commit wait when many have failed, also during retries and after a restart.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { shopFiles } from './shop.ts';

const TEMPLATE = 'stacks/templates/t.yaml';
const NAMES = Array.from({ length: 8 }, (_, index) => `i${index}`);

function templateText(size: string): string {
  return `resources: { s: { type: "Platform::Server", properties: { size: ${size} } } }\n`;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  [TEMPLATE]: templateText('small'),
  ...Object.fromEntries(NAMES.map((name) => [`stacks/instances/${name}.yaml`, 'stackTemplate: t\n'])),
};

function failUpdates(core: Core): void {
  core.provider.script = ({ operation }) =>
    operation === 'update' ? Promise.resolve(answerOf('failed', { message: 'bad image' })) : undefined;
}

/** Eight servers, one call at a time, and a change that fails on all of them. */
async function failing(): Promise<Core> {
  const core = await Core.following(FILES, { concurrency: 1, retry: { attempts: 1, failedSeconds: 60 } });
  failUpdates(core);
  await core.follow({ [TEMPLATE]: templateText('large') });
  return core;
}

function triedIn(core: Core): Set<string> {
  return new Set(core.calls('update'));
}

describe('failed updates', () => {
  it('hold the other updates, also after retries', async () => {
    const core = await failing();
    const tried = triedIn(core);
    expect(tried.size).toBeLessThanOrEqual(4);
    for (let round = 0; round < 5; round += 1) await core.pass(60_000);
    await core.operator.retry(core.order, { all: true }).catch(() => 'nothing to try');
    await core.settle();
    expect(core.calls('update').length).toBeGreaterThan(tried.size);
    expect(triedIn(core)).toEqual(tried);
    expect(core.held(null)?.resources).toEqual([...tried].sort());
  });

  it('hold the other updates after a restart', async () => {
    const core = await failing();
    const tried = triedIn(core);
    const again = await core.restart();
    expect(again.held(null)?.resources).toEqual([...tried].sort());
    await again.pass(60_000);
    expect([...triedIn(again)].filter((server) => !tried.has(server))).toEqual([]);
  });

  it('release the other updates after an approval or another commit', async () => {
    const core = await failing();
    await core.approve(core.held(null)?.digest ?? '');
    expect(triedIn(core).size).toBe(NAMES.length);
    core.provider.script = () => undefined;
    await core.follow({ [TEMPLATE]: templateText('medium') });
    expect(core.held(null)).toBeUndefined();
    expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  });
});

const CHECK_MS = 300_000;
const COUNT = 20;

/** Returns a core with servers that all differ, and whose updates fail; two calls at once. */
async function failingHeals(): Promise<Core> {
  const core = new Core({ drift: 'heal', concurrency: 2, retry: { attempts: 1, failedSeconds: 86_400 } });
  const names = Array.from({ length: COUNT }, (_, index) => `w${index}`);
  await core.follow(shopFiles(Object.fromEntries(names.map((name) => [name, 'size: small']))));
  const [call] = core.provider.calls;
  if (call === undefined) throw new Error('nothing was called yet');
  for (const resource of Object.keys(core.states())) {
    core.provider.act({ ...call, operation: 'update', resource, properties: { size: 'odd' } });
  }
  core.provider.script = ({ operation }) => (operation === 'update' ? Promise.resolve(answerOf('failed')) : undefined);
  for (let round = 0; round < 4; round += 1) await core.pass(CHECK_MS);
  return core;
}

describe('healing', () => {
  it('stops after three failed updates, and says so', async () => {
    const core = await failingHeals();
    expect(core.calls('update').length).toBeLessThan(6);
    const [held] = core.operator.held();
    expect(held?.kind).toBe('failures');
    expect(held?.reason).toMatch(/^\d updates of commit commit-1 have failed, so the rest waits$/);
    expect(core.operator.held({ ...core.order.by, tenant: 'other' })).toEqual([]);
  });

  it('continues after an approval, also after unrelated commits', async () => {
    const core = await failingHeals();
    await core.follow({ 'README.md': 'words\n' });
    const [held] = core.operator.held();
    core.provider.script = () => undefined;
    await core.approve(held?.digest ?? '');
    await core.follow({ 'README.md': 'more words\n' });
    for (let round = 0; round < 2; round += 1) await core.pass(CHECK_MS);
    const states = Object.values(core.states());
    expect(states.filter((state) => state === 'done').length).toBeGreaterThan(COUNT - 6);
    expect(states.filter((state) => state !== 'done' && state !== 'failed')).toEqual([]);
  });
});
