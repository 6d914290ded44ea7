// Tests that a commit which concerns many instances is read once for all of them.
import { expect, it, vi } from 'vitest';
import { policiesOf, searchesFor } from '../../src/desired/loss-policy.ts';
import { newReceivers } from '../../src/desired/undetermined.ts';
import { TextRepository } from '../support/text-repository.ts';

const NAMES = Array.from({ length: 20 }, (_, at) => `i${at}`);

/** A file for each instance. */
function filesOf(textOf: (name: string) => string | null): Record<string, string | null> {
  return Object.fromEntries(NAMES.map((name) => [`stacks/instances/${name}.yaml`, textOf(name)]));
}

function followed(): TextRepository {
  const repository = new TextRepository();
  repository.commit({
    'tree.yaml': 'name: global\ntype: common\n',
    'clients/A1.yaml': 'role: administrator\n',
    'stacks/templates/t.yaml': 'resources: { w: { type: "Platform::Server", properties: {} } }\n',
    'stacks/instances/stays.yaml': 'stackTemplate: t\n',
    ...filesOf((name) => `stackTemplate: t\ndescription: ${name}\n`),
  });
  return repository;
}

it('derive searches all paths for moved files once', () => {
  const repository = followed();
  const before = repository.commit({});
  const moved = Object.fromEntries(NAMES.map((name) => [`attic/${name}`, `stackTemplate: t\ndescription: ${name}\n`]));
  const { candidates, catalog } = repository.commit({ ...filesOf(() => null), ...moved });
  const places = new Map(catalog.places);
  const read = vi.spyOn(places, Symbol.iterator);
  const receiversOf = newReceivers({ candidates, catalog: { ...catalog, places } }, before);
  expect(NAMES.map(receiversOf)).toEqual(NAMES.map((name) => [`attic/${name}`]));
  expect(read.mock.calls.length).toBeLessThanOrEqual(2);
});

it('derive finds the owners of the servers of the followed commit once', () => {
  const repository = followed();
  const before = repository.commit(filesOf(() => 'stackTemplate: missing\n'));
  const candidates = new Map(before.candidates);
  const read = vi.spyOn(candidates, 'values');
  policiesOf(searchesFor(new Map(), before), before, { ...before, candidates });
  expect(before.invalid.size).toBe(NAMES.length);
  expect(read).toHaveBeenCalledTimes(1);
});
