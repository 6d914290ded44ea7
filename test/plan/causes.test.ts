// Every kind of change of a server, with its reason and the file and line that are named as its cause.
import { describe, expect, it } from 'vitest';
import type { Plan } from '../../src/plan/plan.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';
import { planned, plannedOn, SHOP } from './planned.ts';

const SHOP_FILE = 'stacks/instances/shop.yaml';
const BLOG_FILE = 'stacks/instances/blog.yaml';
const WIKI_FILE = 'stacks/instances/wiki.yaml';
const TEMPLATE = 'stacks/templates/web.yaml';
const COMMON = 'types/common/global.yaml';
const TWO_FILE = 'stacks/templates/two.yaml';

const TWO = `resources:
  first:
    type: Platform::Server
    properties: { ports: ["80", "81"], zone: "" }
  second:
    type: Platform::Server
    properties: { ports: ["90"] }
`;
const OF_TWO = { [TWO_FILE]: TWO, 'stacks/instances/a.yaml': 'stackTemplate: two\n' };
/** A template with a parameter that nothing gives, until line 4 is corrected. */
const BAD = 'resources:\n  a:\n    type: Platform::Server\n    properties: { port: "<<x>>" }\n';
const ALONE = 'resources: { a: { type: Platform::Server, properties: { name: solo } } }\n';
const NEEDING_FAR = 'resources: { a: { type: Platform::Server, properties: { depends_on: far } } }\n';

function replaced(path: keyof typeof SHOP, from: string, to: string): TextChanges {
  const text = SHOP[path].replace(from, to);
  expect(text).not.toBe(SHOP[path]);
  return { [path]: text };
}

/** Each change as `action server: reason (file:line)`. */
function linesOf({ changes }: Plan): readonly string[] {
  return changes.map(
    ({ action, resource, reason, file, line }) => `${action} ${resource}: ${reason} (${file}:${line})`,
  );
}

interface Case {
  /** Files beside the shop, in base. */
  readonly beside?: TextChanges;
  readonly changes: TextChanges;
  /** What is among the changes. */
  readonly lines: readonly string[];
  /** How many changes there are; default: not judged. */
  readonly count?: number;
}

const ADDITIONS = 'stackTemplateAdditions:\n  resources:\n';
const SUBSTRACTIONS = 'stackTemplateSubstractions:\n  resources:\n';

