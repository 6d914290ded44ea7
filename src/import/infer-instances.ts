// Groups servers with equal selections and numbered names, creates an instance for each group, and finds templates that
// similar instances share. Their differences become parameters.
import type { JsonMap } from '../model/json.ts';
import { compareNames, nameFault, RESOURCE_GROUP, SERVER } from '../model/names.ts';
import type { SelectedNames, SelectingNode } from './infer-selectors.ts';

/** Servers of one resource. */
interface Run {
  readonly kind: 'server' | 'group';
  readonly names: readonly string[];
  /** The parameters of the template: the name, or its parts, the number of members and the first index. */
  readonly values: Readonly<Record<string, string>>;
}

/** An instance to write, and the selection of its servers. */
export interface PlannedInstance {
  readonly name: string;
  readonly selection: SelectedNames;
  /** One group, one server, or several servers with unrelated names. */
  readonly runs: readonly Run[];
}

/** The objects of templates and instances, by name. */
export interface Stacks {
  readonly templates: ReadonlyMap<string, JsonMap>;
  readonly instances: ReadonlyMap<string, JsonMap>;
}

const MEMBERS_MAX = 10_000;
/** The limit of servers with unrelated names in one instance, which keeps its file readable. */
const LISTED_MAX = 250;
const DIGITS_MAX = 9;

/** Returns the instances, sorted by name. */
export function inferInstances(nodes: readonly SelectingNode[]): readonly PlannedInstance[] {
  const alike = Map.groupBy(nodes, ({ selection }) => JSON.stringify([...selection]));
  const used = new Set<string>();
  const planned = [...alike.values()].flatMap((same) => {
    const selection: SelectedNames = same[0]?.selection ?? new Map();
    const runs = runsOf(same.map(({ node }) => node.name).sort(compareNames));
    const singles = runs.filter(({ kind }) => kind === 'server');
    const groups = runs.filter(({ kind }) => kind === 'group');
    const lists = Array.from({ length: Math.ceil(singles.length / LISTED_MAX) }, (_, index) =>
      singles.slice(index * LISTED_MAX, (index + 1) * LISTED_MAX),
    );
    return [...groups.map((run) => [run]), ...lists].map((own): PlannedInstance => {
      const name = unique(nameOf(own, selection), selection.get('environment'), used);
      return { name, selection, runs: own };
    });
  });
  return planned.sort((a, b) => compareNames(a.name, b.name));
}

/** Groups names with consecutive numbers; other names are single servers. */
function runsOf(names: readonly string[]): readonly Run[] {
  const numbered = Map.groupBy(names, (name) => JSON.stringify(partsOf(name)?.toSpliced(1, 1) ?? name));
  return [...numbered.values()].flatMap((alike) => {
    const members = alike.map((name): Member => ({ name, digits: partsOf(name)?.[1] ?? '' }));
    const runs: Member[][] = [];
    for (const member of members.sort((a, b) => Number(a.digits) - Number(b.digits))) {
      const run = runs.at(-1);
      if (run !== undefined && run.length < MEMBERS_MAX && isNext(member, run)) run.push(member);
      else runs.push([member]);
    }
    return runs.map(runOf);
  });
}

interface Member {
  readonly name: string;
  readonly digits: string;
}

/** Splits a name at the last number of its host part. */
function partsOf(name: string): readonly [string, string, string] | undefined {
  const [host = ''] = name.split('.', 1);
  const [, prefix = '', digits = '', rest = ''] = /^(.*?)(\d+)(\D*)$/.exec(host) ?? [];
  if (digits === '' || digits.length > DIGITS_MAX) return undefined;
  return [prefix, digits, rest + name.slice(host.length)];
}

/** All indexes of a group have the length of the first one. */
function isNext({ digits }: Member, run: readonly Member[]): boolean {
  const [first] = run;
  const index = Number(first?.digits) + run.length;
  return first !== undefined && first.digits !== '' && String(index).padStart(first.digits.length, '0') === digits;
}

function runOf(members: readonly Member[]): Run {
  const [first] = members;
  const name = first?.name ?? '';
  if (members.length === 1) return { kind: 'server', names: [name], values: { name } };
  const [prefix, digits, suffix] = partsOf(name) ?? ['', '', ''];
  const values = { prefix, suffix, count: String(members.length), index_start: digits };
  return { kind: 'group', names: members.map((member) => member.name), values };
}

/** Names a group after its servers, and unrelated servers after their role and place. */
function nameOf([first, second]: readonly Run[], selection: SelectedNames): string {
  const places = ['role', 'environment', 'location'] as const;
  const together = places.flatMap((type) => selection.get(type) || []).join('-') || 'servers';
  if (first === undefined || second !== undefined) return together;
  const { name, prefix = '', suffix = '' } = first.values;
  if (name !== undefined) return hostOf(name);
  const stem = prefix.replace(/[-_.]+$/, '') || hostOf(suffix).replace(/^[-_]+/, '');
  return nameFault(stem) === undefined ? stem : together;
}

function hostOf(name: string): string {
  return name.split('.', 1)[0] ?? name;
}

