// Reads what `ansible-inventory --list` prints: hosts with their final variables, and groups. Ansible decides which
// variable wins.
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { faultAt, type Located, locatedJson, type SourceLine, textAt } from './foreign-yaml.ts';
import { ImportError, type Inventory } from './inventory.ts';

/** Words for environments, as names of groups or folders. */
const ENVIRONMENTS =
  /^(?:prod|production|live|staging|stage|stg|test|testing|qa|uat|preprod|dev|development|integration|int|sandbox|demo|lab)$/i;

/** Returns true for a JSON text that `ansible-inventory --list` has printed. */
export function isInventoryJson(text: string): boolean {
  return /^\s*\{/.test(text) && text.includes('"hostvars"');
}

/** Adds the hosts of an inventory. `file` names the inventory, and its folders may name the environment. */
export function readAnsible(file: string, text: string, inventory: Inventory): void {
  const root = parsed(file, text);
  const meta = isMap(root._meta) ? root._meta : emptyMap();
  const variables = isMap(meta.hostvars) ? meta.hostvars : emptyMap();
  const groups = new Map(Object.entries(root).flatMap(([name, one]) => (isMap(one) ? [[name, one] as const] : [])));
  groups.delete('_meta');
  const hosts = new Set([...[...groups.values()].flatMap((group) => textsOf(group.hosts)), ...Object.keys(variables)]);
  const members = new HostGroups(groups, hosts);
  const folder = file.split('/').findLast((part) => ENVIRONMENTS.test(part));
  const at = { file, line: 0 };
  for (const name of hosts) {
    const own = variables[name];
    const values = Object.entries(isMap(own) ? own : {}).map(
      ([key, value]) => [key, variableOf(value, at), false] as const,
    );
    inventory.add({ name, variables: values, facets: facetsOf(name, members, folder), ...at });
  }
}

function parsed(file: string, text: string): JsonMap {
  try {
    const root: unknown = JSON.parse(text);
    if (isMap(root)) return root;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ImportError(`${file} is not what "ansible-inventory --list" prints: ${error.message}`);
  }
  throw new ImportError(`${file} is not what "ansible-inventory --list" prints`);
}

/** Ansible prints encrypted values and untrusted texts as maps, and does not evaluate templates. */
function variableOf(value: Json, at: SourceLine): Located {
  if (isMap(value)) {
    if (value.__ansible_unsafe !== undefined) return textAt(String(value.__ansible_unsafe), at);
    if (value.__ansible_vault !== undefined) return faultAt(at, VAULT);
    const entries = Object.entries(value).map(([key, one]) => [key, variableOf(one, at)] as const);
    const isTemplate = entries.some(([key]) => TEMPLATE.test(key));
    return isTemplate ? faultAt(at, JINJA) : { kind: 'map', entries: new Map(entries), ...at };
  }
  const text = JSON.stringify(value);
  if (text.includes('"__ansible_vault"')) return faultAt(at, VAULT);
  return TEMPLATE.test(text) ? faultAt(at, JINJA) : locatedJson(value, at);
}

const TEMPLATE = /\{\{|\{%/;
const VAULT = 'it is encrypted with Ansible Vault';
const JINJA = 'it is a template of Jinja, which Ansible evaluates for each task';

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** Which groups each host is in, directly or by other groups. */
class HostGroups {
  readonly parents = new Map<string, string[]>();
  readonly #direct = new Map<string, string[]>();
  /** How many hosts of each group, and of all, have a name that differs in digits only. */
  readonly #stems: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly #all: ReadonlyMap<string, number>;

  constructor(groups: ReadonlyMap<string, JsonMap>, hosts: ReadonlySet<string>) {
    for (const [name, group] of groups) {
      for (const child of textsOf(group.children)) this.parents.set(child, [...(this.parents.get(child) ?? []), name]);
      for (const host of textsOf(group.hosts)) this.#direct.set(host, [...(this.#direct.get(host) ?? []), name]);
    }
    this.#all = countStems(hosts);
    this.#stems = new Map([...groups].map(([name, group]) => [name, countStems(textsOf(group.hosts))]));
  }

  /** Returns all groups of a host but `all` and `ungrouped`, by name. */
  groupsOf(host: string): readonly string[] {
    const names = new Set(this.#direct.get(host));
    for (const name of names) for (const parent of this.parents.get(name) ?? []) names.add(parent);
    return [...names].filter((name) => name !== 'all' && name !== 'ungrouped').sort();
  }

  /** Returns how many of the hosts in a group, or named like this host, are both: from 0 to 1. */
  likeness(name: string, host: string): number {
    const stems = this.#stems.get(name) ?? new Map<string, number>();
    const both = stems.get(stemOf(host)) ?? 0;
    const members = [...stems.values()].reduce((sum, count) => sum + count, 0);
    return both / (members + (this.#all.get(stemOf(host)) ?? 1) - both);
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

/**
 * Yields what may select layers: of each group its child that has the host; the environment; as role the group of hosts
 * named alike.
 */
function* facetsOf(
  host: string,
  groups: HostGroups,
  folder: string | undefined,
): Generator<readonly [name: string, value: string]> {
  const names = groups.groupsOf(host);
  const children = names.flatMap((child) => (groups.parents.get(child) ?? []).map((parent) => ({ parent, child })));
  for (const [parent, [first, more]] of Map.groupBy(children, (one) => one.parent)) {
    if (first !== undefined && more === undefined && parent !== 'all') yield [parent, first.child];
  }
  const environments = names.filter((name) => ENVIRONMENTS.test(name));
  const environment = environments.length === 1 ? environments[0] : folder;
  if (environment !== undefined) yield ['environment', environment];
  const roles = names.filter((name) => !ENVIRONMENTS.test(name));
  const [role] = roles.sort((a, b) => groups.likeness(b, host) - groups.likeness(a, host));
  if (role !== undefined) yield ['role', role];
}
