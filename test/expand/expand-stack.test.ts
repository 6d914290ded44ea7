import { describe, expect, test } from 'vitest';
import { type Expansion, expandStack } from '../../src/expand/expand-stack.ts';
import { describeProblems, instanceEntry, templateEntry } from '../support/entries.ts';

/** Expands a template (lines 1 and 2 are blank) with an instance of it (line 1 names the template). */
function expand(template: string, instance = ''): Expansion {
  return expandStack(instanceEntry(`stackTemplate: web\n${instance}`), templateEntry(`\n\n${template}`));
}

/** Every server by name, with its properties. */
function propertiesOf(template: string, instance = ''): Record<string, unknown> {
  const { servers, problems } = expand(template, instance);
  expect(describeProblems(problems)).toEqual([]);
  return Object.fromEntries(servers.map(({ name, properties }) => [name, { ...properties }]));
}

function group(fields: string, properties = '{}'): string {
  return `resources:
  web:
    type: Platform::ResourceGroup
    properties: { resource_def: { properties: ${properties} }, ${fields} }
`;
}

function server(properties: string): string {
  return `resources: { db: { type: Platform::Server, properties: ${properties} } }`;
}

test('expandStack returns the rollout of a group, and the default for a single server', () => {
  const fields = 'count: "<<n>>", max_unavailable: "25%", pause_seconds: "30"';
  const { keys, servers } = expand(`parameters: { n: "1" }\n${group(fields)}  db: { type: Platform::Server }\n`);
  expect(keys).toEqual(['web', 'db']);
  expect(servers).toMatchObject([
    { name: 'shop-web-1', instance: 'shop', key: 'web', index: '1', maxUnavailable: '25%', pauseSeconds: 30 },
    { name: 'shop-db', instance: 'shop', key: 'db', index: null, maxUnavailable: '1', pauseSeconds: 0 },
  ]);
});

describe('parameters', () => {
  const template =
    'parameters: { zone: inner, note: "" }\nresources: { db: { type: Platform::Server, properties: { z: "<<zone>>/<<note>>" } } }';

  test.each<[what: string, instance: string, value: string]>([
    ['the default', 'parameters: { note: n }', 'inner/n'],
    ['the value of the instance', 'parameters: { zone: outer, note: n }', 'outer/n'],
    ['an explicit empty value', 'parameters: { zone: "", note: "" }', '/'],
    ['a value with a placeholder', 'parameters: { note: "<<<zone" }', 'inner/<<<zone'],
  ])('%s', (_what, instance, value) => {
    expect(propertiesOf(template, instance)).toEqual({ 'shop-db': { name: 'shop-db', z: value } });
  });

  test.each<[what: string, instance: string, problem: string]>([
    [
      'an unknown parameter',
      'parameters: { note: n, constructor: a }',
      'shop.yaml:2:24 undeclared_parameter: the template "web" has no parameter "constructor" (remove it, or declare it in the template) [shop]',
    ],
  ])('%s', (_what, instance, problem) => {
    expect(describeProblems(expand(template, instance).problems)).toEqual([problem]);
  });

  test('may be added by an instance with or without a default', () => {
    const added =
      'stackTemplateAdditions: { parameters: { more: "" }, resources: { db: { properties: { z: "<<more>>" } } } }';
    expect(propertiesOf(template, `parameters: { note: n, more: m }\n${added}`)).toMatchObject({
      'shop-db': { z: 'm' },
    });
    expect(describeProblems(expand(template, `parameters: { note: n }\n${added}`).problems)).toEqual([
      'shop.yaml:2:13 missing_parameter: the parameter "more" has no value (give it one under parameters; an empty one is written more: "") [shop]',
    ]);
  });

  test('removed by an instance need no value and accept none', () => {
    const away = 'stackTemplateSubstractions: { parameters: { note: {} } }';
    const other = 'stackTemplateAdditions: { resources: { db: { properties: { z: x } } } }';
    expect(propertiesOf(template, `${away}\n${other}`)).toMatchObject({ 'shop-db': { z: 'x' } });
    expect(describeProblems(expand(template, `${away}\n${other}\nparameters: { note: n }`).problems)).toEqual([
      'shop.yaml:4:15 undeclared_parameter: the template "web" has no parameter "note" (stackTemplateSubstractions takes it away: remove one of the two) [shop]',
    ]);
  });
});

