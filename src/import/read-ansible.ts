// Reads an inventory of Ansible: its hosts, and for each host the variables that win. Follows Ansible's documentation of the
// precedence of variables; nothing is evaluated.
import { HostGroups, readHosts } from './ansible-hosts.ts';
import { bounded, faultAt, type Located, locatedText, parseForeign, type SourceFiles } from './foreign-yaml.ts';
import type { Inventory } from './inventory.ts';

/** Variables of groups and hosts in files, by `group_vars/<name>` and `host_vars/<name>`. */
type FileVariables = ReadonlyMap<string, ReadonlyMap<string, Located>>;

/** Files beside an inventory that hold none. */
const NO_INVENTORY =
  /(?:^|\/)\.|~$|\.(?:pyc?|pyo|rb|sh|cfg|md|rst|txt|orig|bak|swp|rpm|retry|csv|j2|template|pem|key|crt|pub|config)$|\/(?:README|LICENSE|Makefile)$/;
const OF_VARIABLES = /^(?:.*\/)?((?:group|host)_vars\/[^/]+?)(?:\.(?:ya?ml|json))?(?:\/.*)?$/;

/** Words for environments, as names of groups or folders. */
const ENVIRONMENTS =
  /^(?:prod|production|live|staging|stage|stg|test|testing|qa|uat|preprod|dev|development|integration|int|sandbox|demo|lab)$/i;

/**
 * Adds the hosts of an inventory. `files` are its own and those below `group_vars` and `host_vars`: beside it, or beside the
 * playbooks, where paths begin with `playbooks` and one of these names; their variables win.
 */
export function readAnsible(files: SourceFiles, inventory: Inventory, playbooks: string | undefined): void {
  const isBesidePlaybooks = (file: string): boolean =>
    playbooks !== undefined && ['group_vars/', 'host_vars/'].some((folder) => file.startsWith(`${playbooks}${folder}`));
  const groups = new HostGroups();
  const sorted = [...files].filter(([file]) => !NO_INVENTORY.test(file)).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [file, text] of sorted) {
    if (!OF_VARIABLES.test(file) && !isBesidePlaybooks(file)) readHosts(file, text, { groups, inventory });
  }
  const places = [false, true].map((is) =>
    readVariables(
      sorted.filter(([file]) => isBesidePlaybooks(file) === is),
      inventory,
    ),
  );
  const order = new GroupOrder(groups);
  const folder = sorted.map(([file]) => file.split('/').at(-2) ?? '').find((name) => ENVIRONMENTS.test(name));
  for (const [name, { at, variables: own }] of groups.hosts) {
    const names = order.groupsOf(name);
    const variables = variablesOf({ host: name, names, own }, groups, places);
    inventory.add({ name, variables, facets: facetsOf(name, names, { order, folder }), ...at });
  }
}

/** Reads the files of groups and hosts: one of each name, or all below a folder of the name. */
function readVariables(
  sorted: readonly (readonly [file: string, text: string])[],
  inventory: Inventory,
): FileVariables {
  const found = new Map<string, Map<string, Located>>();
  for (const [file, text] of sorted) {
    const [, of] = OF_VARIABLES.exec(file) ?? [];
    if (of === undefined) continue;
    const isVault = text.startsWith('$ANSIBLE_VAULT');
    const root = isVault ? faultAt({ file, line: 1 }, 'it is encrypted with Ansible Vault') : parseForeign(file, text);
    if (root.kind === 'scalar' && root.fault !== undefined) inventory.leave(root, '', root.fault);
    const variables = found.get(of) ?? new Map<string, Located>();
    if (root.kind === 'map') for (const [key, value] of root.entries) variables.set(key, value);
    found.set(of, variables);
  }
  return found;
}

/** Yields the variables of a host: later ones win. Inventory of all, of groups; files of all, of groups; then the host's own. */
function* variablesOf(
  {
    host,
    names,
    own,
  }: { readonly host: string; readonly names: readonly string[]; readonly own: ReadonlyMap<string, Located> },
  { groups }: HostGroups,
  places: readonly FileVariables[],
): Generator<readonly [string, Located, boolean]> {
  const found = new Map<string, readonly [Located, boolean]>();
  const lay = (variables: ReadonlyMap<string, Located> | undefined, isOwn = false): void => {
    for (const [key, value] of variables ?? []) if (key !== PRIORITY) found.set(key, [value, isOwn]);
  };
  for (const name of ['all', ...names]) lay(groups.get(name)?.variables);
  for (const files of places) lay(files.get('group_vars/all'));
  for (const files of places) for (const name of names) lay(files.get(`group_vars/${name}`));
  lay(own, true);
  for (const files of places) lay(files.get(`host_vars/${host}`), true);
  for (const [key, [value, isOwn]] of found) yield [key, withoutTemplates(bounded(value)), isOwn];
}

