// One commit takes an instance away and has another need a server of it. Both wait for a yes, and either may come first.
import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';

const A = 'stacks/instances/a.yaml';
const B = 'stacks/instances/b.yaml';

function stack(web: number, needs = ''): string {
  const after = needs === '' ? '' : `, depends_on: ${needs}`;
  return `parameters: {}
resources:
  db: { type: Platform::Server, properties: { size: small } }
  web:
    type: Platform::ResourceGroup
    properties: { count: "${web}", resource_def: { properties: { size: small${after} } } }
`;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/a.yaml': stack(3),
  'stacks/templates/b.yaml': stack(4),
  [A]: 'stackTemplate: a\n',
  [B]: 'stackTemplate: b\n',
};

/** `a` is to go, and `b` is to lose three servers and to need `a-db`. */
async function bothHeld(): Promise<Core> {
  const core = await Core.following(FILES);
  await core.follow({ [A]: null, 'stacks/templates/b.yaml': stack(1, 'a-db') });
  expect(core.operator.held().map(({ instance }) => instance)).toEqual(['a', 'b']);
  return core;
}

/** `b` stays as it was, and says that `a-db` is not there any more. */
function expectRefused(core: Core): void {
  expect(core.operator.held()).toEqual([]);
  expect(core.reader.status('b')).toBe('Invalid');
  expect(core.operator.problems().problems).toMatchObject([{ code: 'unknown_dependency', instances: ['b'] }]);
}

describe('an approved removal of a server that another held version needs', () => {
  it('keeps the needed server if the other version came first', async () => {
    const core = await bothHeld();
    await core.approve(core.held('b')?.digest ?? '');
    expect(core.reader.status('b')).toBe('Done');
    await core.approve(core.held('a')?.digest ?? '');
    expectRefused(core);
    expect(core.states()).toEqual({ 'a-db': 'marked for delete', 'b-db': 'done', 'b-web-1': 'done' });
    expect(core.waitReason('a-db')).toBe('waits until b-web-1 does not need it any more');
    await core.follow({ 'stacks/templates/b.yaml': stack(1) });
    expect(core.states()).toEqual({ 'b-db': 'done', 'b-web-1': 'done' });
  });
});