describe('groups', () => {
  test.each<[what: string, fields: string, names: readonly string[]]>([
    ['from 1', 'count: "3"', ['shop-web-1', 'shop-web-2', 'shop-web-3']],
    ['from 0', 'count: "2", index_start: "0"', ['shop-web-0', 'shop-web-1']],
    ['from 9', 'count: "2", index_start: "9"', ['shop-web-9', 'shop-web-10']],
    ['beyond the padding', 'count: "2", index_start: "09"', ['shop-web-09', 'shop-web-10']],
  ])('%s', (_what, fields, names) => {
    const { keys, servers } = expand(group(fields));
    expect(servers.map(({ name }) => name)).toEqual(names);
    expect(keys).toEqual(['web']);
  });

  test.each<[what: string, fields: string, index: string, indexes: readonly string[]]>([
    ['the first index', 'count: "2"', '["1"]', ['2', '3']],
    ['several indexes, one of them twice', 'count: "2"', '["1", "3", "3"]', ['2', '4']],
    ['an index in any padding', 'count: "2", index_start: "01"', '["1", "002"]', ['03', '04']],
  ])('retires %s', (_what, fields, index, indexes) => {
    const { servers, problems } = expand(
      group(fields),
      `stackTemplateSubstractions: { resources: { web: { index: ${index} } } }`,
    );
    expect(problems).toEqual([]);
    expect(servers.map((one) => one.index)).toEqual(indexes);
  });

  test.each<[what: string, template: string, instance: string, problem: string]>([
    [
      'a parameter of the instance',
      `parameters: { n: "" }\n${group('count: "<<n>>"')}`,
      'parameters: { n: many }',
      'shop.yaml:2:18 bad_group_property: count of "web" is "many"; it must be a whole number from 0 to 10,000 (write digits in quotes, such as "2") [shop]',
    ],
    [
      'a value of the template',
      `parameters: { n: many }\n${group('count: "<<n>>"')}`,
      '',
      'web.yaml:3:18 bad_group_property: count of "web" is "many"; it must be a whole number from 0 to 10,000 (write digits in quotes, such as "2") [shop]',
    ],
    [
      'a text of the template with a parameter',
      `parameters: { n: many }\n${group('count: "1<<n>>"')}`,
      '',
      'web.yaml:7:60 bad_group_property: count of "web" is "1many"; it must be a whole number from 0 to 10,000 (write digits in quotes, such as "2") [shop]',
    ],
    [
      'a value of an addition',
      group('count: "1"'),
      'stackTemplateAdditions: { resources: { web: { properties: { max_unavailable: "0%" } } } }',
      'shop.yaml:2:78 bad_group_property: max_unavailable of "web" is "0%"; it must be a whole number from 1 to 10,000, or a percentage from "1%" to "100%" (write digits in quotes, such as "1" or "25%") [shop]',
    ],
  ])('report a wrong number in %s', (_what, template, instance, problem) => {
    expect(describeProblems(expand(template, instance).problems)).toEqual([problem]);
  });
});