/** Returns an unused name and marks it as used. Names must differ in more than case, because they become files. */
function unique(name: string, more: string | undefined, used: Set<string>): string {
  const wanted = nameFault(name) === undefined ? name : 'servers';
  const candidates = more === undefined || wanted.endsWith(more) ? [wanted] : [wanted, `${wanted}-${more}`];
  let found = candidates.find((one) => !used.has(one.toLowerCase()) && nameFault(one) === undefined);
  for (let number = 2; found === undefined; number++) {
    const next = `${wanted.slice(0, 200)}-${number}`;
    if (!used.has(next.toLowerCase())) found = next;
  }
  used.add(found.toLowerCase());
  return found;
}

/**
 * Returns templates and instances. Instances of one group, or of one server, with the same role that select the same
 * types share a template. `configured` are the instances that have a configuration of their own name.
 */
export function writeStacks(
  planned: readonly PlannedInstance[],
  { configured, adopt }: { readonly configured: ReadonlySet<string>; readonly adopt: boolean },
): Stacks {
  const templates = new Map<string, JsonMap>();
  const instances = new Map<string, JsonMap>();
  const used = new Set<string>();
  const alike = Map.groupBy(planned, ({ name, selection, runs: [run, more] }) =>
    JSON.stringify(more === undefined ? [run?.kind, selection.get('role'), [...selection.keys()]] : name),
  );
  const order = ([first]: readonly PlannedInstance[]): number =>
    isList(first) ? 2 : first?.runs[0]?.kind === 'group' ? 0 : 1;
  for (const group of [...alike.values()].sort((a, b) => order(a) - order(b))) {
    const shared = sharedTemplate(group, configured);
    const [first] = group;
    const kind = first?.runs[0]?.kind ?? 'server';
    const name = isList(first) ? first?.name : first?.selection.get('role') || (kind === 'group' ? 'servers' : kind);
    const template = unique(name ?? kind, kind, used);
    templates.set(template, shared.template);
    for (const [instance, fields] of shared.instances) {
      instances.set(instance, { stackTemplate: template, ...(adopt ? { adopt } : {}), ...fields });
    }
  }
  return { templates, instances };
}

function isList(planned: PlannedInstance | undefined): boolean {
  return (planned?.runs.length ?? 0) > 1;
}

interface SharedTemplate {
  readonly template: JsonMap;
  /** The fields of each instance. */
  readonly instances: readonly (readonly [name: string, fields: JsonMap])[];
}

/**
 * Values that the instances share are literals, the others are parameters. The number of servers, or the name of one,
 * is always a parameter.
 */
function sharedTemplate(group: readonly PlannedInstance[], configured: ReadonlySet<string>): SharedTemplate {
  const [first] = group;
  const isConfigured = group.some(({ name }) => configured.has(name));
  const selected = group.map(({ name, selection }) => ({
    ...Object.fromEntries(selection),
    // An instance without a configuration needs an explicit value if others of its template have one.
    ...(isConfigured ? { configuration: configured.has(name) ? name : '' } : {}),
  }));
  const values = group.map(
    ({ runs: [run] }, index): Readonly<Record<string, string>> => ({ ...run?.values, ...selected[index] }),
  );
  const parameters = Object.keys(values[0] ?? {}).filter(
    (name) =>
      !isList(first) && (['count', 'name'].includes(name) || values.some((one) => one[name] !== values[0]?.[name])),
  );
  const role = first?.selection.get('role') || 'server';
  const hosts = Map.groupBy(first?.runs ?? [], ({ names: [name = ''] }) => hostOf(name));
  const resources = (first?.runs ?? []).map((run): readonly [string, JsonMap] => {
    const own: Readonly<Record<string, string>> = { ...run.values, ...selected[0] };
    const write = (name: string): string => (parameters.includes(name) ? `<<${name}>>` : (own[name] ?? ''));
    const properties = Object.fromEntries(Object.keys(selected[0] ?? {}).map((name) => [name, write(name)]));
    const [name = ''] = run.names;
    const listed = (hosts.get(hostOf(name))?.length ?? 0) > 1 ? name : hostOf(name);
    return [isList(first) ? listed : role, resourceOf(run, properties, write)];
  });
  const defaults =
    parameters.length === 0 ? {} : { parameters: Object.fromEntries(parameters.map((name) => [name, ''])) };
  return {
    template: { ...defaults, resources: Object.fromEntries(resources) },
    instances: group.map(({ name }, index) => {
      const given = Object.fromEntries(parameters.map((parameter) => [parameter, values[index]?.[parameter] ?? '']));
      return [name, parameters.length === 0 ? {} : { parameters: given }];
    }),
  };
}

function resourceOf({ kind }: Run, own: JsonMap, write: (name: string) => string): JsonMap {
  if (kind === 'server') return { type: SERVER, properties: { name: write('name'), ...own } };
  const start = write('index_start');
  const properties = { name: `${write('prefix')}<<index>>${write('suffix')}`, ...own };
  const from = start === '1' ? {} : { index_start: start };
  return { type: RESOURCE_GROUP, properties: { count: write('count'), ...from, resource_def: { properties } } };
}
