// Codes of problems that involve several files, or two commits.
import type { CodeEntry, CodeGroup, ExampleFiles } from './code-entry.ts';

const SHOP = 'stacks/instances/shop.yaml';
const ORDERS = 'stacks/instances/orders.yaml';
const RIGHT_SHOP = { [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\n' };

function database(properties: string): ExampleFiles {
  return {
    'stacks/templates/database.yaml': `resources:\n  server:\n    type: Platform::Server\n    properties: { role: database, ${properties} }\n`,
  };
}

const CODES = {
  dependency_waits: {
    severity: 'warning',
    meaning:
      'a server depends on one of an instance that cannot be admitted, or that is wrong and may be the one that makes it; so neither comes',
    remedy: 'mend the other instance',
    example: {
      beside: database('depends_on: shop-web-1'),
      wrong: { [SHOP]: 'stackTemplate: wbe\n' },
      right: RIGHT_SHOP,
    },
  },
  hand_over_waits: {
    severity: 'error',
    meaning: 'a server is handed to an instance that is wrong or held, so both stay as they are',
    remedy: 'mend the other instance, or have it approved',
    example: {
      before: {
        ...database('name: db-1'),
        'stacks/instances/archive.yaml': 'stackTemplate: web\nparameters: { port: "1" }\n',
      },
      beside: { 'stacks/instances/archive.yaml': 'stackTemplate: database\n' },
      wrong: { ...database('name: db-1, shape: large'), [ORDERS]: 'stackTemplate: web\nparameters: { port: "1" }\n' },
      right: { ...database('name: db-1'), [ORDERS]: 'stackTemplate: web\nparameters: { port: "1" }\n' },
    },
  },
  internal_error: {
    severity: 'error',
    meaning: 'Treeline itself failed on this file; what it makes stays as it was, and everything else goes on',
    remedy: 'report it with its text',
    example: {
      wrong: 'a defect of Treeline that a file brings out',
      right: 'a version of Treeline without the defect',
    },
  },
  last_administrator: {
    severity: 'error',
    meaning: 'no administrator would be left, so the active ones stay',
    remedy: 'register another administrator first',
    example: {
      before: {},
      wrong: { 'clients/A1.yaml': 'role: proxy\n' },
      right: { 'clients/A1.yaml': 'role: proxy\n', 'clients/B2.yaml': 'role: administrator\n' },
    },
  },
  needs_rebase: {
    severity: 'error',
    meaning:
      '[`treeline plan`](pull-requests.md) found a file that both branches have changed, differently, since they parted; the plan leaves it as it is in base',
    remedy: 'merge the base branch into the branch, or rebase it, and plan again',
    example: {
      wrong: 'a branch changes `types/role/web.yaml`, and meanwhile another change of this file was merged',
      right: 'the same branch, after `git rebase` onto the base branch',
    },
  },
  no_administrator: {
    severity: 'warning',
    meaning: 'no client, or none that is an administrator, is registered',
    remedy: 'register the certificate of an administrator',
    example: {
      wrong: { 'clients/A1.yaml': 'role: proxy\n' },
      right: { 'clients/A1.yaml': 'role: administrator\n' },
    },
  },
  no_instance: {
    severity: 'warning',
    meaning: 'there is no stack instance',
    remedy: 'add one',
    example: { wrong: { [SHOP]: null, [ORDERS]: null }, right: RIGHT_SHOP },
  },
  no_room: {
    severity: 'error',
    meaning:
      'the store has no room for the servers of an instance ([limits](concepts.md#limits)); of several that grow, those that grow most are refused. It becomes active by itself when other servers are gone',
    remedy: 'remove other instances, or let another controller follow a part of them',
    example: {
      wrong: 'servers whose properties take more than 1 GiB together, followed by one controller',
      right: 'the same servers in two repositories, followed by two controllers',
    },
  },
  nothing_left: {
    severity: 'error',
    isWholeCommit: true,
    meaning: 'no instance, no client or no file would be left',
    remedy: 'revert the commit, bring one back, or approve it: see [concepts.md](concepts.md#holds)',
    example: {
      before: {},
      wrong: { [SHOP]: null, [ORDERS]: null },
      right: { [ORDERS]: null, 'types/role/database.yaml': null },
    },
  },
  protected_instance: {
    severity: 'error',
    meaning: 'a commit would take servers away from an instance that is `protected`, or hand them to one that is not',
    remedy:
      'take that back; if it is meant, set `protected: false` in an earlier commit of the branch itself that takes nothing away; protect an instance that takes servers over too; see [concepts.md](concepts.md#protected-instances)',
    example: {
      before: { [SHOP]: 'stackTemplate: web\nprotected: true\nparameters: { port: "80" }\n' },
      wrong: { [SHOP]: 'stackTemplate: web\nprotected: true\nparameters: { port: "80", count: "1" }\n' },
      right: { [SHOP]: 'stackTemplate: web\nprotected: true\nparameters: { port: "80", count: "3" }\n' },
    },
  },
  server_name_taken: {
    severity: 'error',
    meaning: "a server's name is that of a server of another instance",
    remedy: 'change a parameter that the name is made of',
    example: { wrong: database('name: shop-web-1'), right: database('name: orders-db') },
  },
  unknown_dependency: {
    severity: 'error',
    meaning: '`depends_on` names neither a resource of the template nor a server of any stack',
    remedy: 'correct the name',
    example: { wrong: database('depends_on: shop-wbe-1'), right: database('depends_on: shop-web-1') },
  },
  unknown_template: {
    severity: 'error',
    meaning: 'an instance names a template that does not exist',
    remedy: 'correct the name, or add the file',
    example: { wrong: { [SHOP]: 'stackTemplate: wbe\nparameters: { port: "80" }\n' }, right: RIGHT_SHOP },
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of problems across files. */
export const ACROSS_CODES: CodeGroup<typeof CODES> = { heading: 'Across files', codes: CODES };