describe('Array placeholders', () => {
  const web = `web: { type: Platform::ResourceGroup, properties: { count: "<<n>>", resource_def: { properties: { ip: "10.0.0.<<index>>", all: ["<<index>>", x], peers: "<<(Array)['web']['ip']>>" } } } }`;
  const template = (value: string): string =>
    `parameters: { n: "2" }\nresources:\n  ${web}\n  db: { type: Platform::Server, properties: { value: ${value} } }\n`;

  test.each<[what: string, value: string, n: string, expanded: unknown]>([
    ['of one member', `"<<(Array)['web']['ip']>>"`, '1', ['10.0.0.1']],
    ['of a single server', `"<<(Array)['db']['name']>>"`, '0', ['shop-db']],
    ['of generated names', `"<<(Array)['web']['name']>>"`, '1', ['shop-web-1']],
    ['of lists, without nesting', `"<<(Array)['web']['all']>>"`, '2', ['1', 'x', '2', 'x']],
    ['of lists in a longer text', `"<<(Array)['web']['all']>>;"`, '2', '1,x,2,x;'],
    ['of lists of other Array placeholders', `"<<(Array)['web']['peers']>>"`, '1', ['10.0.0.1']],
    ['twice', `"<<(Array)['web']['ip']>><<(Array)['web']['ip']>>"`, '1', '10.0.0.110.0.0.1'],
  ])('%s', (_what, value, n, expanded) => {
    expect(propertiesOf(template(value), `parameters: { n: "${n}" }`)['shop-db']).toEqual({
      name: 'shop-db',
      value: expanded,
    });
  });

  test('read values that other Array placeholders give', () => {
    const chain = `resources:
  a: { type: Platform::Server, properties: { x: "<<(Array)['b']['x']>>" } }
  b: { type: Platform::Server, properties: { x: "<<(Array)['c']['x']>>", y: "<<(Array)['d']['name']>>" } }
  c: { type: Platform::Server, properties: { x: "1" } }
  d: { type: Platform::Server, properties: { configuration_only: "<<(Array)['c']['name']>>" } }
`;
    const lists = Object.fromEntries(expand(chain).servers.map((one) => [one.key, one.lists]));
    expect(lists).toEqual({ a: ['shop-b', 'shop-c'], b: ['shop-c', 'shop-d'], c: [], d: ['shop-c'] });
  });

  test('share equal lists between members', () => {
    const { servers } = expand(template('x'), 'parameters: { n: "2" }');
    expect(servers[0]?.properties.peers).toBe(servers[1]?.properties.peers);
  });

  test('implies no order', () => {
    expect(expand(template(`"<<(Array)['web']['ip']>>"`)).servers.flatMap(({ dependsOn }) => dependsOn)).toEqual([]);
  });
});

describe('names', () => {
  test.each<[what: string, template: string, instance: string, problem: string]>([
    [
      'an invalid name from a parameter',
      `parameters: { p: "" }\n${server('{ name: "<<p>>" }')}`,
      'parameters: { p: "a b" }',
      'shop.yaml:2:18 bad_server_name: the server name "a b" of "db" contains something other than letters, digits, ".", "_" and "-" [shop]',
    ],
    [
      'the reserved name "all"',
      server('{ name: all }'),
      '',
      'web.yaml:3:64 bad_server_name: the server name "all" of "db" is kept for the list of all records [shop]',
    ],
    [
      'a name that becomes too long',
      `resources: { ${'k'.repeat(248)}: { type: Platform::Server } }`,
      '',
      `web.yaml:3:264 bad_server_name: the server name "shop-${'k'.repeat(75)}…" of "${'k'.repeat(248)}" is longer than 250 characters [shop]`,
    ],
    [
      'one name for two resources',
      'resources:\n  a: { type: Platform::Server, properties: { name: x } }\n  b: { type: Platform::Server, properties: { name: x } }',
      '',
      'web.yaml:5:52 duplicate_server_name: "b" makes the server "x", and "a" makes it too (give one of them another name) [shop]',
    ],
  ])('%s', (_what, template, instance, problem) => {
    expect(describeProblems(expand(template, instance).problems)).toEqual([problem]);
  });
});