const CASES: Readonly<Record<string, Case>> = {
  'only a comment changes': { changes: { [SHOP_FILE]: `# a comment\n${SHOP[SHOP_FILE]}` }, lines: [], count: 0 },
  'a group grows, at the line of its count': {
    changes: replaced(SHOP_FILE, '8080"\n', '8080"\n  count: "4"\n'),
    lines: [
      `update shop-db: the property "peers" changes (${SHOP_FILE}:4)`,
      `create shop-web-4: "web" of the stack instance "shop" has 4 servers, and had 3 (${SHOP_FILE}:4)`,
    ],
    count: 2,
  },
  'a group becomes empty': {
    changes: replaced(BLOG_FILE, '"1"', '"0"'),
    lines: [`delete blog-web-1: "web" of the stack instance "blog" has 0 servers, and had 1 (${BLOG_FILE}:3)`],
  },
  'a smaller default of a parameter, at that line': {
    changes: replaced(TEMPLATE, 'count: "3"', 'count: "2"'),
    lines: [`delete shop-web-3: "web" of the stack instance "shop" has 2 servers, and had 3 (${TEMPLATE}:1)`],
    count: 2,
  },
  'a parameter of the instance': {
    changes: replaced(SHOP_FILE, '8080', '8081'),
    lines: [1, 2, 3].map((index) => `update shop-web-${index}: the property "port" changes (${SHOP_FILE}:3)`),
    count: 3,
  },
  'a key of a provisioning layer': {
    changes: { 'types/shape/large.yaml': '# bigger\ncpus: 16\n' },
    lines: ['blog', 'shop'].map(
      (name) => `update ${name}-db: the property "shape.cpus" changes (types/shape/large.yaml:2)`,
    ),
    count: 2,
  },
  'another selected layer': {
    changes: replaced(SHOP_FILE, '8080"', '8080"\n  shape: large'),
    lines: [`update shop-web-1: the properties "shape", "shape.cpus" change (${SHOP_FILE}:4)`],
  },
  'a new instance, and one that is removed': {
    changes: { [BLOG_FILE]: null, [WIKI_FILE]: 'stackTemplate: web\n' },
    lines: [
      `delete blog-db: the stack instance "blog" is removed (${BLOG_FILE}:null)`,
      `create wiki-db: the stack instance "wiki" is new (${WIKI_FILE}:1)`,
    ],
    count: 6,
  },
  'a resource that is removed from the template': {
    changes: { [TEMPLATE]: SHOP[TEMPLATE].slice(0, SHOP[TEMPLATE].indexOf('  db:')) },
    lines: [`delete shop-db: the stack instance "shop" has no resource "db" any more (${TEMPLATE}:2)`],
    count: 2,
  },
  'a server that moves to another instance unchanged': {
    beside: { 'stacks/templates/one.yaml': ALONE, 'stacks/instances/a.yaml': 'stackTemplate: one\n' },
    changes: { 'stacks/instances/a.yaml': null, 'stacks/instances/b.yaml': 'stackTemplate: one\n' },
    lines: [],
    count: 0,
  },
  'an instance whose template is corrected, at that line': {
    beside: { [TWO_FILE]: BAD, [WIKI_FILE]: 'stackTemplate: two\n' },
    changes: { [TWO_FILE]: BAD.replace('<<x>>', '80'), [WIKI_FILE]: '# wiki\nstackTemplate: two\n' },
    lines: [`create wiki-a: the stack instance "wiki" becomes active for the first time (${TWO_FILE}:4)`],
    count: 1,
  },
  'an instance that another file corrects, without a line': {
    beside: { [TWO_FILE]: NEEDING_FAR, [WIKI_FILE]: 'stackTemplate: two\n' },
    changes: {
      'stacks/templates/far.yaml': ALONE.replace('solo', 'far'),
      'stacks/instances/far.yaml': 'stackTemplate: far\n',
    },
    lines: ['create wiki-a: the stack instance "wiki" becomes active for the first time (null:null)'],
    count: 2,
  },
  'servers under other names': {
    changes: replaced(
      TEMPLATE,
      '          shape: "<<shape>>"',
      '          name: "<<index>>-<<port>>"\n          shape: "<<shape>>"',
    ),
    lines: [`delete blog-web-1: "web" of the stack instance "blog" has servers of other names (${TEMPLATE}:11)`],
  },
  'an instance with another template': {
    beside: { [TWO_FILE]: TWO },
    changes: { [SHOP_FILE]: 'stackTemplate: two\n' },
    lines: [`delete shop-db: the stack instance "shop" has no resource "db" any more (${SHOP_FILE}:1)`],
  },
  'an addition of the instance': {
    changes: { [SHOP_FILE]: `${SHOP[SHOP_FILE]}${ADDITIONS}    db:\n      properties: { port: "5432" }\n` },
    lines: [`update shop-db: the property "port" changes (${SHOP_FILE}:7)`],
  },
  'a substraction of the instance': {
    changes: { [SHOP_FILE]: `${SHOP[SHOP_FILE]}${SUBSTRACTIONS}    db:\n      properties: { environment: {} }\n` },
    lines: [`update shop-db: the property "environment" changes (${SHOP_FILE}:7)`],
  },
  'a whole removed resource': {
    changes: { [SHOP_FILE]: `${SHOP[SHOP_FILE]}${SUBSTRACTIONS}    db: {}\n` },
    lines: [`delete shop-db: the stack instance "shop" has no resource "db" any more (${SHOP_FILE}:6)`],
  },
  'a whole added resource': {
    changes: {
      [SHOP_FILE]: `${SHOP[SHOP_FILE]}${ADDITIONS}    cache:\n      type: Platform::Server\n      properties: {}\n`,
    },
    lines: [`create shop-cache: the resource "cache" is new in the stack instance "shop" (${SHOP_FILE}:6)`],
  },
  'an item of a list': {
    beside: OF_TWO,
    changes: { [TWO_FILE]: TWO.replace('"81"', '"82"') },
    lines: [`update a-first: the property "ports" changes (${TWO_FILE}:4)`],
  },
  'a removed item of a list': {
    beside: OF_TWO,
    changes: { [TWO_FILE]: TWO.replace('"80", "81"', '"80"') },
    lines: [`update a-first: the property "ports" changes (${TWO_FILE}:4)`],
  },
  'a removed property': {
    beside: OF_TWO,
    changes: { [TWO_FILE]: TWO.replace('{ ports: ["90"] }', '{}') },
    lines: [`update a-second: the property "ports" changes (${TWO_FILE}:7)`],
  },
  'a key removed from a provisioning layer': {
    beside: { 'types/shape/large.yaml': 'cpus: 8\ndisk: 9\n' },
    changes: { 'types/shape/large.yaml': 'disk: 9\n' },
    lines: ['update blog-db: the property "shape.cpus" changes (types/shape/large.yaml:1)'],
  },
  'a new provisioning layer of every server': {
    changes: { 'hierarchy.yaml': `${SHOP['hierarchy.yaml']}provisioning: [shape, common]\n` },
    lines: [
      'update blog-db: the properties "common.admin_password", "common.log", "common.ntp" change (hierarchy.yaml:4)',
    ],
  },
  'a level removed from the order': {
    changes: { 'hierarchy.yaml': `${SHOP['hierarchy.yaml']}order: [common, environment]\n`, [COMMON]: '{}\n' },
    lines: ['update blog-db: the property "shape.cpus" changes (hierarchy.yaml:4)'],
  },
  'a parameter that only one resource uses': {
    changes: {
      [TEMPLATE]: SHOP[TEMPLATE]
        .replace('port: "80"', 'port: "81"')
        .replace('max_unavailable: "1"', 'max_unavailable: "2"'),
    },
    lines: [`update blog-web-1: the property "port" changes (${TEMPLATE}:1)`],
  },
  'names, by a property of the template': {
    changes: replaced(TEMPLATE, '{ environment: staging,', '{ name: "<<port>>-db", environment: staging,'),
    lines: [`create 80-db: "db" of the stack instance "blog" has servers of other names (${TEMPLATE}:16)`],
  },
  'indexes, by their start': {
    changes: replaced(TEMPLATE, 'max_unavailable: "1"', 'max_unavailable: "1"\n      index_start: "7"'),
    lines: [`update blog-db: the property "peers" changes (${TEMPLATE}:8)`],
  },
};