const PRIORITY = 'ansible_group_priority';
const plain = new WeakMap<Located, Located>();

/** Returns the value with a fault for each text, and each list, that holds a template: what Ansible makes of it is not known. */
function withoutTemplates(located: Located): Located {
  // Hosts of a group share a value, which is looked at once.
  const known = plain.get(located) ?? (hasTemplate(located) ? faulted(located) : located);
  plain.set(located, known);
  return known;
}

function faulted(located: Located): Located {
  if (located.kind !== 'map') return faultAt(located, 'it is a template of Jinja, which only Ansible evaluates');
  return { ...located, entries: new Map([...located.entries].map(([key, value]) => [key, withoutTemplates(value)])) };
}

function hasTemplate(located: Located): boolean {
  if (located.kind === 'scalar') return typeof located.value === 'string' && /\{\{|\{%/.test(located.value);
  if (located.kind === 'list') return located.items.some(hasTemplate);
  return [...located.entries].some(([key, value]) => key.includes('{{') || hasTemplate(value));
}

/** The groups of hosts in the order in which their variables count: by depth, `ansible_group_priority`, and name. */
class GroupOrder {
  readonly #groups: HostGroups;
  readonly #parents = new Map<string, string[]>();
  readonly #direct = new Map<string, string[]>();
  readonly #depths = new Map<string, number>();
  readonly #alike: ReadonlyMap<string, number>;
  readonly #stems = new Map<string, ReadonlyMap<string, number>>();

  constructor(groups: HostGroups) {
    this.#groups = groups;
    this.#alike = countStems(groups.hosts.keys());
    for (const [name, { hosts, children }] of groups.groups) {
      for (const child of children) this.#parents.set(child, [...this.parentsOf(child), name]);
      for (const host of hosts) this.#direct.set(host, [...(this.#direct.get(host) ?? []), name]);
    }
  }

  /** Returns all groups of a host but `all`, from general to specific. */
  groupsOf(host: string): readonly string[] {
    const names = new Set(this.#direct.get(host));
    for (const name of names) for (const parent of this.parentsOf(name)) names.add(parent);
    names.delete('all');
    return [...names].sort(
      (a, b) => this.#depth(a) - this.#depth(b) || this.#priority(a) - this.#priority(b) || (a < b ? -1 : 1),
    );
  }

  /** Returns the groups that have a group as a child. */
  parentsOf(name: string): readonly string[] {
    return this.#parents.get(name) ?? [];
  }

  /** Returns how much the hosts of a group are those that are named like a host but for digits: from 0 to 1. */
  likeness(name: string, host: string): number {
    const members = this.#groups.groups.get(name)?.hosts ?? new Set();
    const stems = this.#stems.get(name) ?? countStems(members);
    this.#stems.set(name, stems);
    const both = stems.get(stemOf(host)) ?? 0;
    return both / (members.size + (this.#alike.get(stemOf(host)) ?? 1) - both);
  }

  /** A circle of groups, which Ansible refuses, ends at 0. */
  #depth(name: string): number {
    const known = this.#depths.get(name);
    if (known !== undefined) return known;
    this.#depths.set(name, 0);
    const depth = name === 'all' ? 0 : 1 + Math.max(0, ...this.parentsOf(name).map((parent) => this.#depth(parent)));
    this.#depths.set(name, depth);
    return depth;
  }

  #priority(name: string): number {
    return Number(locatedText(this.#groups.groups.get(name)?.variables.get(PRIORITY)) ?? '1') || 1;
  }
}

function stemOf(host: string): string {
  return (host.split('.', 1)[0] ?? '').replaceAll(/\d+/g, '');
}

function countStems(names: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(stemOf(name), (counts.get(stemOf(name)) ?? 0) + 1);
  return counts;
}

/** Yields what may select layers: of each group its child that has the host; the environment; as role the group of hosts named alike. */
function* facetsOf(
  host: string,
  names: readonly string[],
  { order, folder }: { readonly order: GroupOrder; readonly folder: string | undefined },
): Generator<readonly [string, string]> {
  const children = names.flatMap((child) => order.parentsOf(child).map((parent) => ({ parent, child })));
  for (const [parent, [first, more]] of Map.groupBy(children, ({ parent }) => parent)) {
    if (first !== undefined && more === undefined && parent !== 'all') yield [parent, first.child];
  }
  const environments = names.filter((name) => ENVIRONMENTS.test(name));
  const environment = environments.length === 1 ? environments[0] : folder;
  if (environment !== undefined) yield ['environment', environment];
  const roles = names.filter((name) => !ENVIRONMENTS.test(name) && name !== 'ungrouped');
  const [role] = roles.sort((a, b) => order.likeness(b, host) - order.likeness(a, host));
  if (role !== undefined) yield ['role', role];
}