describe('depends_on', () => {
  const template = (dependsOn: string): string => `
parameters: { dep: "" }
resources:
  app: { type: Platform::Server, properties: { depends_on: ${dependsOn} } }
  web: { type: Platform::ResourceGroup, properties: { count: "2", resource_def: { properties: {} } } }
  db: { type: Platform::Server, properties: { name: data } }
`;

  test.each<[what: string, dependsOn: string, dep: string, names: readonly string[], outside: readonly string[]]>([
    ['a group', 'web', '', ['shop-web-1', 'shop-web-2'], []],
    ['a server name of its own stack', '[shop-web-2, data]', '', ['data', 'shop-web-2'], []],
    ['a parameter', '"<<dep>>"', 'web', ['shop-web-1', 'shop-web-2'], []],
    ['an Array placeholder', `"<<(Array)['web']['name']>>"`, '', ['shop-web-1', 'shop-web-2'], []],
  ])('%s', (_what, dependsOn, dep, names, outside) => {
    const { servers, problems } = expand(template(dependsOn), `parameters: { dep: "${dep}" }`);
    expect(problems).toEqual([]);
    expect(servers[0]?.dependsOn).toEqual(names);
    expect(servers[0]?.outside.map((one) => one.server)).toEqual(outside);
  });

  test('records the place of the name of a server of another stack', () => {
    const { servers } = expand(template('[db, other]'), 'parameters: { dep: "" }');
    expect(servers[0]?.outside[0]?.origin).toMatchObject({ pointer: '/resources/app/properties/depends_on/1' });
  });

  const circle = 'dependency_cycle: dependencies go in a circle:';
  const hint = '(remove one of these depends_on) [shop]';

  test.each<[what: string, template: string, instance: string, problem: string]>([
    [
      'a member on which all others depend',
      group('count: "2"', '{ depends_on: shop-web-1 }'),
      '',
      `web.yaml:6:61 ${circle} shop-web-1 → shop-web-1 ${hint}`,
    ],
    [
      'a key and a name',
      `resources:
  a: { type: Platform::Server, properties: { depends_on: b } }
  b: { type: Platform::Server, properties: { depends_on: shop-a } }
`,
      '',
      `web.yaml:4:58 ${circle} shop-a → b → shop-a ${hint}`,
    ],
    [
      'a cycle closed by an addition',
      template('db'),
      'parameters: { dep: x }\nstackTemplateAdditions: { resources: { db: { properties: { depends_on: app } } } }',
      `shop.yaml:3:72 ${circle} db → app → db ${hint}`,
    ],
  ])('reports a cycle: %s', (_what, text, instance, problem) => {
    expect(describeProblems(expand(text, instance).problems)).toEqual([problem]);
  });

  test('accepts members of two groups that depend on each other without a cycle', () => {
    const { problems } = expand(`resources:
  a: { type: Platform::ResourceGroup, properties: { count: "2", resource_def: { properties: { depends_on: "shop-b-<<index>>" } } } }
  b: { type: Platform::ResourceGroup, properties: { count: "1", resource_def: { properties: { depends_on: shop-a-2 } } } }
`);
    expect(problems).toEqual([]);
  });
});

describe('configuration_only', () => {
  test('is not a property, and returns sorted names without repeats', () => {
    const { servers } = expand(server('{ b: x, a: x, configuration_only: [b, name, a, b, ""] }'));
    expect(servers[0]?.configurationOnly).toEqual(['a', 'b', 'name']);
    expect({ ...servers[0]?.properties }).toEqual({ a: 'x', b: 'x', name: 'shop-db' });
  });

  test.each<[what: string, template: string, warning: string]>([
    [
      'is a structural property',
      group('count: "2"', '{ configuration_only: depends_on }'),
      'warning web.yaml:6:69 unknown_configuration_only: configuration_only names "depends_on", which is not a property here (remove it, or add the property)',
    ],
  ])('warns about a name that %s', (_what, template, warning) => {
    const { servers, problems } = expand(template);
    expect(describeProblems(problems)).toEqual([warning]);
    expect(servers[0]?.configurationOnly).toEqual([]);
  });
});

