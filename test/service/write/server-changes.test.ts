// Counts the work of a dry run: thousands of servers share the layer of an object.
import { expect, test } from 'vitest';
import type { DesiredState } from '../../../src/desired/desired-state.ts';
import type { Layer } from '../../../src/hiera/node.ts';
import { serverChanges } from '../../../src/service/write/server-changes.ts';
import { repositoryFiles, rolePath, roleText } from '../../support/sized-repository.ts';
import { TextRepository } from '../../support/text-repository.ts';

/** Returns the state with layers that count how often their keys are listed. */
function counted(desired: DesiredState, count: () => void, layers: Map<Layer, Layer>): DesiredState {
  function countedLayer(layer: Layer): Layer {
    const known = layers.get(layer) ?? { ...layer, values: new Proxy(layer.values, { ownKeys: listed }) };
    layers.set(layer, known);
    return known;
  }
  function listed(values: Layer['values']): (string | symbol)[] {
    count();
    return Reflect.ownKeys(values);
  }
  const units = [...desired.units].map(([address, unit]) => {
    const nodes = [...unit.nodes].map(([name, node]) => {
      return [name, { ...node, shared: node.shared.map(countedLayer) }] as const;
    });
    return [address, { ...unit, nodes: new Map(nodes) }] as const;
  });
  return { ...desired, units: new Map(units) };
}

test('serverChanges compares two versions of a role once, however many servers have the role', () => {
  const repository = new TextRepository();
  const before = repository.commit(repositoryFiles({ instances: 2, servers: 500, kinds: 2 }));
  const after = repository.commit({ [rolePath(1)]: roleText(9000) });
  let lists = 0;
  const count = (): void => {
    lists += 1;
  };
  const layers = new Map<Layer, Layer>();
  const states = { before: counted(before, count, layers), after: counted(after, count, layers) };
  const changes = serverChanges({ ...states, held: new Set() });
  expect(changes).toHaveLength(500);
  expect(changes[0]).toEqual({ server: 'instance-1-web-1', instance: 'instance-1', change: 'record' });
  expect(lists).toBe(2);
});
