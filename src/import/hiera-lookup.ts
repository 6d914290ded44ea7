// Looks keys up in the data files of a Hiera 5 tree for one node, like Puppet: levels from specific to general,
// merging by lookup_options, and interpolation with the known facts of the node. Follows Puppet's documentation of
// Hiera 5.
import { compilePatterns, type PatternList, patternRefusal } from '../base/pattern.ts';
import { quote } from '../base/wording.ts';
import {
  bounded,
  entryOf,
  faultAt,
  itemsOf,
  type Located,
  locatedText,
  plainJson,
  type SourceLine,
  textAt,
} from './foreign-yaml.ts';

/** The known facts of a node by dotted names, without `facts.`. */
export type NodeContext = ReadonlyMap<string, string | readonly string[]>;

/** A data file that a level of the hierarchy selects. */
export interface DataFile {
  readonly root: Located;
  /** True if the file is for one node. */
  readonly isOwn: boolean;
}

/** The interpolated text, or the fault of the first unknown fact. */
type Interpolated = { readonly text: string } | { readonly fault: string };

const EXPRESSION = /%\{([^}]*)\}/g;
const CALL = /^(lookup|hiera|alias|literal|scope)\(\s*(?:'([^']*)'|"([^"]*)")\s*\)$/;
/** The limit of references, which stops a key that refers to itself through others. */
const DEPTH_MAX = 20;
const LOOKUP_OPTIONS = 'lookup_options';

/** Returns the value of the fact in `%{name}`. */
export function factOf(context: NodeContext, expression: string): string | readonly string[] | undefined {
  const name = expression.replace(/^::/, '').replace(/^(?:facts|server_facts)\./, '');
  return context.get(name);
}

/** Returns a text with interpolated facts, such as the path of a level. */
export function interpolateFacts(text: string, context: NodeContext): Interpolated {
  let fault: string | undefined;
  const replaced = text.replaceAll(EXPRESSION, (_written, inner: string) => {
    const fact = factOf(context, inner.trim());
    if (typeof fact !== 'string') fault ??= `it needs the fact ${inner.trim()}, which is not given`;
    return typeof fact === 'string' ? fact : '';
  });
  return fault === undefined ? { text: replaced } : { fault };
}

const interpolated = new WeakMap<Located, boolean>();

/** Returns whether a value contains an expression. Most do not, and all nodes share them. */
function isInterpolated(located: Located): boolean {
  const known = interpolated.get(located);
  if (known !== undefined) return known;
  interpolated.set(located, false);
  const found =
    located.kind === 'scalar'
      ? typeof located.value === 'string' && located.value.includes('%{')
      : located.kind === 'list'
        ? located.items.some(isInterpolated)
        : [...located.entries].some(([key, value]) => key.includes('%{') || isInterpolated(value));
  interpolated.set(located, found);
  return found;
}

/** Looks keys up for one node. */
export class HieraLookup {
  readonly #files: readonly DataFile[];
  readonly #context: NodeContext;
  #options: Located | undefined;

  /** `files` are those of the node, from specific to general. */
  constructor(files: readonly DataFile[], context: NodeContext) {
    this.#files = files;
    this.#context = context;
    const found = files.flatMap(({ root }) => entryOf(root, LOOKUP_OPTIONS) ?? []);
    this.#options = found.length < 2 ? found[0] : mergeMaps(found, (values) => values[0] ?? nullOf(found[0]));
  }

  /** Yields every key of the node with its value, and whether it was written only for this node. */
  *variables(): Generator<readonly [key: string, value: Located, isOwn: boolean]> {
    const seen = new Set<string>([LOOKUP_OPTIONS]);
    for (const { root, isOwn } of this.#files) {
      if (root.kind !== 'map') continue;
      for (const key of root.entries.keys()) {
        if (seen.has(key)) continue;
        seen.add(key);
        const value = this.#valueOf(key, 0);
        if (value !== undefined) yield [key, value, isOwn];
      }
    }
  }

  #valueOf(key: string, depth: number): Located | undefined {
    const found = this.#files.flatMap(({ root }) => entryOf(root, key) ?? []).map((value) => bounded(value));
    const [first] = found;
    if (first === undefined) return undefined;
    const options = this.#optionsOf(key);
    if (options?.kind === 'scalar' && options.fault !== undefined) return faultAt(first, options.fault);
    const strategy = entryOf(options, 'merge');
    const [other] = options?.kind === 'map' ? [...options.entries.keys()].filter((one) => one !== 'merge') : [];
    if (other !== undefined) return faultAt(first, `lookup_options have ${other} for it, which only Puppet applies`);
    const name = locatedText(strategy) ?? locatedText(entryOf(strategy, 'strategy')) ?? 'first';
    const extra = strategy?.kind === 'map' ? [...strategy.entries.keys()].filter((one) => one !== 'strategy') : [];
    if (extra.length > 0) return faultAt(first, `lookup_options merge it with ${extra.join(' and ')}`);
    if (name === 'first') return this.#interpolate(first, depth);
    const values = found.map((value) => this.#interpolate(value, depth));
    return mergeBy(name, values) ?? faultAt(first, `lookup_options merge it by "${name}", and it does not fit`);
  }

