// Tests the delete budget of a small desired state, with the bounds that hold unless the operator sets others.
import { describe, expect, it } from 'vitest';
import { untilAborted } from '../support/scripted-provider.ts';
import { Core } from './core.ts';

const DEFAULT_BUDGET = { percent: 10, least: null, most: 20 };

const GROUP = `parameters: { prefix: "", count: "1" }
resources:
  node:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      resource_def: { properties: { name: "<<prefix>>-<<index>>" } }
`;

/** Five web servers, a database and three caches. */
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  ...instance('shop', 'web', 5),
  ...instance('data', 'db', 1),
};

function instance(name: string, prefix: string, count: number): Record<string, string> {
  return {
    'stacks/templates/group.yaml': GROUP,
    [`stacks/instances/${name}.yaml`]: `stackTemplate: group\nparameters: { prefix: ${prefix}, count: "${count}" }\n`,
  };
}

async function nineServers(): Promise<Core> {
  const core = new Core({ budget: DEFAULT_BUDGET });
  core.source.commit({ ...FILES, ...instance('caches', 'cache', 3) });
  await core.poll();
  expect(Object.keys(core.states())).toHaveLength(9);
  return core;
}

describe('of nine servers', () => {
  it('a rename deletes no five unasked', async () => {
    const core = await nineServers();
    core.source.commit(instance('shop', 'www', 5));
    await core.poll();
    expect(core.reader.status('shop')).toBe('Awaiting approval');
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('shop')?.reason).toMatch(/^over all instances, 5 servers would be deleted .* the limit is 3$/);
  });

  it('a third goes without a word, and is not held half-way since fewer are left', async () => {
    const core = await nineServers();
    core.provider.script = ({ operation, resource }, signal) =>
      operation === 'delete' && resource === 'web-5' ? untilAborted(signal) : undefined;
    core.source.commit(instance('shop', 'web', 2));
    await core.poll();
    core.source.commit({ 'README.md': 'Another commit.' });
    await core.poll();
    expect(core.held('shop')).toBeUndefined();
    expect(core.calls('delete').sort()).toEqual(['web-3', 'web-4', 'web-5']);
  });
});
