// Reads the hosts, groups and variables of one inventory file of Ansible, INI or YAML, into a model of groups. Follows Ansible's
// documentation, "How to build your inventory".
import { isExact } from '../model/json.ts';
import { bounded, entryOf, faultAt, type Located, parseForeign, type SourceLine, textAt } from './foreign-yaml.ts';
import { ImportError, type Inventory } from './inventory.ts';

/** A group of hosts. */
export interface HostGroup {
  readonly hosts: Set<string>;
  readonly children: Set<string>;
  readonly variables: Map<string, Located>;
}

/** All groups and hosts of an inventory. */
export class HostGroups {
  readonly groups = new Map<string, HostGroup>();
  readonly hosts = new Map<string, { readonly at: SourceLine; readonly variables: Map<string, Located> }>();

  /** Returns a group, which is made where it is not known. */
  group(name: string): HostGroup {
    const known = this.groups.get(name);
    if (known !== undefined) return known;
    if (this.groups.size >= GROUPS_MAX) throw new ImportError(`the inventory has more than ${GROUPS_MAX} groups`);
    const group = { hosts: new Set<string>(), children: new Set<string>(), variables: new Map<string, Located>() };
    this.groups.set(name, group);
    return group;
  }

  /** Adds hosts to a group, with their variables. */
  add(group: string, names: readonly string[], variables: Iterable<readonly [string, Located]>, at: SourceLine): void {
    const all = [...variables];
    for (const name of names) {
      const host = this.hosts.get(name) ?? { at, variables: new Map<string, Located>() };
      for (const [key, value] of all) host.variables.set(key, value);
      this.hosts.set(name, host);
      this.group(group).hosts.add(name);
    }
  }
}

const GROUPS_MAX = 20_000;
const RANGE_MAX = 20_000;

/** Reads a file into the groups. What it cannot read is left out of the inventory, with the reason. */
export function readHosts(file: string, text: string, target: Target): void {
  if (text.startsWith('#!')) target.inventory.leave({ file, line: 1 }, '', MADE_BY_PROGRAM);
  else if (!isYaml(file, text)) readIni(file, text, target);
  else {
    const root = parseForeign(file, text);
    const whole = bounded(root, 'file');
    const fault = entryOf(root, 'plugin') !== undefined ? MADE_BY_PROGRAM : whole.kind === 'scalar' && whole.fault;
    if (fault) target.inventory.leave(root, '', fault);
    else if (root.kind === 'map') for (const [name, group] of root.entries) readGroup(name, group, target);
  }
}

/** What a group has. Ansible refuses or skips everything else. */
const PARTS: readonly string[] = ['hosts', 'children', 'vars'];
const MADE_BY_PROGRAM = 'a program makes this inventory: name a file with what it prints';

interface Target {
  readonly groups: HostGroups;
  readonly inventory: Inventory;
}

