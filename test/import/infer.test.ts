// Tests what is inferred: selectors, groups, templates and layers; and, for any estate, that every record equals its source.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { derive } from '../../src/derive.ts';
import type { Located } from '../../src/import/foreign-yaml.ts';
import { inferInstances } from '../../src/import/infer-instances.ts';
import { inferLayers } from '../../src/import/infer-layers.ts';
import type { SelectedNames, SelectorType } from '../../src/import/infer-selectors.ts';
import type { Inventory } from '../../src/import/inventory.ts';
import { proveImport } from '../../src/import/prove-import.ts';
import { snapshotOf } from '../catalog/snapshots.ts';
import { countRuns } from '../support/count-runs.ts';
import { textsAfter } from '../support/text-repository.ts';
import { importOf, inventoryOf, leftOutOf } from './imported.ts';

type Plain = string | number | boolean | readonly string[];

interface PlainServer {
  readonly name: string;
  readonly values?: Readonly<Record<string, Plain>>;
  readonly facets?: Readonly<Record<string, string>>;
  readonly isOwn?: boolean;
}

function addAll(inventory: Inventory, servers: readonly PlainServer[]): void {
  for (const [index, { name, values = {}, facets = {}, isOwn = false }] of servers.entries()) {
    const at = { file: 'source', line: index + 1 };
    const locate = (value: Plain): Located =>
      typeof value === 'object'
        ? { kind: 'list', items: value.map((item) => ({ kind: 'scalar' as const, value: item, ...at })), ...at }
        : { kind: 'scalar', value, ...at };
    const variables = Object.entries(values).map(([key, value]) => [key, locate(value), isOwn] as const);
    inventory.add({ name, variables, facets: Object.entries(facets), ...at });
  }
}

function imported(servers: readonly PlainServer[], layers?: ReadonlyMap<SelectorType, string>) {
  return importOf((inventory) => addAll(inventory, servers), layers === undefined ? {} : { layers: new Map(layers) });
}

/** Returns the files below types/ as objects of their lines. */
function typesIn(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const objects = Object.entries(files).filter(([path]) => path.startsWith('types/'));
  return Object.fromEntries(
    objects.map(([path, text]) => [path.slice(6, -5), text.split('\n').slice(1, -1).join('; ')]),
  );
}

describe('groups', () => {
  const runsOf = (...names: string[]) => {
    const { nodes } = inventoryOf((inventory) =>
      addAll(
        inventory,
        names.map((name) => ({ name })),
      ),
    );
    const selecting = [...nodes.values()].map((node) => ({ node, selection: new Map() as SelectedNames }));
    return inferInstances(selecting).flatMap(({ name, runs }) =>
      runs.map(({ names: [first], values: { prefix, index_start: start, count, suffix } }) =>
        prefix === undefined ? `${name}: ${first}` : `${name}: ${prefix}|${start}+${count}|${suffix}`,
      ),
    );
  };

  test.each<[names: string, runs: readonly string[]]>([
    ['web1 web2 web3', ['web: web|1+3|']],
    ['web-08 web-09 web-10', ['web: web-|08+3|']],
    ['web-10 web-11', ['web: web-|10+2|']],
    ['a1.x.org a2.x.org a1.y.org', ['a: a|1+2|.x.org', 'a1: a1.y.org']],
    ['n-1-web n-2-web', ['n: n-|1+2|-web']],
    ['n1 n2 n4 n5', ['n: n|1+2|', 'n-2: n|4+2|']],
    ['n1 n2 n90 n91', ['n: n|1+2|', 'n-2: n|90+2|']],
    ['n1 n01', ['servers: n01', 'servers: n1']],
    ['n1 n02 n03', ['n: n|02+2|', 'n1: n1']],
    ['n1 n4', ['servers: n1', 'servers: n4']],
    ['20261101 20261102', ['servers: |20261101+2|']],
    ['a1234567890123 a1234567890124', ['servers: a1234567890123', 'servers: a1234567890124']],
    ['alpha beta', ['servers: alpha', 'servers: beta']],
  ])('%s', (names, runs) => {
    expect(runsOf(...names.split(' '))).toEqual(runs);
  });
});

