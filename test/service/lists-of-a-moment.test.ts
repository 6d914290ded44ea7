// Lists are made in steps, and are of the moment at which they were asked for, whatever changes between two steps.
import { expect, it } from 'vitest';
import { finish, type Steps } from '../../src/base/steps.ts';
import type { HeldRow } from '../../src/model/rows.ts';
import { heldItems } from '../../src/service/progress/held-items.ts';
import { EVERYTHING } from '../../src/service/scope.ts';
import type { PresentRows } from '../../src/service/views.ts';
import { Core } from '../reconcile/core.ts';

const INSTANCES = 150;
const TEMPLATE = `resources:
  web: { type: Platform::Server, properties: { name: <<name>>-web, size: <<size>> } }
parameters: { name: '', size: small }
`;

function instance(number: number, size: string): Readonly<Record<string, string>> {
  const name = `i-${number}`;
  return {
    [`stacks/instances/${name}.yaml`]: `stackTemplate: web\nparameters: { name: ${name}, size: ${size} }\n`,
  };
}

function instances(from: number, to: number, size: string): Readonly<Record<string, string>> {
  const numbers = Array.from({ length: to - from }, (_, index) => from + index);
  return Object.assign({}, ...numbers.map((number) => instance(number, size)));
}

const LISTS: readonly (readonly [string, (core: Core) => Steps<unknown>])[] = [
  ['the instances', ({ reader }) => reader.instances()],
  ['the objects of all types', ({ reader }) => reader.objects('all')],
  ['the servers as objects', ({ reader }) => reader.objects('clientcert')],
  ['the recorded servers', ({ operator }) => operator.recorded()],
  ['the progress of all instances', ({ operator, order }) => operator.overview(order.by)],
];

it.each(LISTS)('%s', async (_title, list) => {
  const core = new Core();
  core.source.commit({
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/web.yaml': TEMPLATE,
    ...instances(0, INSTANCES, 'small'),
  });
  await core.poll();
  const expected = finish(list(core));
  const begun = [list(core), list(core)];
  begun[0]?.next();
  core.source.commit({ 'stacks/instances/i-0.yaml': null, ...instances(100, INSTANCES + 20, 'large') });
  await core.poll();
  expect(finish(list(core))).not.toEqual(expected);
  for (const steps of begun) {
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses += 1;
    expect(step.value).toEqual(expected);
    expect(pauses).toBeGreaterThan(1);
  }
});

it('what is held', () => {
  const held = new Map(Array.from({ length: 1_000 }, (_, index) => [`shop-${(index * 7) % 1_000}`, heldRow(index)]));
  const names = [...held.keys()].toSorted();
  const none = new Map();
  const rows = {
    list: (kind: string) => (kind === 'held' ? held : none),
    read: () => undefined,
    index: { queuedHeals: () => none },
  } as unknown as PresentRows;
  const steps = heldItems(rows, undefined, EVERYTHING);
  held.delete('shop-7');
  held.set('other', heldRow(0));
  let pauses = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses += 1;
  expect(step.value.map((item) => item.instance)).toEqual(names);
  expect(pauses).toBeGreaterThan(20);
});

function heldRow(index: number): HeldRow {
  return { digest: `${index}`, servers: [], reason: 'the limit is 5', since: '2026-11-27T10:00:00.000Z' };
}
