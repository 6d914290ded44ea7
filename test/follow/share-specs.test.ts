// Values that are kept once: parts of the servers of a group.
import { expect, it } from 'vitest';
import type { ServerRow } from '../../src/model/rows.ts';
import { Core } from '../reconcile/core.ts';
import { shopFiles, TEMPLATE } from '../reconcile/shop.ts';

const GROUP = `resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "2", resource_def: { properties: { size: small, configuration_only: [size] } } }
`;
const NAMES = ['shop-web-1', 'shop-web-2'];

async function built(): Promise<Core> {
  const core = await Core.following({
    ...shopFiles({}),
    [TEMPLATE]: GROUP,
    'types/common/global.yaml': 'backups: true\n',
  });
  expect(core.states()).toEqual({ 'shop-web-1': 'done', 'shop-web-2': 'done' });
  return core;
}

function rowsOf(core: Core): readonly (ServerRow | undefined)[] {
  return NAMES.map((name) => core.ledger.server(name));
}

it('the servers of a group share their lists', async () => {
  const core = await built();
  const [one, two] = rowsOf(core);
  expect(one).toBeDefined();
  expect(two?.wanted?.configurationOnly).toBe(one?.wanted?.configurationOnly);
  expect(one?.applied).toBe(one?.wanted);
  const [first, second] = [...(core.current.get()?.units.get('stack-instance/shop')?.nodes.values() ?? [])];
  expect(first?.shared.length).toBeGreaterThan(0);
  expect(second?.shared).toBe(first?.shared);
});