describe('templates', () => {
  it('are shared by similar instances, with parameters for differences', () => {
    const servers = ['prod', 'stage'].flatMap((environment) =>
      ['1', '2'].map((index) => ({ name: `${environment}-web-${index}`, facets: { environment, role: 'web' } })),
    );
    const { files, problems } = imported([
      ...servers,
      { name: 'stage-web-3', facets: { environment: 'stage', role: 'web' } },
    ]);
    expect(problems).toEqual([]);
    expect(Object.keys(files).filter((path) => path.startsWith('stacks/templates/'))).toEqual([
      'stacks/templates/web.yaml',
    ]);
    expect(files['stacks/instances/stage-web.yaml']).toContain(
      'prefix: stage-web-\n  count: "3"\n  environment: stage\n',
    );
  });

  it('of servers without a name pattern list each server', () => {
    const { files, problems } = imported(
      ['alpha.example.com', 'beta.example.com', 'beta.example.org'].map((name) => ({ name })),
    );
    expect(problems).toEqual([]);
    expect(files['stacks/templates/servers.yaml']).toContain('  alpha:\n    type: Platform::Server\n');
    expect(files['stacks/templates/servers.yaml']).toContain('  beta.example.org:\n');
  });
});

describe('layers', () => {
  const web = (index: number, values: Readonly<Record<string, Plain>>, environment = 'prod'): PlainServer => ({
    name: `${environment}-web-${index}`,
    facets: { environment, role: 'web' },
    values,
  });
  const db = (values: Readonly<Record<string, Plain>>): PlainServer => ({
    name: 'db',
    facets: { environment: 'prod', role: 'db' },
    values,
  });

  it('have the keys common to all their servers, the most general first', () => {
    const servers = [
      web(1, { a: 1, b: 1, c: 1 }),
      web(2, { a: 1, b: 1, c: 1 }),
      db({ a: 1, b: 1, c: 2 }),
      web(1, { a: 1, b: 2, c: 1 }, 'test'),
    ];
    expect(typesIn(imported(servers).files)).toEqual({
      'common/global': 'a: 1',
      'environment/prod': 'b: 1',
      'environment/test': 'b: 2',
      'role/db': 'c: 2',
      'role/web': 'c: 1',
    });
  });

  it('have the value of most servers, which others override', () => {
    const servers = [1, 2, 3, 4].map((index) => web(index, { log: index === 4 ? 'debug' : 'info' }));
    expect(typesIn(imported([...servers, db({ log: 'info' })]).files)).toEqual({
      'clientcert/prod-web-4': 'log: debug',
      'common/global': 'log: info',
      'role/db': 'description: Servers of the role db',
      'role/web': 'description: Servers of the role web',
    });
  });

  it('have a value for all that an environment overrides', () => {
    const servers = ['a', 'b', 'c', 'd', 'e', 's'].flatMap((prefix) =>
      [1, 2].map((index) => ({
        name: `${prefix}-${index}`,
        facets: prefix === 's' ? { environment: 'staging', role: prefix } : { role: prefix },
        values: { env: prefix === 's' ? 'staging' : 'production' },
      })),
    );
    expect(typesIn(imported(servers).files)).toMatchObject({
      'common/global': 'env: production',
      'environment/staging': 'env: staging',
      'role/a': 'description: Servers of the role a',
    });
  });

  it('are removed with null for the few servers without a key', () => {
    const servers = Array.from({ length: 30 }, (_, index) => web(index, index === 7 ? {} : { a: 1 }));
    const { files, proof } = imported(servers);
    expect([typesIn(files)['common/global'], typesIn(files)['clientcert/prod-web-7'], proof.differing]).toEqual([
      'a: 1',
      'a: null',
      0,
    ]);
  });

  it('have no key that many of their servers lack', () => {
    const servers = [web(1, { a: 1 }), web(2, { a: 1 }), web(3, {}), web(4, { a: 1 })];
    expect(typesIn(imported(servers).files)).toMatchObject({
      'clientcert/prod-web-1': 'a: 1',
      'clientcert/prod-web-4': 'a: 1',
    });
  });

  it('of an instance are its configuration', () => {
    const servers = ['a', 'b'].flatMap((prefix) =>
      [1, 2, 3].map((index) => ({
        name: `${prefix}-${index}`,
        facets: { role: 'web' },
        values: { port: prefix === 'a' ? 80 : 81, own: `${prefix}${index * 7}` },
      })),
    );
    const { files, proof, problems } = imported([...servers, { name: 'c-1', facets: { role: 'web' }, values: {} }]);
    expect({ problems, differing: proof.differing }).toEqual({ problems: [], differing: 0 });
    expect(typesIn(files)).toMatchObject({
      'configuration/a': 'port: 80',
      'configuration/b': 'port: 81',
      'clientcert/a-1': 'own: a7',
    });
    expect(files['stacks/instances/a.yaml']).toContain('configuration: a\n');
  });

  it('do not exist if each server has its own values', () => {
    const nodes = inventoryOf((inventory) =>
      addAll(
        inventory,
        [1, 2, 3].map((index) => ({ ...web(index, { ip: `192.0.2.${index}` }), isOwn: true })),
      ),
    ).nodes;
    const objects = inferLayers(
      [...nodes.values()].map((node) => ({
        node,
        selection: new Map([['role', 'web']]) as SelectedNames,
      })),
      new Map(),
    );
    expect([...objects.keys()]).toEqual(['clientcert/prod-web-1', 'clientcert/prod-web-2', 'clientcert/prod-web-3']);
  });
});

