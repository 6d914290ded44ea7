// Every mistake that files can have, each in the smallest repository that has it: what an operator is told is in problems.txt.
import type { TextChanges } from '../support/text-repository.ts';

/** A mistake: what an operator did, and the commits that do it on top of {@link RIGHT}; bytes where a text cannot say it. */
export type WrongFile = readonly [title: string, ...commits: readonly TextChanges[]];

const TEMPLATE = 'stacks/templates/web.yaml';
const SHOP = 'stacks/instances/shop.yaml';
const OTHER = 'stacks/instances/other.yaml';
const ROLE = 'types/role/web.yaml';
const TREE = 'tree.yaml';
const HIERARCHY = 'hierarchy.yaml';

const ORDER = `order:
  - common
  - environment
  - zone
  - { type: configuration, name: "<<environment>>-<<zone>>" }
  - shape
  - role
`;

/** A repository without a mistake. */
export const RIGHT = {
  [TREE]: `name: global
type: common
children:
  - { name: prod, type: environment, children: [{ name: dmz, type: zone }] }
  - { name: test, type: environment }
`,
  [HIERARCHY]: `${ORDER}merge: { packages: unique }
secrets: { keys: ["_password$"], reference: "^secret/" }
`,
  'clients/A1.yaml': 'role: administrator\n',
  [TEMPLATE]: `parameters: { zone: dmz, count: "1", port: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      resource_def: { properties: { environment: prod, zone: "<<zone>>", role: web, port: "<<port>>" } }
`,
  [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\n',
  [ROLE]: 'packages: [nginx]\n',
} as const;

/** A template with one server that has these properties, and an instance of it. */
function server(properties: string, parameters = '{}', instance = ''): TextChanges {
  return {
    'stacks/templates/one.yaml': `parameters: ${parameters}\nresources:\n  a: { type: "Platform::Server", properties: { ${properties} } }\n`,
    'stacks/instances/one.yaml': `stackTemplate: one\n${instance}`,
  };
}

function group(properties: string): TextChanges {
  return {
    'stacks/templates/one.yaml': `resources:\n  a: { type: "Platform::ResourceGroup", properties: { ${properties} } }\n`,
    'stacks/instances/one.yaml': 'stackTemplate: one\n',
  };
}

const NAMES_AND_PLACES: readonly WrongFile[] = [
  ['a name with a blank', { 'types/role/web server.yaml': 'a: b\n' }],
  ['a serial in lower case', { 'clients/0a1d.yaml': 'role: proxy\n' }],
  ['the same object in two folders', { 'types/role/old/web.yaml': 'a: b\n' }],
  ['an empty file', { [ROLE]: '' }],
  ['a large file', { [ROLE]: `a: ${'x'.repeat(1024 * 1024)}\n` }],
  ['a file directly below types', { 'types/web.yaml': 'a: b\n' }],
  ['an instance directly below stacks', { 'stacks/shop.yaml': 'stackTemplate: shop\n' }],
  ['an instance in a misspelt folder', { 'stacks/instnaces/shop.yaml': 'stackTemplate: shop\n' }],

  ['a name that is not the file’s', { [ROLE]: 'name: wbe\n' }],
  ['a serial that is not the file’s', { 'clients/B2.yaml': 'role: proxy\nserial: C3\n' }],
  ['a folder of no type', { 'types/rloe/web.yaml': 'a: b\n' }],
  ['templates below types', { 'types/stack-template/web.yaml': 'a: b\n' }],
  ['.yml', { 'types/role/db.yml': 'a: b\n' }],
  ['.yml in the place of an object', { [ROLE]: null, 'types/role/web.yml': 'a: b\n' }],
  ['a folder in the place of an object', { [ROLE]: null, 'types/role/web.yaml/x': 'a: b\n' }],
  ['no tree', { [TREE]: null }],
  ['nothing but mistakes', { [ROLE]: Array.from({ length: 102 }, (_, index) => `k${index}: {}`).join('\n') }],
];

const YAML: readonly WrongFile[] = [
  ['a key twice', { [ROLE]: 'a: b\na: c\n' }],
  ['yes without quotes', { [ROLE]: 'debug: yes\n' }],
  ['a version that is read as a number', { [ROLE]: 'version: 1.10\n' }],
  ['a number that is too large', { [ROLE]: 'id: 12345678901234567890\n' }],
  ['an infinite number', { [ROLE]: 'a: .inf\n' }],
  ['an anchor and an alias', { [ROLE]: 'a: &x b\nc: *x\n' }],
  ['NUL', { [ROLE]: 'a: "\\0"\n' }],
  ['65 levels', { [ROLE]: `a: ${'['.repeat(65)}${']'.repeat(65)}\n` }],
  ['a file of 60,000 values', { [ROLE]: `a: [${Array.from({ length: 60_000 }, () => 'b').join(', ')}]\n` }],
  ['two documents', { [ROLE]: 'a: b\n---\nc: d\n' }],
  ['an empty key', { [ROLE]: '"": b\n' }],
  ['a list as a key', { [ROLE]: '[a]: b\n' }],
  ['a reserved key', { [ROLE]: '__proto__: b\n' }],
  ['a merge key', { [ROLE]: '<<: b\n' }],
  ['a tag', { [ROLE]: 'a: !vault b\n' }],
  ['a conflict that was committed', { [ROLE]: 'a: b\n<<<<<<< HEAD\nc: d\n=======\nc: e\n>>>>>>> other\n' }],
  ['a tab', { [ROLE]: 'a:\n\tb: c\n' }],
  ['no blank behind the colon', { [ROLE]: 'a:b\n' }],
  ['a bracket that is not closed', { [ROLE]: 'a: [b\nc: d\n' }],
  ['a quote that is not closed', { [ROLE]: 'a: "b\nc: d\n' }],
  ['no colon', { [ROLE]: 'a: b\nc\n' }],
  ['a key that is too deep', { [ROLE]: 'a: b\n  c: d\n' }],
  ['a colon in a value', { [ROLE]: 'a: b: c\n' }],
  ['an "@"', { [ROLE]: 'a: @b\n' }],
  ['an unknown escape', { [ROLE]: 'a: "\\d"\n' }],
  ['a list instead of an object', { [ROLE]: '- a\n' }],
];

const FIELDS: readonly WrongFile[] = [
  ['a key that is too long', { [ROLE]: `${'k'.repeat(251)}: c\n` }],
  ['resources of an instance', { [SHOP]: `${RIGHT[SHOP]}resources: {}\n` }],
  ['a placeholder in a parameter', { [SHOP]: 'stackTemplate: web\nparameters: { port: "<<x>>" }\n' }],
  ['a layer that selects', { [ROLE]: 'zone: dmz\n' }],
  ['a field that is like none', { [SHOP]: `${RIGHT[SHOP]}nope: true\n` }],
  ['a fingerprint that is none', { 'clients/B2.yaml': 'role: proxy\nfingerprint: "12:34"\n' }],
  ['a text that is too long', { [ROLE]: `a: ${'x'.repeat(65_537)}\n` }],
  [
    'an instance full of slips',
    { [SHOP]: 'stackTemplte: web\ndrift: heel\ndeletion: keep\nprotected: "yes"\nadopt:\n' },
  ],
  ['a template in the place of an instance', { [SHOP]: 'resources: { a: { type: "Platform::Server" } }\n' }],
  ['an instance in the place of a template', { [TEMPLATE]: 'stackTemplate: web\n' }],
  ['a template that is not indented', { [TEMPLATE]: 'resources:\nweb:\n  type: Platform::Server\n' }],
  [
    'parameters and fields with slips',
    { [TEMPLATE]: 'parameters: { index: "1", a b: "", size: 2, m: {} }\nresource: {}\nresources\u00a0: {}\n' },
  ],
  [
    'resources that are none',
    { [TEMPLATE]: 'resources:\n  web: { type: Platform::Servr }\n  db: {}\n  -x: { type: Platform::Server }\n' },
  ],
  ['properties that are no texts', server('port: 5432, version: 1.10, on: true, m: {}, l: [1], e: ')],
  [
    'additions and substractions that do not fit',
    {
      [SHOP]: `stackTemplate: ""
parameters: { port: 03, on: true }
stackTemplateAdditions: { resource: {}, resources: { web: { properties: { count: 5, x: { y: z } } } } }
stackTemplateSubstractions: { resources: { a: 1, b: false, c: no, d: [x], web: { index: [2, "x"] } } }
`,
    },
  ],
  ['a layer with wrong fields', { [ROLE]: 'name: wbe\ntype: rol\ndescription: 5\ntenant:\n' }],
  ['a list of other things than texts', { [ROLE]: 'ntp: [a, 1.10, [b], true]\n' }],
  [
    'keys with hidden letters',
    { [ROLE]: 'c/d: 1\nstackInstance: x\nconstructor: x\npass\u200bword: x\np\u0430ss: x\n' },
  ],
  ['a tag of a client that is no list', { 'clients/B2.yaml': 'tags: proxy\n' }],
  [
    'a client full of slips',
    { 'clients/B2.yaml': 'role: administrtor\nrol: x\nzzz: x\ntags:\ntenant: null\nserial: 12\n' },
  ],
  ['an empty tag', { 'clients/B2.yaml': 'role: proxy\ntags: [""]\nfingerprint: ""\nname: C3\n' }],
  ['a node that is no name', { 'clients/B2.yaml': 'role: proxy\nnode: -a\n' }],
  ['a client of all nodes', { 'clients/B2.yaml': 'role: proxy\nnode: all\n' }],
  ['an administrator of one node', { 'clients/B2.yaml': 'role: administrator\nnode: web-1\n' }],
];

const TREE_AND_HIERARCHY: readonly WrongFile[] = [
  ['a name with a slash', { [TREE]: 'name: global\ntype: common\nchildren: [{ name: a/b, type: zone }]\n' }],
  [
    'a hierarchy full of slips',
    { [HIERARCHY]: 'order: []\nmerge: { a: uniq, b: 1 }\nprovisioning: [action]\nsecrets: { keys: [] }\noder: []\n' },
  ],
  ['levels that are none', { [HIERARCHY]: 'order: [commn, { type: zone, nam: x }, 5, { name: x }]\n' }],
  [
    'compound layers that are none',
    {
      [HIERARCHY]: `order:
- { type: configuration, name: "<<role>>/<<zone>>" }
- { type: configuration, name: "<<common>>" }
- { type: role, name: "<<role>>-x" }
- { type: role, name: "<<role>>-x" }
provisioning: [zone, zone]
secrets: { keys: ["("], reference: "^secret/" }
`,
    },
  ],
  ['a pattern that looks ahead', { [HIERARCHY]: 'secrets: { keys: ["(?=a)b"], reference: "^secret/" }\n' }],
  ['a compound layer without a placeholder', { [HIERARCHY]: 'order: [common, { type: role, name: web }]\n' }],
  ['zones before environments', { [HIERARCHY]: 'order: [common, zone, environment, role]\n' }],
  [
    'an environment below a zone',
    {
      [TREE]:
        'name: global\ntype: common\nchildren: [{ name: dmz, type: zone, children: [{ name: prod, type: environment }] }]\n',
    },
  ],
  [
    'a level that is not in the order',
    { [TREE]: 'name: global\ntype: common\nchildren: [{ name: lab, type: location }]\n' },
  ],
  [
    'two siblings of one name',
    {
      [TREE]:
        'name: global\ntype: common\nchildren: [{ name: prod, type: environment }, { name: prod, type: environment }]\n',
    },
  ],
];

const STACKS: readonly WrongFile[] = [
  ['an Array placeholder in a count', group(`count: "<<(Array)['a']['name']>>", resource_def: { properties: {} }`)],
  [
    'a substraction of what is not there',
    { [SHOP]: `${RIGHT[SHOP]}stackTemplateSubstractions: { resources: { wbe: {} } }\n` },
  ],
  [
    'a substraction of what is needed',
    { [SHOP]: `${RIGHT[SHOP]}stackTemplateSubstractions: { parameters: { count: {} } }\n` },
  ],
  ['a name with a blank', server('name: "a b"')],
  [
    'two servers of one name',
    {
      ...server('name: x'),
      'stacks/templates/one.yaml':
        'resources:\n  a: { type: "Platform::Server", properties: { name: x } }\n  b: { type: "Platform::Server", properties: { name: X } }\n',
    },
  ],
  ['members of one name', group('count: "2", resource_def: { properties: { name: x } }')],
  ['a server that depends on itself', server('depends_on: a')],
  ['an index outside a group', server('a: "<<index>>"')],
  ['a parameter without a value', { [SHOP]: 'stackTemplate: web\n' }],
  ['a placeholder with blanks', server('a: "<< zone >>"')],
  ['a parameter with a slip', { [SHOP]: 'stackTemplate: web\nparameters: { port: "80", prot: "81" }\n' }],
  ['a placeholder without a parameter', server('a: "<<x>>"')],
  ['an Array of an unknown resource', server(`a: "<<(Array)['b']['name']>>"`)],
  ['an Array of an unknown property', server(`a: "<<(Array)['a']['x']>>"`)],
  ['an output of an unknown resource', server(`a: "<<(Output)['b']['ip']>>"`)],
  [
    'an output without a name',
    {
      ...server(''),
      'stacks/templates/one.yaml': `resources:\n  a: { type: "Platform::Server", properties: { x: "<<(Output)['b']['']>>" } }\n  b: { type: "Platform::Server" }\n`,
    },
  ],
  ['an output in a name', server(`name: "<<(Output)['a']['ip']>>"`)],
  [
    'an Array of a property that takes an output',
    {
      ...server(''),
      'stacks/templates/one.yaml': `resources:\n  a: { type: "Platform::Server", properties: { x: "<<(Output)['b']['ip']>>" } }\n  b: { type: "Platform::Server" }\n  c: { type: "Platform::Server", properties: { x: "<<(Array)['a']['x']>>" } }\n`,
    },
  ],
  ['a configuration_only of nothing', server('configuration_only: prot, port: "80"')],
  [
    'values in a circle',
    {
      ...server(''),
      'stacks/templates/one.yaml': `resources:\n  a: { type: "Platform::Server", properties: { x: "<<(Array)['b']['x']>>" } }\n  b: { type: "Platform::Server", properties: { x: "<<(Array)['a']['x']>>" } }\n`,
    },
  ],
  ['a value that becomes too long', server('a: "<<x>><<x>><<x>>"', `{ x: ${'x'.repeat(30_000)} }`)],
  ['a group that is too large', group('count: "10001", resource_def: { properties: {} }')],
  [
    'more servers than a stack may have',
    {
      ...server(''),
      'stacks/templates/one.yaml': `resources:\n${['a', 'b', 'c', 'd', 'e', 'f'].map((key) => `  ${key}: { type: "Platform::ResourceGroup", properties: { count: "10000", resource_def: { properties: {} } } }\n`).join('')}`,
    },
  ],
  ['a substraction of all parameters', { [SHOP]: `${RIGHT[SHOP]}stackTemplateSubstractions: { parameters: null }\n` }],
  [
    'a retired index below the first',
    { [SHOP]: `${RIGHT[SHOP]}stackTemplateSubstractions: { resources: { web: { index: ["0"] } } }\n` },
  ],
];

const CONFIGURATION: readonly WrongFile[] = [
  ['a place that is not in the tree', { [SHOP]: 'stackTemplate: web\nparameters: { port: "80", zone: lab }\n' }],
  [
    'a location of the instance without the template’s zone',
    server('environment: "<<environment>>", zone: dmz', '{ environment: prod }', 'parameters: { environment: test }\n'),
  ],
  ['a plain secret that no node selects', { 'types/zone/unused.yaml': 'db_password: hunter2\n' }],
  ['a list that selects', { 'types/clientcert/printer.yaml': 'role: [web, db]\n' }],
  ['an Array that selects', server(`role: "<<(Array)['a']['name']>>"`)],
  ['a number that selects', { 'types/clientcert/printer.yaml': 'role: 7\n' }],
  ['a value that is no list', { [ROLE]: 'packages: nginx\n' }],
  [
    'a role of another tenant',
    { ...server('role: own', '{}', 'tenant: lab\n'), 'types/role/own.yaml': 'tenant: shop\n' },
  ],
  ['a base of a tenant', { 'types/common/global.yaml': 'tenant: lab\n' }],
  ['a property that is in no record', server('type: x')],
  ['a compound layer with a slip', { 'types/configuration/prod-dmx.yaml': 'a: b\n' }],
  ['an object that nobody selects', { 'types/shape/large.yaml': 'a: b\n' }],
];

const ACROSS: readonly WrongFile[] = [
  [
    'a server that depends on a wrong instance, from the beginning',
    { ...server('depends_on: shop-web-1'), [SHOP]: 'stackTemplate: wbe\n' },
  ],
  [
    'a server that is handed to a wrong instance',
    { ...server('name: x'), [OTHER]: 'stackTemplate: web\nparameters: { port: "1" }\n' },
    {
      'stacks/instances/one.yaml': 'stackTemplate: web\nparameters: { port: "1" }\n',
      'stacks/templates/two.yaml':
        'resources:\n  b: { type: "Platform::Server", properties: { name: x, role: wbe } }\n',
      [OTHER]: 'stackTemplate: two\n',
    },
  ],
  ['an administrator less', { 'clients/A1.yaml': 'role: proxy\n' }],
  ['no client from the beginning', { 'clients/A1.yaml': null }],
  ['no instance from the beginning', { [SHOP]: null }],
  ['no instance left', { [SHOP]: null }],
  ['a name that is taken', server('name: shop-web-1')],
  ['a dependency on nothing', server('depends_on: shop-wbe-1')],
  ['a template that is like none', { [SHOP]: 'stackTemplate: database\n' }],
];

/** All mistakes, by what they are mistakes of. */
export const WRONG_FILES: Readonly<Record<string, readonly WrongFile[]>> = {
  'Names and places': NAMES_AND_PLACES,
  YAML,
  Fields: FIELDS,
  'Tree and hierarchy': TREE_AND_HIERARCHY,
  Stacks: STACKS,
  Configuration: CONFIGURATION,
  'Across files': ACROSS,
};

/** Codes that no text repository brings out, and where they are tested. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  internal_error: 'test/desired/admit.test.ts',
  protected_instance: 'test/desired/admit-safety.test.ts',
  needs_rebase: 'test/cli/plan/read-merge.test.ts',
  no_room: 'test/desired/store-capacity.test.ts',
  not_a_file: 'test/desired/unreadable.test.ts',
  not_utf8: 'test/catalog/yaml.test.ts',
  too_many_bytes: 'test/catalog/load-catalog.test.ts',
  too_many_files: 'test/catalog/load-catalog.test.ts',
  unreadable_commit: 'test/follow/commits-at-once.test.ts',
};
