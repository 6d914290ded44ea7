// A roll-out that is held by failed updates of other instances: who waits for it says so, and goes on when it ends.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';

const TEMPLATE = 'stacks/templates/t.yaml';
const KEYS = ['w', 'x', 'y'];

function templateText(size: string): string {
  const resources = KEYS.map((key) => `  ${key}: { type: "Platform::Server", properties: { size: ${size} } }\n`);
  return `resources:\n${resources.join('')}`;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  [TEMPLATE]: templateText('small'),
  'stacks/instances/a.yaml': 'stackTemplate: t\n',
  'stacks/instances/b.yaml': 'stackTemplate: t\nprotected: true\n',
};

/** Updates of `b` fail up to the limit, those of `a` wait for it. Then `b` can only be built anew, and is protected. */
async function heldByBlocked(): Promise<Core> {
  const core = new Core({ concurrency: 1, retry: { attempts: 1, failedSeconds: 60 } });
  core.source.commit(FILES);
  await core.poll();
  let outcome: 'failed' | 'replace' = 'failed';
  core.provider.script = ({ operation, resource }) => {
    if (operation !== 'update') return undefined;
    return Promise.resolve(resource.startsWith('b-') ? answerOf(outcome) : answerOf('failed', { message: 'later' }));
  };
  await core.operator.suspend(core.order, { instance: 'a', until: null });
  core.source.commit({ [TEMPLATE]: templateText('large') });
  await core.poll();
  await core.operator.resume(core.order, 'a');
  await core.settle();
  outcome = 'replace';
  await core.pass(60_000);
  await core.pass(60_000);
  return core;
}

describe('a server that waits for a roll-out that is held by servers that wait for a person', () => {
  it('says so, and so does its instance', async () => {
    const core = await heldByBlocked();
    expect(core.states()).toEqual({
      ...{ 'a-w': 'pending', 'a-x': 'pending', 'a-y': 'pending' },
      ...{ 'b-w': 'blocked', 'b-x': 'blocked', 'b-y': 'blocked' },
    });
    const [item] = core.operator.held();
    expect(item).toMatchObject({ kind: 'failures', resources: ['b-w', 'b-x', 'b-y'] });
    const { status, waiting } = core.operator.why(core.order.by, 'a');
    expect(status).toBe('Failed');
    for (const server of waiting) {
      expect(server).toMatchObject({
        reason: 'waits, for too many updates of the commit commit-2 have failed; approve it, or push another commit',
        action: `treeline approve ${item?.digest}`,
      });
    }
    expect(waiting).toHaveLength(3);
  });
});
