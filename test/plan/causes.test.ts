// Every kind of place that may cause a change of a server, and the line that is told for it.
import { describe, expect, it } from 'vitest';
import type { TextChanges } from '../support/text-repository.ts';
import { planned, SHOP } from './planned.ts';

const SHOP_FILE = 'stacks/instances/shop.yaml';
const TEMPLATE = 'stacks/templates/web.yaml';
const COMMON = 'types/common/global.yaml';

const TWO = `resources:
  first:
    type: Platform::Server
    properties: { ports: ["80", "81"], zone: "" }
  second:
    type: Platform::Server
    properties: { ports: ["90"] }
`;

interface Case {
  /** Files beside the shop, in base. */
  readonly beside?: TextChanges;
  readonly changes: TextChanges;
  /** `action server: reason (file:line)`, of the first change. */
  readonly first: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'an instance that takes another template': {
    beside: { 'stacks/templates/two.yaml': TWO },
    changes: { [SHOP_FILE]: 'stackTemplate: two\n' },
    first: `delete shop-db: the stack instance "shop" has no resource "db" any more (${SHOP_FILE}:1)`,
  },
  'an addition of the instance': {
    changes: {
      [SHOP_FILE]: `${SHOP[SHOP_FILE]}stackTemplateAdditions:\n  resources:\n    db:\n      properties: { port: "5432" }\n`,
    },
    first: `update shop-db: the property "port" changes (${SHOP_FILE}:7)`,
  },
  'a substraction of the instance': {
    changes: {
      [SHOP_FILE]: `${SHOP[SHOP_FILE]}stackTemplateSubstractions:\n  resources:\n    db:\n      properties: { environment: {} }\n`,
    },
    first: `update shop-db: the property "environment" changes (${SHOP_FILE}:7)`,
  },
  'a whole resource that is taken out': {
    changes: { [SHOP_FILE]: `${SHOP[SHOP_FILE]}stackTemplateSubstractions:\n  resources:\n    db: {}\n` },
    first: `delete shop-db: the stack instance "shop" has no resource "db" any more (${SHOP_FILE}:6)`,
  },
  'a whole resource that is added': {
    changes: {
      [SHOP_FILE]: `${SHOP[SHOP_FILE]}stackTemplateAdditions:\n  resources:\n    cache:\n      type: Platform::Server\n      properties: {}\n`,
    },
    first: `create shop-cache: the resource "cache" is new in the stack instance "shop" (${SHOP_FILE}:6)`,
  },
  'an item of a list': {
    beside: { 'stacks/templates/two.yaml': TWO, 'stacks/instances/a.yaml': 'stackTemplate: two\n' },
    changes: { 'stacks/templates/two.yaml': TWO.replace('"81"', '"82"') },
    first: 'update a-first: the property "ports" changes (stacks/templates/two.yaml:4)',
  },
  'an item of a list that goes': {
    beside: { 'stacks/templates/two.yaml': TWO, 'stacks/instances/a.yaml': 'stackTemplate: two\n' },
    changes: { 'stacks/templates/two.yaml': TWO.replace('"80", "81"', '"80"') },
    first: 'update a-first: the property "ports" changes (stacks/templates/two.yaml:4)',
  },
  'a property that goes': {
    beside: { 'stacks/templates/two.yaml': TWO, 'stacks/instances/a.yaml': 'stackTemplate: two\n' },
    changes: { 'stacks/templates/two.yaml': TWO.replace('{ ports: ["90"] }', '{}') },
    first: 'update a-second: the property "ports" changes (stacks/templates/two.yaml:7)',
  },
  'a key that leaves a provisioning layer': {
    beside: { 'types/shape/large.yaml': 'cpus: 8\ndisk: 9\n' },
    changes: { 'types/shape/large.yaml': 'disk: 9\n' },
    first: 'update blog-db: the property "shape.cpus" changes (types/shape/large.yaml:1)',
  },
  'a provisioning layer that every server has from now on': {
    changes: { 'hierarchy.yaml': `${SHOP['hierarchy.yaml']}provisioning: [shape, common]\n` },
    first:
      'update blog-db: the properties "common.admin_password", "common.log", "common.ntp" change (hierarchy.yaml:4)',
  },
  'a level that leaves the order': {
    changes: {
      'hierarchy.yaml': `${SHOP['hierarchy.yaml']}order: [common, environment]\n`,
      [COMMON]: '{}\n',
    },
    first: 'update blog-db: the property "shape.cpus" changes (hierarchy.yaml:4)',
  },
  'a parameter of the template that only one resource names': {
    changes: {
      [TEMPLATE]: SHOP[TEMPLATE]
        .replace('port: "80"', 'port: "81"')
        .replace('max_unavailable: "1"', 'max_unavailable: "2"'),
    },
    first: `update blog-web-1: the property "port" changes (${TEMPLATE}:1)`,
  },
  'names, by a property of the template': {
    changes: {
      [TEMPLATE]: SHOP[TEMPLATE].replace('{ environment: staging,', '{ name: "<<port>>-db", environment: staging,'),
    },
    first: `create 80-db: "db" of the stack instance "blog" has servers of other names (${TEMPLATE}:16)`,
  },
  'indexes, by where they start': {
    changes: {
      [TEMPLATE]: SHOP[TEMPLATE].replace('max_unavailable: "1"', 'max_unavailable: "1"\n      index_start: "7"'),
    },
    first: `update blog-db: the property "peers" changes (${TEMPLATE}:8)`,
  },
};

describe('the cause of', () => {
  it.each(Object.entries(CASES))('%s', (_, { beside = {}, changes, first }) => {
    const [change] = planned(changes, { files: { ...SHOP, ...beside } }).changes;
    expect(`${change?.action} ${change?.resource}: ${change?.reason} (${change?.file}:${change?.line})`).toBe(first);
  });
});
