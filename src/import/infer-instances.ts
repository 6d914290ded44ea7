// Groups servers that select the same and are named by numbers, makes an instance of each group, and finds the templates that like
// instances share: what differs between them is a parameter.
import { emptyMap, type JsonMap } from '../model/json.ts';
import { compareNames, nameFault, RESOURCE_GROUP, SERVER } from '../model/names.ts';
import { SELECTOR_TYPES, type SelectedNames } from './infer-selectors.ts';

/** Servers that one resource makes. */
type Run =
  | { readonly kind: 'server'; readonly names: readonly [string] }
  | {
      readonly kind: 'group';
      readonly names: readonly string[];
      readonly prefix: string;
      readonly suffix: string;
      readonly start: string;
      /** Indexes between the first and the last that have no server. */
      readonly retired: readonly string[];
    };

/** An instance to write, and what its servers select. */
export interface PlannedInstance {
  readonly name: string;
  readonly selection: SelectedNames;
  /** One group, or one server; or several servers that are not named alike. */
  readonly runs: readonly Run[];
}

/** The objects of templates and instances, by name. */
export interface Stacks {
  readonly templates: ReadonlyMap<string, JsonMap>;
  readonly instances: ReadonlyMap<string, JsonMap>;
}

const MEMBERS_MAX = 10_000;
/** A larger hole in the numbers begins another group. */
const HOLE_MAX = 3;
/** Servers without a like name in one instance: its file stays readable, and far below the limit of a file. */
const LISTED_MAX = 250;
const DIGITS_MAX = 9;

/** Returns the instances, sorted by name. */
export function inferInstances(selections: ReadonlyMap<string, SelectedNames>): readonly PlannedInstance[] {
  const alike = Map.groupBy([...selections], ([, selection]) => JSON.stringify([...selection]));
  const used = new Set<string>();
  const planned = [...alike.values()].flatMap((nodes) => {
    const selection = nodes[0]?.[1] ?? new Map();
    const runs = runsOf(nodes.map(([name]) => name).sort(compareNames));
    const singles = runs.filter(({ kind }) => kind === 'server');
    const groups = runs.filter(({ kind }) => kind === 'group');
    const lists = Array.from({ length: Math.ceil(singles.length / LISTED_MAX) }, (_, index) =>
      singles.slice(index * LISTED_MAX, (index + 1) * LISTED_MAX),
    );
    return [...groups.map((run) => [run]), ...lists].map((own) => ({
      name: unique(nameOf(own, selection), selection.get('environment'), used),
      selection,
      runs: own,
    }));
  });
  return planned.sort((a, b) => compareNames(a.name, b.name));
}

/** Returns the names as groups of those that differ in a number only, and single servers. */
function runsOf(names: readonly string[]): readonly Run[] {
  const numbered = Map.groupBy(names, (name) => JSON.stringify(partsOf(name)?.toSpliced(1, 1) ?? name));
  return [...numbered.values()].flatMap((alike) => {
    const members = alike.flatMap((name) => {
      const [prefix, digits, suffix] = partsOf(name) ?? [];
      return digits === undefined ? [] : [{ name, prefix: prefix ?? '', digits, suffix: suffix ?? '' }];
    });
    const width = Math.max(1, ...members.map(({ digits }) => (digits.startsWith('0') ? digits.length : 1)));
    const fitting = members.filter(({ digits }) => String(Number(digits)).padStart(width, '0') === digits);
    const runs = splitAtHoles(fitting.sort((a, b) => Number(a.digits) - Number(b.digits))).map(runOf);
    const grouped = new Set(runs.flatMap((run) => run?.names ?? []));
    const singles = alike.filter((name) => !grouped.has(name)).map((name): Run => ({ kind: 'server', names: [name] }));
    return [...runs.filter((run) => run !== undefined), ...singles];
  });
}

interface Member {
  readonly name: string;
  readonly prefix: string;
  readonly digits: string;
  readonly suffix: string;
}

/** The last number in the name of a host, domain aside. */
function partsOf(name: string): readonly [string, string, string] | undefined {
  const [host = ''] = name.split('.', 1);
  const [, prefix = '', digits = '', rest = ''] = /^(.*?)(\d+)(\D*)$/.exec(host) ?? [];
  if (digits === '' || digits.length > DIGITS_MAX) return undefined;
  return [prefix, digits, rest + name.slice(host.length)];
}

function splitAtHoles(members: readonly Member[]): readonly (readonly Member[])[] {
  const runs: Member[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const member of members) {
    const run = runs.at(-1);
    const index = Number(member.digits);
    if (run === undefined || index - last > HOLE_MAX + 1 || run.length >= MEMBERS_MAX) runs.push([member]);
    else run.push(member);
    last = index;
  }
  return runs;
}

/** Returns a group; undefined where there is one member, or more holes than members. */
function runOf(members: readonly Member[]): Run | undefined {
  const [first] = members;
  const last = members.at(-1);
  if (first === undefined || last === undefined || members.length < 2) return undefined;
  const { prefix, suffix, digits: start } = first;
  const present = new Set(members.map(({ digits }) => Number(digits)));
  const retired: string[] = [];
  for (let index = Number(start); index < Number(last.digits); index++)
    if (!present.has(index)) retired.push(String(index));
  if (retired.length >= members.length) return undefined;
  return { kind: 'group', names: members.map(({ name }) => name), prefix, suffix, start, retired };
}

