// Reads the output of `ansible-inventory --list`: hosts with their final variables, and groups. Ansible has resolved
// the precedence of variables.
import { emptyMap, isMap, type Json, type JsonMap, parseJson } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import { faultAt, type Located, locatedJson, type SourceLine, textAt } from './foreign-yaml.ts';
import { ImportError, type Inventory } from './inventory.ts';

/** Usual names of environments, in names of groups or folders. */
const ENVIRONMENTS =
  /^(?:prod|production|live|staging|stage|stg|test|testing|qa|uat|preprod|dev|development|integration|int|sandbox|demo|lab)$/i;

/** Returns true for JSON output of `ansible-inventory --list`. */
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
  const members = new HostGroups(groups);
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
  const root = parseJson(text);
  if (isMap(root)) return root;
  throw new ImportError(`${file} is not what "ansible-inventory --list" prints`);
}

/**
 * Handles encrypted values and untrusted texts, which Ansible prints as maps, and templates, which it does not
 * evaluate.
 */
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

/** The groups of each host, direct and inherited. */
class HostGroups {
  readonly parents = new Map<string, string[]>();
  readonly #direct = new Map<string, string[]>();
  readonly #sizes: ReadonlyMap<string, number>;

  constructor(groups: ReadonlyMap<string, JsonMap>) {
    for (const [name, group] of groups) {
      for (const child of textsOf(group.children)) this.parents.set(child, [...(this.parents.get(child) ?? []), name]);
      for (const host of textsOf(group.hosts)) this.#direct.set(host, [...(this.#direct.get(host) ?? []), name]);
    }
    this.#sizes = new Map([...groups].map(([name, group]) => [name, textsOf(group.hosts).length]));
  }

  /** Returns the groups of a host except `all` and `ungrouped`: groups with direct hosts first, the smallest first. */
  groupsOf(host: string): readonly string[] {
    const names = new Set(this.#direct.get(host)?.sort());
    for (const name of names) for (const parent of this.parents.get(name) ?? []) names.add(parent);
    const sizeOf = (name: string): number => this.#sizes.get(name) || Number.POSITIVE_INFINITY;
    return [...names]
      .filter((name) => name !== 'all' && name !== 'ungrouped')
      .sort((a, b) => Math.sign(sizeOf(a) - sizeOf(b)) || compareNames(a, b));
  }
}

/**
 * Yields the candidates for selectors: for each group its child with the host; the environment; the smallest group as
 * role.
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
  const role = names.find((name) => !ENVIRONMENTS.test(name));
  if (role !== undefined) yield ['role', role];
}
