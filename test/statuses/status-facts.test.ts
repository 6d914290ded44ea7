// Tests that the facts of commit statuses are of one moment: a large commit is shown before what counts its servers has all of
// them.
import { expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { CurrentState } from '../../src/follow/current-state.ts';
import { syncChanges } from '../../src/follow/sync.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { StatusFactsReader } from '../../src/statuses/unsent-statuses.ts';
import { wantedStatuses } from '../../src/statuses/wanted-statuses.ts';
import { NOW } from '../reconcile/build.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { pausing } from '../support/pausing.ts';
import { PLACE } from '../support/rows.ts';
import { TextRepository } from '../support/text-repository.ts';

const TEMPLATE = `resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "150", resource_def: { properties: { name: "web-<<index>>" } } }
`;
const FILES = {
  'tree.yaml': 'name: all\ntype: common\n',
  'stacks/templates/web.yaml': TEMPLATE,
  'stacks/instances/shop.yaml': 'stackTemplate: web\n',
};

it('tells of no commit whose servers are not all counted yet, and asks to be read again', async () => {
  const told: string[] = [];
  let changes = 0;
  let pauses = 0;
  const current = new CurrentState();
  const look = (): void => {
    pauses += 1;
    const read = facts.read(new Map(), NOW);
    for (const { context, state } of read === undefined ? [] : wantedStatuses(read).wanted) {
      told.push(`${context}: ${state}`);
    }
  };
  const ledger = new Ledger(new MemoryStore(), pausing(look));
  const facts = new StatusFactsReader({ current, ledger, stallsOf: () => undefined }, () => {
    changes += 1;
  });
  const desired = new TextRepository().commit(FILES);
  const lastRecord = (): null => null;
  const sync = { desired, place: PLACE, before: undefined, now: NOW, lastRecord, breathe: withoutPause };
  const rows = await syncChanges(ledger, sync);
  await ledger.commit(rows, undefined, () => current.set(desired, 0));
  expect(pauses).toBeGreaterThan(1);
  expect(told).toEqual([]);
  const before = changes;
  look();
  expect(told).toEqual(['validate: success', 'apply: in progress']);
  expect(changes).toBe(before);
});