function isYaml(file: string, text: string): boolean {
  const extension = /\.[^./]*$/.exec(file)?.[0] ?? '';
  return (
    /^\.(?:ya?ml|json)$/.test(extension) ||
    (extension === '' && /^---|^\s*[\w-]+:\s*$/m.test(text) && !/^\[/m.test(text))
  );
}

function readGroup(name: string, located: Located, target: Target): void {
  const { groups, inventory } = target;
  const group = groups.group(name);
  for (const [part, { file, line }] of located.kind === 'map' ? located.entries : []) {
    if (!PARTS.includes(part)) inventory.leave({ file, line }, part, `only ${PARTS.join(', ')} of a group are read`);
  }
  const hosts = entryOf(located, 'hosts');
  if (hosts?.kind === 'map') {
    for (const [pattern, variables] of hosts.entries) {
      groups.add(name, expandRange(pattern), variables.kind === 'map' ? variables.entries : [], variables);
    }
  }
  const variables = entryOf(located, 'vars');
  if (variables?.kind === 'map') for (const [key, value] of variables.entries) group.variables.set(key, value);
  const children = entryOf(located, 'children');
  if (children?.kind !== 'map') return;
  for (const [child, below] of children.entries) {
    group.children.add(child);
    readGroup(child, below, target);
  }
}

function readIni(file: string, text: string, { groups, inventory }: Target): void {
  let section: readonly [name: string, kind: string] = ['ungrouped', 'hosts'];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    const at = { file, line: index + 1 };
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    const [, name, kind = 'hosts'] = /^\[([^:\]]+)(?::([^\]]*))?\]\s*(?:[#;].*)?$/.exec(line) ?? [];
    if (name !== undefined) {
      section = [name, kind];
      if (!PARTS.includes(kind)) inventory.leave(at, '', 'the section of a group ends in :children, :vars or neither');
      else if (kind !== 'vars') groups.group(name);
    } else if (!PARTS.includes(section[1])) continue;
    else if (section[1] === 'children') groups.group(section[0]).children.add(line.split(/\s*#/)[0] ?? '');
    else if (section[1] === 'vars') {
      const [key = '', value] = pairOf(line);
      if (value === undefined) inventory.leave(at, key, 'a variable is written key=value');
      else groups.group(section[0]).variables.set(key, literalAt(value, at));
    } else addHostLine(section[0], line, at, { groups, inventory });
  }
}

function pairOf(text: string): readonly [key: string, value: string | undefined] {
  const at = text.indexOf('=');
  return at === -1 ? [text, undefined] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function addHostLine(group: string, line: string, at: SourceLine, { groups, inventory }: Target): void {
  const [pattern = '', ...pairs] = wordsOf(line);
  const variables = new Map<string, Located>();
  const [, host = pattern, port] = /^([^:]+(?:\[[^\]]*\][^:[]*)*):(\d+)$/.exec(pattern) ?? [];
  if (port !== undefined) variables.set('ansible_port', { kind: 'scalar', value: Number(port), ...at });
  for (const [key, value] of pairs.map(pairOf)) {
    if (value === undefined) inventory.leave(at, key, 'a variable is written key=value');
    else variables.set(key, literalAt(value, at));
  }
  groups.add(group, expandRange(host), variables, at);
}

/** Splits a line at blanks that are not quoted, as a shell does, up to a comment. Quotes inside a word are taken away. */
function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  for (const [word] of line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g)) {
    if (word.startsWith('#')) break;
    words.push(
      word.replaceAll(
        /"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g,
        (_all, double, single, escaped) => double ?? single ?? escaped,
      ),
    );
  }
  return words;
}

const NUMBER = /^[+-]?(?:0|[1-9]\d*|\d*\.\d+|\d+\.)(?:e[+-]?\d+)?$/i;

/** Values are literals of Python, comment aside, where they are some, and texts otherwise. */
function literalAt(written: string, at: SourceLine): Located {
  const bare = written.replace(/\s+#.*$/, '');
  if (/^(?:True|False)$/.test(bare)) return { kind: 'scalar', value: bare === 'True', ...at };
  if (bare === 'None') return { kind: 'scalar', value: null, ...at };
  if (NUMBER.test(bare))
    return isExact(Number(bare)) ? { kind: 'scalar', value: Number(bare), ...at } : textAt(written, at);
  if (/^(?:"[^"\\]*"|'[^'\\]*')$/.test(bare)) return textAt(bare.slice(1, -1), at);
  if (!/^(?:\[.*\]|\{.*\})$/s.test(bare) || bare.startsWith('{{')) return textAt(written, at);
  const parsed = parseForeign(
    at.file,
    bare.replaceAll(/\b(True|False)\b/g, (word) => word.toLowerCase()),
  );
  return bounded(parsed).kind === 'scalar' ? textAt(written, at) : movedTo(parsed, at);
}

/** A value inside of a line stands where the line does. */
function movedTo(located: Located, at: SourceLine): Located {
  if (located.kind === 'scalar')
    return located.fault === undefined ? { ...located, ...at } : faultAt(at, located.fault);
  if (located.kind === 'list') return { kind: 'list', items: located.items.map((item) => movedTo(item, at)), ...at };
  return { kind: 'map', entries: new Map([...located.entries].map(([key, one]) => [key, movedTo(one, at)])), ...at };
}

/** Returns the names of a pattern such as `web[01:10:2].example.com` or `db-[a:f]`. Throws ImportError for too many. */
export function expandRange(pattern: string): readonly string[] {
  const [range, begin = '', end = '', step = '1'] = /\[(\w*):(\w+)(?::(\d+))?\]/.exec(pattern) ?? [];
  if (range === undefined) return [pattern];
  const at = pattern.indexOf(range);
  const tails = expandRange(pattern.slice(at + range.length));
  const items =
    /^\d*$/.test(begin) && /^\d+$/.test(end)
      ? numbersOf(begin || '0', end, Number(step))
      : lettersOf(begin, end, Number(step));
  if (items.length * tails.length > RANGE_MAX)
    throw new ImportError(`${pattern} stands for more than ${RANGE_MAX} hosts`);
  return items.flatMap((item) => tails.map((tail) => `${pattern.slice(0, at)}${item}${tail}`));
}

function numbersOf(begin: string, end: string, step: number): readonly string[] {
  const width = begin.startsWith('0') ? begin.length : 1;
  const count = Math.floor((Number(end) - Number(begin)) / Math.max(1, step)) + 1;
  if (count > RANGE_MAX) throw new ImportError(`[${begin}:${end}] stands for more than ${RANGE_MAX} hosts`);
  return Array.from({ length: Math.max(0, count) }, (_, index) =>
    String(Number(begin) + index * Math.max(1, step)).padStart(width, '0'),
  );
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

function lettersOf(begin: string, end: string, step: number): readonly string[] {
  const [from, to] = [LETTERS.indexOf(begin), LETTERS.indexOf(end)];
  if (begin.length !== 1 || end.length !== 1 || from === -1 || to === -1) return [`[${begin}:${end}]`];
  return [...LETTERS.slice(from, to + 1)].filter((_, index) => index % Math.max(1, step) === 0);
}
