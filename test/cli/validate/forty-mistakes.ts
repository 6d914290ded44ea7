// Forty mistakes that people make, each as an edit of sample-repo. The mark ▶ stands before the character at which the
// mistake has to be reported.

/** Replaces a text that stands in a file once. */
export interface Replacement {
  readonly in: string;
  readonly from: string;
  readonly to: string;
}

/** Adds files; the content is a text, bytes, or a link. */
export interface Addition {
  readonly add: Readonly<Record<string, string | Uint8Array | { readonly linkTo: string }>>;
  readonly remove?: string;
}

export type Mistake = readonly [title: string, code: string, edit: Replacement | Addition];

const SHOP = 'stacks/templates/shop.yaml';
const STAGING = 'stacks/instances/shop/shop-staging.yaml';
const PRODUCTION = 'stacks/instances/shop/shop-production.yaml';
const ORDERS = 'stacks/instances/orders-db.yaml';
const WEB = 'types/role/web.yaml';
const TREE = 'tree.yaml';
const HIERARCHY = 'hierarchy.yaml';

function replace(file: string, from: string, to: string): Replacement {
  return { in: file, from, to };
}

/** All mistakes. */
export const MISTAKES: readonly Mistake[] = [
  ['an unknown field', 'unknown_field', replace(ORDERS, 'protected: true', '▶protcted: true')],
  ['a number where a text has to be', 'wrong_type', replace(STAGING, 'web_count: "2"', 'web_count: ▶2')],
  ['a boolean in quotes', 'wrong_type', replace(ORDERS, 'protected: true', 'protected: ▶"true"')],
  ['a word that is none of the choices', 'wrong_value', replace(ORDERS, 'drift: report', 'drift: ▶repotr')],
  [
    'a version without quotes, in configuration',
    'number_spelling',
    replace('types/configuration/shop.yaml', 'schema_version: "1.10"', 'schema_version: ▶1.10'),
  ],
  [
    'a version without quotes, as a parameter',
    'wrong_type',
    replace(PRODUCTION, 'app_version: "1.10"', 'app_version: ▶1.10'),
  ],
  ['yes without quotes', 'boolean_spelling', replace('types/role/cache.yaml', 'backups: false', 'backups: ▶no')],
  [
    'a template that does not exist',
    'unknown_template',
    replace(STAGING, 'stackTemplate: shop', 'stackTemplate: ▶shpo'),
  ],
  ['a role that does not exist', 'unknown_object', replace(SHOP, 'role: worker', 'role: ▶wroker')],
  ['a shape of an instance that does not exist', 'unknown_object', replace(ORDERS, 'shape: large', 'shape: ▶larg')],
  ['a place that is not in the tree', 'not_a_tree_path', replace(STAGING, 'location: lab', 'location: ▶frankfurt')],
  [
    'a dependency on nothing',
    'unknown_dependency',
    replace(PRODUCTION, 'depends_on: [cache, orders-db]', 'depends_on: [cache, ▶order-db]'),
  ],
  [
    'a circle of dependencies',
    'dependency_cycle',
    replace(SHOP, 'role: cache\n', 'role: cache\n      depends_on: ▶balancer\n'),
  ],
  [
    'values in a circle',
    'value_cycle',
    replace(SHOP, `peers: "<<(Array)['web']['name']>>"`, `peers: ▶"<<(Array)['web']['peers']>>"`),
  ],
  [
    'a server name that another instance has',
    'server_name_taken',
    replace(ORDERS, 'name: orders-db', 'name: ▶prod-web-1'),
  ],
  [
    'members with one name',
    'duplicate_server_name',
    replace(SHOP, 'name: "<<prefix>>-web-<<index>>"', 'name: ▶"<<prefix>>-web"'),
  ],
  [
    'an object twice, in two folders',
    'duplicate_name',
    { add: { 'types/role/old/web.yaml': '▶packages: [apache2]\n' } },
  ],
  [
    'a placeholder of an unknown parameter',
    'undeclared_placeholder',
    replace(SHOP, 'banner: "<<banner>>"', 'banner: ▶"<<baner>>"'),
  ],
  ['a placeholder with spaces', 'not_a_placeholder', replace(SHOP, 'banner: "<<banner>>"', 'banner: ▶"<< banner >>"')],
  [
    'an Array of an unknown resource',
    'unknown_array_resource',
    replace(SHOP, `backends: "<<(Array)['web']['name']>>"`, `backends: ▶"<<(Array)['wbe']['name']>>"`),
  ],
  [
    'an index outside a group',
    'index_outside_group',
    replace(SHOP, 'name: "<<prefix>>-cache"', 'name: ▶"<<prefix>>-cache-<<index>>"'),
  ],
  [
    'a parameter without a value',
    'missing_parameter',
    replace(STAGING, '  prefix: stage\n  environment', '  ▶environment'),
  ],
  [
    'a parameter that the template does not have',
    'undeclared_parameter',
    replace(STAGING, 'web_count: "2"', '▶web_cuont: "2"'),
  ],
  ['a count that is no number', 'bad_group_property', replace(STAGING, 'web_count: "2"', 'web_count: ▶two')],
  [
    'a kind of resource that there is not',
    'wrong_value',
    replace(PRODUCTION, 'type: Platform::Server', 'type: ▶Platform::Serer'),
  ],
  ['a substraction of what is not there', 'nothing_to_take_away', replace(PRODUCTION, 'mailtrap: {}', '▶mailtrp: {}')],
  ['a retired index below the first', 'bad_retired_index', replace(PRODUCTION, 'index: ["2"]', 'index: [▶"0"]')],
  ['a tab in the indentation', 'yaml_syntax', replace(STAGING, '  prefix: stage', '▶\tprefix: stage')],
  ['a key twice', 'duplicate_key', replace(WEB, 'web_workers: 4\n', 'web_workers: 4\n▶packages: [curl]\n')],
  ['a merge key', 'yaml_merge_key', replace(WEB, 'web_workers: 4\n', '▶<<: { web_workers: 4 }\n')],
  ['an anchor', 'yaml_anchor', replace(WEB, 'packages: [nginx]', 'packages: ▶&packages [nginx]')],
  ['an alias', 'yaml_anchor', replace(WEB, 'packages: [nginx]', 'packages: ▶*packages')],
  ['a tag', 'yaml_tag', replace(WEB, 'web_workers: 4', 'web_workers: ▶!!int "4"')],
  ['a colon in a value', 'yaml_syntax', replace(WEB, 'description: Serves the shop', 'description: ▶Serves: the shop')],
  ['a bracket that is not closed', 'yaml_syntax', replace(WEB, 'packages: [nginx]', 'packages: ▶[nginx')],
  ['a map as configuration', 'wrong_type', replace(WEB, 'web_workers: 4', 'web_workers: ▶{ count: 4 }')],
  ['a layer that selects a layer', 'selector_in_layer', replace(WEB, 'web_workers: 4', '▶zone: dmz')],
  [
    'a plain secret',
    'secret_not_reference',
    replace('types/role/database.yaml', 'secret/database/replication', '▶hunter2'),
  ],
  ['a value that is no list', 'unique_not_list', replace(WEB, 'open_ports: ["8080"]', 'open_ports: ▶"8080"')],
  ['a level twice', 'hierarchy_repeated', replace(HIERARCHY, '  - role\n', '  - role\n  - ▶role\n')],
  [
    'a placeholder of a level with a slip',
    'hierarchy_name',
    replace(HIERARCHY, '"<<environment>>-<<location>>"', '▶"<<enviroment>>-<<location>>"'),
  ],
  ['a pattern that RE2 does not have', 'bad_pattern', replace(HIERARCHY, '"(?i)token$"', '▶"(?<!no)_token$"')],
  ['two siblings of one name', 'tree_sibling', replace(TREE, '- name: amsterdam', '- name: ▶frankfurt')],
  ['a folder of no type', 'unknown_type_folder', { add: { 'types/rloe/worker.yaml': '▶queues: [mail]\n' } }],
  [
    'an instance in a wrong folder',
    'misplaced_file',
    { add: { 'stacks/instance/blog.yaml': '▶stackTemplate: shop\n' } },
  ],
  ['a .yml file', 'wrong_extension', { add: { 'types/role/mail.yml': '▶packages: [postfix]\n' } }],
  ['a name with a blank', 'bad_name', { add: { 'types/clientcert/lab printer.yaml': '▶ip: 192.0.2.7\n' } }],
  ['an empty file', 'file_empty', { add: { 'types/zone/dmz.yaml': '▶' } }],
  ['a symbolic link', 'not_a_file', { add: { 'types/zone/edge.yaml': { linkTo: 'dmz.yaml' } } }],
  [
    'a file in ISO 8859-1',
    'not_utf8',
    { add: { 'types/zone/edge.yaml': Buffer.from('description: Au\u00dfen\n', 'latin1') } },
  ],
  [
    'a compound layer with a slip',
    'unused_object',
    { add: { 'types/configuration/production-amsterdm.yaml': '▶uplink_mbit: 1000\n' } },
  ],
  ['no tree', 'tree_missing', { add: {}, remove: TREE }],
];