/** A group is named like its servers, several servers by their role and place. */
function nameOf([first, second]: readonly Run[], selection: SelectedNames): string {
  const hostOf = (name: string): string => name.split('.', 1)[0] ?? name;
  const places = ['role', 'environment', 'location'] as const;
  const of = places.flatMap((type) => selection.get(type) || []).join('-') || 'servers';
  if (first === undefined || second !== undefined) return of;
  if (first.kind === 'server') return hostOf(first.names[0]);
  const name = first.prefix.replace(/[-_.]+$/, '') || hostOf(first.suffix).replace(/^[-_]+/, '');
  return nameFault(name) === undefined ? name : of;
}

/** Returns a name that is not used yet, and uses it. Files differ in more than case. */
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
 * Returns templates and instances. Instances of one group, or of one server, with the same role that select the same types share a
 * template. `configured` are the instances that have a configuration of their own name.
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
  for (const group of [...alike.values()].sort((a, b) => kindOrder(a) - kindOrder(b))) {
    const shared = sharedTemplate(group, configured);
    const template = unique(templateName(group), shared.suffix, used);
    templates.set(template, shared.template);
    for (const [name, fields] of shared.instances) {
      instances.set(name, { stackTemplate: template, ...(adopt ? { adopt } : {}), ...fields });
    }
  }
  return { templates, instances };
}

function kindOrder([first]: readonly PlannedInstance[]): number {
  if (first === undefined || first.runs.length > 1) return 2;
  return first.runs[0]?.kind === 'group' ? 0 : 1;
}

function templateName(group: readonly PlannedInstance[]): string {
  const [first] = group;
  if (first === undefined || first.runs.length > 1) return first?.name ?? 'servers';
  return first.selection.get('role') || (first.runs[0]?.kind === 'group' ? 'servers' : 'server');
}

interface SharedTemplate {
  readonly template: JsonMap;
  /** What tells it from another one of its name. */
  readonly suffix: string;
  /** The fields of each instance. */
  readonly instances: readonly (readonly [name: string, fields: JsonMap])[];
}

function sharedTemplate(group: readonly PlannedInstance[], configured: ReadonlySet<string>): SharedTemplate {
  const [first] = group;
  const [run] = first?.runs ?? [];
  const key = first?.selection.get('role') || 'server';
  const selectors = group.map((one) => selectorsOf(one, group, configured));
  if (first === undefined || run === undefined || first.runs.length > 1) {
    return {
      template: { resources: listed(first?.runs ?? [], selectors[0] ?? {}) },
      suffix: 'servers',
      instances: [[first?.name ?? '', {}]],
    };
  }
  const values = group.map(({ runs: [one] }, index) => ({
    ...(one === undefined ? {} : valuesOf(one)),
    ...selectors[index],
  }));
  const always = run.kind === 'group' ? ['count'] : ['name'];
  const names = Object.keys(values[0] ?? {}).filter(
    (name) => always.includes(name) || values.some((one) => one[name] !== values[0]?.[name]),
  );
  const write = (name: string): string => (names.includes(name) ? `<<${name}>>` : (values[0]?.[name] ?? ''));
  const own = Object.fromEntries(Object.keys(selectors[0] ?? {}).map((name) => [name, write(name)]));
  const parameters = Object.fromEntries(names.map((name) => [name, '']));
  return {
    template: { parameters, resources: { [key]: resourceOf(run, own, write) } },
    suffix: run.kind === 'group' ? 'group' : 'single',
    instances: group.map(({ name, runs: [one] }, index) => {
      const given = Object.fromEntries(names.map((parameter) => [parameter, values[index]?.[parameter] ?? '']));
      const retired =
        one?.kind === 'group' && one.retired.length > 0 ? { resources: { [key]: { index: one.retired } } } : undefined;
      return [name, { parameters: given, ...(retired === undefined ? {} : { stackTemplateSubstractions: retired }) }];
    }),
  };
}

function resourceOf(run: Run, own: JsonMap, write: (name: string) => string): JsonMap {
  if (run.kind === 'server') return { type: SERVER, properties: { name: write('name'), ...own } };
  const start = write('index_start');
  const properties = { name: `${write('prefix')}<<index>>${write('suffix')}`, ...own };
  const from = start === '1' ? {} : { index_start: start };
  return { type: RESOURCE_GROUP, properties: { count: write('count'), ...from, resource_def: { properties } } };
}

function valuesOf(run: Run): Readonly<Record<string, string>> {
  if (run.kind === 'server') return { name: run.names[0] };
  return { prefix: run.prefix, suffix: run.suffix, count: String(run.names.length), index_start: run.start };
}

/** An instance without a configuration of its own says so where others of its template have one. */
function selectorsOf(
  one: PlannedInstance,
  group: readonly PlannedInstance[],
  configured: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const selected = SELECTOR_TYPES.flatMap((type) => {
    const name = one.selection.get(type);
    return name === undefined ? [] : [[type, name] as const];
  });
  const isConfigured = group.some(({ name }) => configured.has(name));
  return {
    ...Object.fromEntries(selected),
    ...(isConfigured ? { configuration: configured.has(one.name) ? one.name : '' } : {}),
  };
}

/** Servers that are not named alike stand in one template, each by itself. */
function listed(runs: readonly Run[], selectors: Readonly<Record<string, string>>): JsonMap {
  const resources = emptyMap();
  const hosts = Map.groupBy(runs, ({ names: [name = ''] }) => name.split('.', 1)[0] ?? '');
  for (const { names } of runs) {
    const [name = ''] = names;
    const [host = ''] = name.split('.', 1);
    resources[(hosts.get(host)?.length ?? 0) > 1 ? name : host] = { type: SERVER, properties: { name, ...selectors } };
  }
  return resources;
}