describe('additions and substractions', () => {
  const template = `
parameters: { zone: a }
resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "1", resource_def: { properties: { zone: "<<zone>>", role: web } } }
  db:
    type: Platform::Server
    properties: { role: db, peers: "<<(Array)['web']['zone']>>", depends_on: web }
`;

  test('add a resource', () => {
    const own =
      'stackTemplateAdditions: { resources: { own: { type: Platform::Server, properties: { z: "<<zone>>" } } } }';
    const { keys, servers } = expand(template, own);
    expect(keys).toEqual(['web', 'db', 'own']);
    const added = servers.find(({ key }) => key === 'own');
    expect(added?.originOf('z')).toMatchObject({ pointer: '/stackTemplateAdditions/resources/own/properties/z' });
    expect(added?.originOf('name')).toMatchObject({ pointer: '/stackTemplateAdditions/resources/own' });
  });

  test('keep the origins of changed and unchanged values', () => {
    const { servers } = expand(
      template,
      'stackTemplateAdditions: { resources: { web: { properties: { resource_def: { properties: { role: x } } } } } }',
    );
    const path = '/resources/web/properties/resource_def/properties';
    expect(servers[0]?.originOf('role')).toMatchObject({
      pointer: `/stackTemplateAdditions${path}/role`,
      entry: { path: 'stacks/instances/shop.yaml' },
    });
    expect(servers[0]?.originOf('zone')).toMatchObject({
      pointer: `${path}/zone`,
      entry: { path: 'stacks/templates/web.yaml' },
    });
    expect(servers[0]?.originOf('name')).toMatchObject({ pointer: '/resources/web' });
  });

  const needs = 'still needs it (take that away too, or give it another value in stackTemplateAdditions) [shop]';

  test.each<[what: string, instance: string, problems: readonly string[]]>([
    [
      'a resource that others depend on',
      'stackTemplateSubstractions: { resources: { web: {}, db: { properties: { peers: {} } } } }',
      [
        `shop.yaml:2:44 taken_away_but_used: this is taken away, but "web" at /resources/db/properties/depends_on ${needs}`,
      ],
    ],
    [
      'a property that an Array placeholder lists',
      'stackTemplateSubstractions: { resources: { web: { properties: { resource_def: { properties: { zone: {} } } } } } }',
      [
        `shop.yaml:2:95 taken_away_but_used: this is taken away, but "<<(Array)['web']['zone']>>" at /resources/db/properties/peers ${needs}`,
      ],
    ],
    [
      'the type',
      'stackTemplateSubstractions: { resources: { web: { type: {} }, db: {} } }',
      [
        'shop.yaml:2:57 missing_field: "web" lacks the field "type" (add "type:", one of "Platform::ResourceGroup", "Platform::Server") [shop]',
      ],
    ],
    [
      'another type for the same properties',
      'stackTemplateAdditions: { resources: { web: { type: Platform::Server } } }\nstackTemplateSubstractions: { resources: { db: {} } }',
      [
        'shop.yaml:2:53 wrong_type: "resource_def" is a map, but has to be a text or a list of texts (this type asks for other properties than the template has: change both) [shop]',
      ],
    ],
    [
      'a property of the members',
      'stackTemplateAdditions: { resources: { web: { properties: { role: x } } } }',
      [
        'shop.yaml:2:61 unknown_field: the field "role" is not known here (known are: count, index_start, max_unavailable, pause_seconds, resource_def) [shop]',
      ],
    ],
  ])('%s', (_what, instance, problems) => {
    const expansion = expand(template, instance);
    expect(describeProblems(expansion.problems)).toEqual(problems);
    expect(expansion.servers).toEqual([]);
  });

  test('may depend on a server with the name of a removed resource', () => {
    const { servers, problems } = expand(
      template,
      `stackTemplateSubstractions: { resources: { web: {}, db: { properties: { peers: {} } } } }
stackTemplateAdditions: { resources: { db: { properties: { depends_on: [web] } } } }`,
    );
    expect(problems).toEqual([]);
    expect(servers[0]?.outside.map((one) => one.server)).toEqual(['web']);
  });
});