describe('selected objects', () => {
  it('are named by a key, fact or group of that name or a synonym', () => {
    const facets = { 'os.env': 'prod', datacenter: 'fra', 'tags::Role': 'web', size: 'm' };
    const { files, problems } = imported(
      [1, 2].map((index) => ({ name: `a-${index}`, facets, values: { zone: 'dmz' } })),
    );
    expect(problems).toEqual([]);
    for (const line of ['environment: prod', 'location: fra', 'zone: dmz', 'shape: m', 'role: web']) {
      expect(files['stacks/templates/web.yaml']).toContain(`${line}\n`);
    }
  });

  it('are named as the user chose', () => {
    const facets = { role: 'web', function: 'cache' };
    const { files } = imported([{ name: 'a', facets }], new Map([['role', 'function']]));
    expect(Object.keys(files)).toContain('types/role/cache.yaml');
    expect(() => imported([{ name: 'a', facets }], new Map([['role', 'nothing']]))).toThrow(
      'no server has "nothing", of which --layer makes its role',
    );
  });

  it('are not named by invalid names or unique facts', () => {
    const servers = [1, 2, 3, 4].map((index) => ({
      name: `a-${index}`,
      facets: { role: `r${index}` },
      values: { zone: index === 1 ? ['a'] : 'x y' },
    }));
    const { inventory, files, problems } = imported(servers);
    expect(problems).toEqual([]);
    expect(Object.keys(files).filter((path) => path.startsWith('types/'))).toEqual([]);
    expect(leftOutOf(inventory)[0]).toBe('source:1 zone: "zone" selects a layer, and this value is not a valid name');
  });

  it('form a tree in which levels may be omitted', () => {
    const places: readonly Readonly<Record<string, string>>[] = [
      { environment: 'prod', location: 'fra', zone: 'dmz' },
      { environment: 'prod', location: 'ams' },
      { environment: 'prod', zone: 'dmz' },
      { location: 'fra' },
      { environment: 'test' },
      {},
    ];
    const { files, problems } = imported(places.map((values, index) => ({ name: `s${index * 9}`, values })));
    expect(problems).toEqual([]);
    expect(files['tree.yaml']?.match(/name: \w+/g)).toEqual([
      'name: global',
      'name: prod',
      'name: ams',
      'name: fra',
      'name: dmz',
      'name: test',
    ]);
    const clash = [
      { name: 'a', values: { environment: 'lab' } },
      { name: 'b', values: { location: 'lab' } },
    ];
    expect(() => imported(clash)).toThrow('lab is the name of a environment and of a location');
  });
});