  /** An option for the key itself has priority over one for a pattern, which begins with `^`. */
  #optionsOf(key: string): Located | undefined {
    if (this.#options?.kind !== 'map') return undefined;
    const exact = this.#options.entries.get(key);
    if (exact !== undefined) return exact;
    for (const [pattern, options] of this.#options.entries) {
      if (!pattern.startsWith('^')) continue;
      const found = compiled(pattern)?.isFoundIn(key);
      if (found === undefined)
        return faultAt(options, `lookup_options have the pattern ${quote(pattern)}, which only Ruby reads`);
      if (found) return options;
    }
    return undefined;
  }

  #interpolate(located: Located, depth: number): Located {
    if (!isInterpolated(located)) return located;
    if (depth > DEPTH_MAX) return faultAt(located, 'it refers to itself');
    if (located.kind === 'list')
      return { ...located, items: located.items.map((item) => this.#interpolate(item, depth)) };
    if (located.kind === 'map') {
      const entries = [...located.entries].map(([key, value]): readonly [string, Located] => {
        const name = this.#replace(key, depth);
        return 'fault' in name ? [key, faultAt(value, name.fault)] : [name.text, this.#interpolate(value, depth)];
      });
      return { ...located, entries: new Map(entries) };
    }
    const [, alias] = /^%\{\s*alias\(\s*['"]([^'"]*)['"]\s*\)\s*\}$/.exec(String(located.value)) ?? [];
    if (alias !== undefined) return this.#dig(alias, depth) ?? faultAt(located, `there is no key "${alias}"`);
    const replaced = this.#replace(String(located.value), depth);
    return 'fault' in replaced ? faultAt(located, replaced.fault) : textAt(replaced.text, located);
  }

  #replace(text: string, depth: number): Interpolated {
    let fault: string | undefined;
    const replaced = text.replaceAll(EXPRESSION, (_written, inner: string) => {
      const one = this.#expression(inner.trim(), depth);
      if ('fault' in one) fault ??= one.fault;
      return 'fault' in one ? '' : one.text;
    });
    return fault === undefined ? { text: replaced } : { fault };
  }

  #expression(inner: string, depth: number): Interpolated {
    if (inner === '' || inner === "''" || inner === '""') return { text: '' };
    const [, name, single, double = ''] = CALL.exec(inner) ?? [];
    const argument = single ?? double;
    if (name === 'literal') return { text: argument };
    if (name === undefined || name === 'scope')
      return interpolateFacts(`%{${name === undefined ? inner : argument}}`, this.#context);
    const value = this.#dig(argument, depth);
    if (value?.kind === 'scalar' && value.fault !== undefined) return { fault: value.fault };
    const text = locatedText(value);
    return text === undefined ? { fault: `it needs the key "${argument}", which has no text` } : { text };
  }

  /** `a.b` is the entry `b` of the key `a`. */
  #dig(path: string, depth: number): Located | undefined {
    const [key = '', ...below] = path.split('.');
    let value = this.#valueOf(key, depth + 1);
    for (const part of below) value = value?.kind === 'list' ? value.items[Number(part)] : entryOf(value, part);
    return value;
  }
}

const patterns = new Map<string, PatternList | undefined>();

/** Returns a linear-time matcher with Ruby's result; undefined for a pattern that only Ruby supports. */
function compiled(pattern: string): PatternList | undefined {
  if (!patterns.has(pattern)) {
    patterns.set(pattern, patternRefusal(pattern) === undefined ? compilePatterns([pattern]) : undefined);
  }
  return patterns.get(pattern);
}

function nullOf(at: Located | undefined): Located {
  return { kind: 'scalar', value: null, file: at?.file ?? '', line: at?.line ?? 1 };
}

/** Returns values, specific first, merged by a strategy of Hiera; undefined if they are not suitable. */
function mergeBy(strategy: string, values: readonly Located[]): Located | undefined {
  const [first] = values;
  if (first === undefined) return undefined;
  if (strategy === 'unique')
    return values.some(({ kind }) => kind === 'map') ? undefined : uniqueOf(values.flatMap(flatItems), first);
  if (strategy === 'deep') return deepOf(values);
  const isHash = strategy === 'hash' && values.every(({ kind }) => kind === 'map');
  return isHash ? mergeMaps(values, ([one]) => one ?? first) : undefined;
}

function uniqueOf(all: readonly Located[], { file, line }: SourceLine): Located {
  const items = new Map<string, Located>();
  for (const item of all) {
    const id = JSON.stringify(plainJson(item));
    if (!items.has(id)) items.set(id, item);
  }
  return { kind: 'list', items: [...items.values()], file, line };
}

/** Hiera flattens lists inside lists for a unique merge. */
function flatItems(located: Located): readonly Located[] {
  return located.kind === 'list' ? located.items.flatMap(flatItems) : itemsOf(located);
}

function deepOf(values: readonly Located[]): Located {
  const [first] = values;
  const alike = values.filter(({ kind }) => kind === first?.kind);
  if (first?.kind === 'map') return mergeMaps(alike, deepOf);
  // Unlike a unique merge, a deep one has the items of the general level first.
  return (first?.kind === 'list' ? uniqueOf(alike.toReversed().flatMap(itemsOf), first) : first) ?? nullOf(first);
}

function mergeMaps(maps: readonly Located[], merge: (values: readonly Located[]) => Located): Located {
  const keys = new Set(maps.flatMap((map) => (map.kind === 'map' ? [...map.entries.keys()] : [])));
  const entries = new Map<string, Located>();
  for (const key of keys) {
    const values = maps.flatMap((map) => entryOf(map, key) ?? []);
    entries.set(key, merge(values));
  }
  const [{ file, line } = { file: '', line: 1 }] = maps;
  return { kind: 'map', entries, file, line };
}
