// Tests that the other updates of a commit wait when many have failed, also during retries and after a restart.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';

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
  const core = new Core({ concurrency: 1, retry: { attempts: 1, failedSeconds: 60 } });
  core.source.commit(FILES);
  await core.poll();
  failUpdates(core);
  core.source.commit({ [TEMPLATE]: templateText('large') });
  await core.poll();
  return core;
}

function triedIn(core: Core): Set<string> {
  return new Set(core.calls('update'));
}

describe('updates that have failed', () => {
  it('are approved in an event of each instance', async () => {
    const core = await failing();
    for (let round = 0; round < 3; round += 1) await core.pass(60_000);
    await core.approve(core.held(null)?.digest ?? '');
    for (const name of NAMES) {
      const { events } = await core.operator.events(core.order.by, name, { after: 0, limit: 1_000 });
      const whole = events.filter(({ resource }) => resource === null);
      expect(whole.map(({ reason }) => reason)).toEqual(['approve; failures, under the digest failures-commit-2']);
    }
  });

  it('hold the rest, however often they are tried again', async () => {
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

  it('hold the rest after a restart', async () => {
    const core = await failing();
    const tried = triedIn(core);
    const again = await core.restart();
    expect(again.held(null)?.resources).toEqual([...tried].sort());
    await again.pass(60_000);
    expect([...triedIn(again)].filter((server) => !tried.has(server))).toEqual([]);
  });

  it('let the rest go when they succeed', async () => {
    const core = await failing();
    core.provider.script = () => undefined;
    for (let round = 0; round < 5; round += 1) await core.pass(60_000);
    expect(core.held(null)).toBeUndefined();
    expect(triedIn(core).size).toBe(NAMES.length);
    expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  });

  it('let the rest go when a person says so, or another commit comes', async () => {
    const core = await failing();
    await core.approve(core.held(null)?.digest ?? '');
    expect(triedIn(core).size).toBe(NAMES.length);
    core.provider.script = () => undefined;
    core.source.commit({ [TEMPLATE]: templateText('medium') });
    await core.poll();
    expect(core.held(null)).toBeUndefined();
    expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  });
});