describe('the proof', () => {
  const servers = [1, 2].map((index) => ({
    name: `web-${index}`,
    facets: { role: 'web' },
    values: { port: 80, ntp: ['one'] },
  }));

  const ALL = [1, 2].flatMap((at) => [
    `web-${at} port source:${at} 80 null`,
    `web-${at} ntp source:${at} ["one"] null`,
  ]);

  it.each<[what: string, changes: Readonly<Record<string, string | null>>, differences: readonly string[]]>([
    ['another value', { 'types/clientcert/web-2.yaml': 'port: 81\n' }, ['web-2 port source:2 80 81']],
    ['a missing key', { 'types/clientcert/web-2.yaml': 'port: ~\n' }, ['web-2 port source:2 80 null']],
    [
      'an additional key',
      { 'types/role/web.yaml': 'more: true\n' },
      ['web-1 more null null true', 'web-2 more null null true'],
    ],
    [
      'a server of no stack',
      { 'stacks/instances/web.yaml': null, 'types/clientcert/web-1.yaml': 'port: 80\nntp: [one]\n' },
      ALL,
    ],
    ['files that cannot be followed', { 'tree.yaml': 'a: b: c\n' }, ALL],
  ])('finds %s', (_what, changes, differences) => {
    const { inventory, files, selections } = imported(servers);
    const proof = proveImport(inventory, selections, derive(snapshotOf(textsAfter(files, changes))));
    const lines = proof.differences.map(({ node, key, file, line, source, record }) => {
      return `${node} ${key} ${file === null ? null : `${file}:${line}`} ${JSON.stringify(source)} ${JSON.stringify(record)}`;
    });
    expect({ differing: proof.differing, lines }).toEqual({ differing: differences.length, lines: differences });
  });
});

test('writeRepository gives the records of any sources', () => {
  const value: fc.Arbitrary<Plain> = fc.oneof(
    fc.constantFrom<Plain>(
      'info',
      'debug',
      true,
      false,
      80,
      1.5,
      '80',
      'true',
      '',
      '<<x>>',
      'a: b',
      '- x',
      'two\nlines\n',
      '0644',
      ' x ',
    ),
    fc.array(fc.constantFrom('a', 'b', '<<index>>', '')),
    fc.string({ unit: 'binary', maxLength: 8 }),
  );
  const server = fc.record({
    name: fc
      .tuple(
        fc.constantFrom('web-', 'db', 'n.x-'),
        fc.constantFrom('1', '2', '3', '01', '02', '9', ''),
        fc.constantFrom('', '.example.com'),
      )
      .map((parts) => parts.join('').replace(/^n\.x-$/, 'n')),
    values: fc.dictionary(fc.constantFrom('a', 'b', 'c::d', 'zone', 'description', 'role'), value),
    facets: fc.dictionary(
      fc.constantFrom('environment', 'role', 'datacenter', 'size'),
      fc.constantFrom('one', 'two', 'prod', 'x y'),
    ),
    isOwn: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.uniqueArray(server, { selector: ({ name }) => name, minLength: 1, maxLength: 12 }), (servers) => {
      try {
        const { proof, problems } = imported(servers);
        expect({ problems, differences: proof.differences }).toEqual({ problems: [], differences: [] });
      } catch (error) {
        // One name for an environment and a location is refused.
        if (!(error instanceof Error && /^\w+ is the name of a /.test(error.message))) throw error;
      }
    }),
    { numRuns: countRuns(25) },
  );
});
