// Counts the work of reads and dry runs: each server and each key is looked at a few times, however many there are.
import { expect, it, vi } from 'vitest';
import type { DesiredState } from '../src/desired/desired-state.ts';
import type { Layer } from '../src/hiera/node.ts';
import type { Client } from '../src/model/objects.ts';
import { createReader } from '../src/service/read/reader.ts';
import { serverChanges } from '../src/service/write/preview.ts';
import { coreOn, failing } from './service/core-on.ts';
import { open, refusal } from './service/service.ts';
import { repositoryFiles, rolePath, roleText } from './support/sized-repository.ts';
import { TextRepository } from './support/text-repository.ts';

it.each(['why', 'servers', 'recorded'] as const)(
  '%s reads each server a few times for a client of a tenant',
  async (read) => {
    const servers = 1_000;
    const core = await coreOn(
      {
        'stacks/templates/g.yaml': `resources: { db: { type: Platform::ResourceGroup, properties: { count: "${servers}",
  max_unavailable: "100%", resource_def: { properties: { name: "db-<<index>>" } } } } }\n`,
        'stacks/instances/g.yaml': 'stackTemplate: g\ntenant: ta\n',
      },
      failing,
    );
    const by: Client = { ...core.order.by, tenant: 'ta' };
    const query = { instance: null, states: ['failed'], search: '', after: '', limit: 500 } as const;
    const looks = vi.spyOn(core.ledger, 'server');
    if (read === 'why') expect(core.operator.why(by, 'g').counts).toEqual({ failed: servers });
    else if (read === 'servers') expect(core.operator.servers(by, query).servers).toHaveLength(500);
    else expect(core.operator.recorded(by).servers).toHaveLength(servers);
    expect(looks.mock.calls.length).toBeGreaterThan(servers / 2);
    expect(looks.mock.calls.length).toBeLessThan(20 * servers);
  },
);

it('an unknown node is answered without reading all nodes', async () => {
  const { repository, ledger } = await open();
  const desired = repository.commit({});
  const [unit] = desired.units.values();
  const units = new Map(Array.from({ length: 5_000 }, (_, index) => [`stack-instance/i${index}`, unit] as const));
  let looked = 0;
  units.values = () =>
    units.keys().map(() => {
      looked += 1;
      return unit;
    });
  const many = createReader({
    desired: () => ({ ...desired, units }) as never,
    desiredVersion: () => 0,
    refused: () => undefined,
    notReadyReason: () => '',
    rows: ledger,
    stallsOf: () => undefined,
    now: () => 0,
  });
  for (const ask of [() => many.record('nope'), () => many.explainedRecord('nope'), () => many.value('nope', 'port')]) {
    looked = 0;
    expect(refusal(ask)).toMatch(/^not_found: There is no node "nope"/);
    expect(looked).toBeLessThanOrEqual(1_000);
  }
});

/** Returns the state with layers that count how often their keys are listed, and how often they are read. */
function counted(desired: DesiredState, looks: { lists: number; reads: number }, layers: Map<Layer, Layer>) {
  function countedLayer(layer: Layer): Layer {
    const known = layers.get(layer) ?? { ...layer, values: new Proxy(layer.values, { ownKeys: listed, get: read }) };
    layers.set(layer, known);
    return known;
  }
  function listed(values: Layer['values']): (string | symbol)[] {
    looks.lists += 1;
    return Reflect.ownKeys(values);
  }
  function read(values: Layer['values'], key: string): unknown {
    looks.reads += 1;
    return Reflect.get(values, key);
  }
  const units = [...desired.units].map(([address, unit]) => {
    const nodes = [...unit.nodes].map(([name, node]) => {
      return [name, { ...node, shared: node.shared.map(countedLayer) }] as const;
    });
    return [address, { ...unit, nodes: new Map(nodes) }] as const;
  });
  return { ...desired, units: new Map(units) };
}

it('a dry run compares two versions of a role once, however many servers have the role', () => {
  const [servers, keys] = [1_000, 40];
  const others = Array.from({ length: keys }, (_, index) => `key_${index}: ${index}\n`).join('');
  const repository = new TextRepository();
  repository.commit(repositoryFiles({ instances: 2, servers, kinds: 2 }));
  const before = repository.commit({ [rolePath(1)]: roleText(80) + others });
  const after = repository.commit({ [rolePath(1)]: roleText(9000) + others });
  const looks = { lists: 0, reads: 0 };
  const layers = new Map<Layer, Layer>();
  const states = { before: counted(before, looks, layers), after: counted(after, looks, layers) };
  const changes = serverChanges({ ...states, held: new Set() });
  expect(changes).toHaveLength(servers);
  expect(changes[0]).toEqual({ server: 'instance-1-web-1', instance: 'instance-1', change: 'record' });
  expect(looks.lists).toBe(2);
  expect(looks.reads).toBeLessThanOrEqual(10 * (servers + keys));
});
