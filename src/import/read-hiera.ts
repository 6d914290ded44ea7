// Reads a Hiera 5 tree: the levels of hiera.yaml, the nodes, and the data files of each node. hiera-lookup.ts looks
// values up.
import { posix } from 'node:path';
import {
  entryOf,
  itemsOf,
  type Located,
  locatedText,
  parseForeign,
  type SourceFiles,
  type SourceLine,
} from './foreign-yaml.ts';
import { type DataFile, factOf, HieraLookup, interpolateFacts, type NodeContext } from './hiera-lookup.ts';
import { ImportError, type Inventory } from './inventory.ts';

/** A node and its facts, from the file of `--nodes`. */
export interface KnownNode extends SourceLine {
  readonly name: string;
  readonly facts: NodeContext;
}

interface Level extends SourceLine {
  readonly name: string;
  readonly datadir: string;
  readonly kind: 'path' | 'glob';
  /** Paths or patterns. Mapped paths contain the variable, which stands for each item of the fact. */
  readonly templates: readonly string[];
  readonly mapped?: { readonly fact: string; readonly variable: string };
}

const BACKENDS: readonly string[] = ['yaml_data', 'json_data', 'eyaml_lookup_key'];
/** Expressions for the name of the node. */
const NODE_NAME =
  /%\{\s*(?:::)?(?:trusted\.certname|clientcert|fqdn|(?:facts\.)?(?:networking\.)?fqdn|facts\.clientcert)\s*\}/;
const FILES_A_NODE_MAX = 1_000;

/** Adds the nodes of a tree to the inventory. Throws ImportError if hiera.yaml cannot be used. */
export function readHiera(path: string, files: SourceFiles, inventory: Inventory, known: readonly KnownNode[]): void {
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : '';
  const root = parseForeign(path, files.get(path) ?? '');
  const version = locatedText(entryOf(root, 'version'));
  if (version !== '5') throw new ImportError(`${path} is of version ${version ?? 'none'}: only Hiera 5 is read`);
  const levels = levelsOf(root, folder, inventory);
  const nodes = known.length > 0 ? known : nodesOfFiles(levels, files);
  if (nodes.length === 0) throw new ImportError(`no level of ${path} has a file for each node: name them with --nodes`);
  const tree = new DataTree(files, inventory);
  for (const { name, facts, file, line } of nodes) {
    const context = contextOf(name, facts);
    const lookup = new HieraLookup(tree.filesOf(levels, context), context);
    const facets = [...context].flatMap(([fact, value]) => (typeof value === 'string' ? [[fact, value] as const] : []));
    inventory.add({ name, variables: lookup.variables(), facets, file, line });
  }
}

function levelsOf(root: Located, folder: string, inventory: Inventory): readonly Level[] {
  const defaults = entryOf(root, 'defaults');
  const at = entryOf(root, 'default_hierarchy');
  if (at !== undefined) inventory.leave(at, 'default_hierarchy', 'a default hierarchy is not read');
  return itemsOf(entryOf(root, 'hierarchy')).flatMap((level) => {
    const backend = ['data_hash', 'lookup_key', 'data_dig'].flatMap((one) => locatedText(entryOf(level, one)) ?? [])[0];
    const used = backend ?? locatedText(entryOf(defaults, 'data_hash')) ?? locatedText(entryOf(defaults, 'lookup_key'));
    const name = locatedText(entryOf(level, 'name')) ?? '';
    if (used !== undefined && !BACKENDS.includes(used)) {
      inventory.leave(level, name, `the level is read by ${used}, and only files of YAML and JSON are read`);
      return [];
    }
    const datadir = locatedText(entryOf(level, 'datadir')) ?? locatedText(entryOf(defaults, 'datadir')) ?? 'data';
    return [{ name, datadir: joined(folder, datadir), ...templatesOf(level), file: level.file, line: level.line }];
  });
}

function templatesOf(level: Located): Pick<Level, 'kind' | 'templates' | 'mapped'> {
  const textsOf = (key: string): readonly string[] =>
    itemsOf(entryOf(level, key)).flatMap((one) => locatedText(one) ?? []);
  const [fact = '', variable = '', ...mapped] = textsOf('mapped_paths');
  if (mapped.length > 0) return { kind: 'path', templates: mapped, mapped: { fact, variable } };
  const globs = [...textsOf('glob'), ...textsOf('globs')];
  if (globs.length > 0) return { kind: 'glob', templates: globs };
  return { kind: 'path', templates: [...textsOf('path'), ...textsOf('paths')] };
}

function joined(folder: string, path: string): string {
  return posix.join(posix.isAbsolute(path) ? '' : folder, path);
}

