// Codes of problems with the configuration of a node.
import type { CodeEntry, CodeGroup, ExampleFiles } from './code-entry.ts';

const KEYS = 4000;
const KEY_LENGTH = 200;

function database(properties: string): ExampleFiles {
  return {
    'stacks/templates/database.yaml': `resources:\n  server:\n    type: Platform::Server\n    properties: { ${properties} }\n`,
  };
}

function hierarchy(pattern: string): ExampleFiles {
  return {
    'hierarchy.yaml': `order: [common, environment, zone, role]\nsecrets: { keys: ["${pattern}"], reference: "^secret/" }\n`,
  };
}

const MANY_KEYS: ExampleFiles = {
  'types/role/web.yaml': {
    shown: 'a_key_of_200_characters…: ""\n…    # 4,000 such keys\n',
    text: () => Array.from({ length: KEYS }, (_, index) => `${'k'.repeat(KEY_LENGTH)}${index}: ""\n`).join(''),
  },
};

const CODES = {
  not_a_tree_path: {
    severity: 'error',
    meaning: 'the environment, location and zone that a node names do not lie on one path of `tree.yaml`',
    remedy: 'the hint shows the paths there are',
    example: {
      wrong: database('role: database, environment: staging, zone: dmz'),
      right: database('role: database, environment: production, zone: dmz'),
    },
  },
  secret_not_reference: {
    severity: 'error',
    meaning: 'a key that is for a secret holds something else than a reference, or one of more than 1,000 characters',
    remedy: 'write the path of the secret in the secret store; a secret that was committed has to be changed',
    example: {
      wrong: { 'types/role/database.yaml': 'admin_password: hunter2\n' },
      right: { 'types/role/database.yaml': 'admin_password: secret/database/admin\n' },
    },
  },
  selector_not_string: {
    severity: 'error',
    meaning: 'a property that selects a layer is a list or another value than a text',
    remedy: 'write one name, or `""` to select none',
    example: {
      wrong: database(`role: database, shape: "<<(Array)['server']['name']>>"`),
      right: database('role: database'),
    },
  },
  too_much_to_match: {
    severity: 'error',
    meaning:
      'the keys and references of an object, times the instructions of the patterns under `secrets`, are more than 10,000,000',
    remedy: 'divide the object, or write simpler patterns',
    example: {
      beside: MANY_KEYS,
      wrong: hierarchy(`${'(a|b)'.repeat(40)}$`),
      right: hierarchy('_password$'),
    },
  },
  unique_not_list: {
    severity: 'error',
    meaning: 'a key that is merged as `unique` has a value that is no list',
    remedy: 'write a list',
    example: {
      wrong: { 'types/role/web.yaml': 'packages: nginx\n' },
      right: { 'types/role/web.yaml': 'packages: [nginx]\n' },
    },
  },
  unknown_object: {
    severity: 'error',
    meaning: 'a node selects an object that does not exist',
    remedy: 'correct the name, or add the file',
    example: {
      wrong: database('role: database, shape: large'),
      right: { ...database('role: database, shape: large'), 'types/shape/large.yaml': 'cpus: 8\n' },
    },
  },
  unused_object: {
    severity: 'warning',
    meaning:
      'no node selects an object, most often for a slip in its name, such as that of a compound layer. Said once every instance can be expanded, and not of nodes of the tree, the base layer, clientcerts, actions and snapshots',
    remedy: 'correct the name, select it, or remove it',
    example: {
      wrong: { 'types/configuration/production-dmx.yaml': 'uplink_mbit: 1000\n' },
      right: { 'types/configuration/production-dmz.yaml': 'uplink_mbit: 1000\n' },
    },
  },
  unseen_key: {
    severity: 'warning',
    meaning: 'a property has a name under which it is in no record: `type` or `tenant`',
    remedy: 'rename it if configuration needs it',
    example: {
      wrong: database('role: database, tenant: shop-team'),
      right: database('role: database, owner: shop-team'),
    },
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of the configuration of a node. */
export const NODE_CODES: CodeGroup<typeof CODES> = { heading: 'Configuration of a node', codes: CODES };
