// Every kind of hold is listed until a commit takes its cause back, and destroys nothing meanwhile.
import { expect, it } from 'vitest';
import { HOLD_KINDS, type HoldKind } from '../../src/model/rows.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

type Files = Readonly<Record<string, string | null>>;

function servers(size: string, names = ['web', 'v', 'x', 'y', 'z']): Files {
  return { [TEMPLATE]: templateText(Object.fromEntries(names.map((name) => [name, `name: ${name}, size: ${size}`]))) };
}

const REST = 'stacks/instances/rest.yaml';
const SHOP_TEXT = 'stackTemplate: t\n';

/** The commit that is held, and the one that takes it back. */
const HOLDS: Readonly<Record<HoldKind, readonly [on: Files, off: Files]>> = {
  deletes: [servers('small', ['web']), servers('small')],
  'nothing left': [
    { [SHOP]: null, [REST]: null },
    { [SHOP]: SHOP_TEXT, [REST]: 'stackTemplate: none\n' },
  ],
  history: [servers('small'), {}],
  unreadable: [
    { [SHOP]: null, 'stacks/instances/shop.yml': '' },
    { [SHOP]: SHOP_TEXT, 'stacks/instances/shop.yml': null },
  ],
  failures: [servers('large'), servers('small')],
};

it.each(HOLD_KINDS)('a hold is listed until it is ended: %s', async (kind) => {
  const core = new Core();
  const followed = core.source.commit({ ...shopFiles({}), ...servers('small') });
  await core.poll();
  core.provider.script = ({ operation }) =>
    operation === 'update' ? Promise.resolve(answerOf('failed', { message: 'bad disk' })) : undefined;
  const [on, off] = HOLDS[kind];
  core.source.commit(on, kind === 'history' ? { parents: [] } : {});
  await core.poll();
  expect(core.operator.held().map((item) => item.kind)).toEqual([kind]);
  core.provider.script = () => undefined;
  if (kind === 'history') core.source.reset(followed);
  else core.source.commit(off);
  await core.poll();
  expect(core.operator.held()).toEqual([]);
  expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  expect(core.calls('delete')).toEqual([]);
});
