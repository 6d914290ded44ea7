// Tests how long approvals stand, and what they count for, if their deletes have to wait or come at another time.
import { expect, it } from 'vitest';
import { Core, type CoreOptions } from './core.ts';

const TEMPLATE = `parameters: { count: "1" }
resources:
  s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: { size: small } } } }
`;
/** The same with one more server, `<instance>-new`. */
const WITH_NEW = `${TEMPLATE}  new: { type: Platform::Server, properties: { size: small } }\n`;
const NEEDS_NEW =
  'stackTemplateAdditions: { resources: { one: { type: Platform::Server, properties: { depends_on: new-new } } } }\n';

function stack(name: string, count: number, { template = 't', more = '' } = {}): Readonly<Record<string, string>> {
  return {
    [`stacks/instances/${name}.yaml`]: `stackTemplate: ${template}\nparameters: { count: "${count}" }\n${more}`,
  };
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': TEMPLATE,
  'stacks/templates/with-new.yaml': WITH_NEW,
};

/** Three servers each for `a`, `b`, `gone` and `new`. */
async function up(options: CoreOptions = {}): Promise<Core> {
  const core = await Core.following(
    { ...FILES, ...stack('a', 3), ...stack('b', 3), ...stack('gone', 3), ...stack('new', 3) },
    options,
  );
  return core;
}

function heldNames(core: Core): readonly (string | null)[] {
  return core.operator.held().map(({ instance }) => instance);
}

it('an approval is kept over a restart while its instance waits for another held one', async () => {
  const core = await up();
  await core.follow({ ...stack('a', 0, { more: NEEDS_NEW }), ...stack('new', 0, { template: 'with-new' }) });
  expect(heldNames(core)).toEqual(['a', 'new']);
  await core.approve(core.held('a')?.digest ?? '');
  expect(heldNames(core)).toEqual(['new']);
  const again = await core.restart();
  await again.poll();
  expect(heldNames(again)).toEqual(['new']);
  expect(again.calls('delete')).toEqual([]);
  await again.approve(again.held('new')?.digest ?? '');
  expect(heldNames(again)).toEqual([]);
  expect(again.states()).toMatchObject({ 'a-one': 'done', 'new-new': 'done' });
  expect(again.calls('delete')).toHaveLength(6);
  expect(again.ledger.list('approval').size).toBe(0);
});

it('the trailer of a commit approves nothing when the branch is set back to it', async () => {
  const core = await up();
  const close = core.source.commit(stack('a', 0), { message: 'Close\n\nTreeline-Approve-Deletes: 3\n' });
  await core.poll();
  await core.follow(stack('a', 3));
  expect(core.calls('delete')).toHaveLength(3);
  core.source.reset(close);
  await core.poll();
  await core.operator.acceptHistory(core.order, close);
  await core.settle();
  expect(heldNames(core)).toEqual(['a']);
  expect(core.calls('delete')).toHaveLength(3);
});