/** Finds the nodes with their own file, and the facts in its path. */
function nodesOfFiles(levels: readonly Level[], files: SourceFiles): readonly KnownNode[] {
  const found = new Map<string, KnownNode>();
  for (const { datadir, templates, kind } of levels) {
    for (const template of kind === 'path' ? templates : []) {
      const { pattern, names } = pathPattern(joined(datadir, template));
      if (!names.includes('')) continue;
      for (const file of files.keys()) {
        const match = pattern.exec(file);
        if (match === null) continue;
        const facts = new Map(names.map((name, index) => [name, match[index + 1] ?? '']));
        const name = facts.get('') ?? '';
        facts.delete('');
        if (!found.has(name)) found.set(name, { name, facts, file, line: 1 });
      }
    }
  }
  return [...found.values()];
}

/**
 * Returns a pattern for the paths of a level. Its groups are facts; the group with an empty name is the node. A group
 * next to another one is ambiguous and gives no fact.
 */
function pathPattern(template: string): { readonly pattern: RegExp; readonly names: readonly string[] } {
  const names: string[] = [];
  const parts = template.split('/').map((part) => {
    const [, expression] = /^(%\{[^}]*\})(?:\.[a-z]+)?$/.exec(part) ?? [];
    if (expression === undefined)
      return part
        .split(/%\{[^}]*\}/)
        .map((text) => RegExp.escape(text))
        .join('[^/]+');
    names.push(
      NODE_NAME.test(expression)
        ? ''
        : expression
            .slice(2, -1)
            .trim()
            .replace(/^::|^(?:::)?facts\./, ''),
    );
    return `([^/]+)${RegExp.escape(part.slice(expression.length))}`;
  });
  return { pattern: new RegExp(`^${parts.join('/')}$`), names };
}

/** Returns the facts that follow from a node's name: the certificate name, and the full host name. */
function contextOf(name: string, facts: NodeContext): NodeContext {
  const [hostname = '', ...domain] = name.split('.');
  const own = { certname: name, hostname, domain: domain.join('.') };
  return new Map<string, string | readonly string[]>([
    ...Object.entries(own).map(([key, value]) => [`trusted.${key}`, value] as const),
    ...['clientcert', 'fqdn', 'networking.fqdn'].map((key) => [key, name] as const),
    ...['hostname', 'networking.hostname'].map((key) => [key, hostname] as const),
    ...['domain', 'networking.domain'].map((key) => [key, own.domain] as const),
    ...facts,
  ]);
}

/** The data files. Each is read once. */
class DataTree {
  readonly #files: SourceFiles;
  readonly #inventory: Inventory;
  readonly #read = new Map<string, Located>();
  readonly #globs = new Map<string, readonly string[]>();

  constructor(files: SourceFiles, inventory: Inventory) {
    this.#files = files;
    this.#inventory = inventory;
  }

  /** Returns the files of a node, specific first. */
  filesOf(levels: readonly Level[], context: NodeContext): readonly DataFile[] {
    const found: DataFile[] = [];
    for (const level of levels) {
      for (const [template, facts] of templatesFor(level, context)) {
        const isOwn = NODE_NAME.test(template);
        for (const path of this.#pathsOf(level, template, facts)) {
          if (found.length < FILES_A_NODE_MAX) found.push({ root: this.#rootOf(path), isOwn });
        }
      }
    }
    return found;
  }

  #pathsOf(level: Level, template: string, context: NodeContext): readonly string[] {
    const path = interpolateFacts(joined(level.datadir, template), context);
    if ('fault' in path) {
      this.#inventory.leave(level, level.name, `nodes do not get the data of this level: ${path.fault}`);
      return [];
    }
    if (level.kind === 'path') return this.#files.has(path.text) ? [path.text] : [];
    const known = this.#globs.get(path.text);
    // In Ruby, `**` without a slash after it is the same as `*`.
    const pattern = path.text.replaceAll(/\*\*(?!\/)/g, '*');
    const paths = known ?? [...this.#files.keys()].filter((file) => posix.matchesGlob(file, pattern)).sort();
    this.#globs.set(path.text, paths);
    return paths;
  }

  #rootOf(path: string): Located {
    const known = this.#read.get(path);
    if (known !== undefined) return known;
    const root = parseForeign(path, this.#files.get(path) ?? '');
    if (root.kind === 'scalar' && root.fault !== undefined) this.#inventory.leave(root, '', root.fault);
    this.#read.set(path, root);
    return root;
  }
}

/** Yields the templates of a level with their facts: for mapped paths, one for each item of the fact. */
function* templatesFor({ templates, mapped }: Level, context: NodeContext): Generator<[string, NodeContext]> {
  if (mapped === undefined) {
    for (const template of templates) yield [template, context];
    return;
  }
  const fact = factOf(context, mapped.fact) ?? [];
  for (const item of typeof fact === 'string' ? [fact] : fact) {
    for (const template of templates) yield [template, new Map([...context, [mapped.variable, item]])];
  }
}