describe('causesOf finds the cause of a change by', () => {
  it.each(Object.entries(CASES))('%s', (_, { beside = {}, changes, lines, count }) => {
    const found = linesOf(planned(changes, { files: { ...SHOP, ...beside } }));
    expect(found).toEqual(expect.arrayContaining([...lines]));
    if (count !== undefined) expect(found).toHaveLength(count);
  });
});

it('a planned change names instance, group, and each property before and after', () => {
  const { changes } = planned(replaced(SHOP_FILE, '8080"', '8080"\n  shape: large'));
  expect(changes[0]).toMatchObject({
    instance: 'shop',
    group: 'web',
    properties: { shape: { from: 'small', to: 'large' }, 'shape.cpus': { from: 2, to: 8 } },
  });
});

it('an instance that becomes valid gets the servers of its newest file', () => {
  const repository = new TextRepository();
  repository.commit({ ...SHOP, [BLOG_FILE]: 'stackTemplate: wbe\n' });
  const plan = plannedOn(repository.commit({}), SHOP);
  expect(linesOf(plan)).toEqual(
    ['db', 'web-1'].map(
      (name) => `create blog-${name}: the stack instance "blog" becomes active for the first time (${BLOG_FILE}:1)`,
    ),
  );
  expect(plan.invalid).toEqual([]);
});
