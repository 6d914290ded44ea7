// A first start, or one after the store was lost: only versions that get along are joined, and one defect stops nobody else.

import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';

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

it('a controller that begins at the end of a history takes the newest commit alone', async () => {
  const { beginner } = await both({ a: one('x'), c: one('z') }, { a: WRONG });
  expect(activeFacts(beginner)).toMatchObject({ statuses: { a: 'Invalid', c: 'Done' }, owners: { z: 'c' } });
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
