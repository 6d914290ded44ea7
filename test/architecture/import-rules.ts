// Rules on imports between folders. ARCHITECTURE.md explains the table; here it is binding.
import { dependencyOrder, printCycle } from '../../src/expand/dependency-order.ts';
import { type Rule, ruleOfFile } from './rule.ts';
import { folderOf, type Import, type SourceFile } from './source-file.ts';

/** The stages of the pure way: the same answer for the same input, whenever and wherever they run. */
export const PURE: readonly string[] = [
  'model',
  'catalog',
  'yaml-edit',
  'expand',
  'hiera',
  'desired',
  'derive.ts',
  'plan',
  'machine',
];

/** The files of base/ that are pure too. */
const PURE_BASE = ['breathe', 'invariant', 'pattern', 'wording'].map((name) => `base/${name}.ts`);

/** Returns true for a file of a pure stage, or one that pure stages use; what only commands use is pure in import/. */
export function isPure(path: string): boolean {
  return PURE.includes(folderOf(path)) || folderOf(path) === 'import' || PURE_BASE.includes(path.replace(/^src\//, ''));
}

const ANYTHING = 'anything';

/** Folders and top-level files of src/: which folders and files each may import beside itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[] | typeof ANYTHING>> = {
  base: ['model'],
  model: ['problem-codes'],
  catalog: ['model', 'schemas', ...PURE_BASE],
  'yaml-edit': ['model', ...PURE_BASE],
  expand: ['model', 'catalog', ...PURE_BASE],
  hiera: ['model', ...PURE_BASE],
  machine: ['model', ...PURE_BASE],
  desired: ['model', 'catalog', 'expand', 'hiera', 'machine', ...PURE_BASE],
  'derive.ts': ['model', 'catalog', 'expand', 'hiera', 'machine', 'desired', ...PURE_BASE],
  plan: ['model', 'catalog', 'expand', 'hiera', 'machine', 'desired', 'derive.ts', ...PURE_BASE],
  import: ['model', 'catalog', 'yaml-edit', 'hiera', 'desired', 'derive.ts', ...PURE_BASE],
  settings: [
    'model',
    'catalog',
    'schemas',
    'repository',
    'store/postgres/database-url.ts',
    'store/store-error.ts',
    'base',
  ],
  programs: ['model', 'base'],
  'repository/git': ['base/invariant.ts', 'base/breathe.ts', 'base/clock.ts', 'programs'],
  repository: ['model', 'repository/git', 'base'],
  store: ['model', 'base'],
  providers: ['model', 'programs', 'base'],
  'reconcile/calls': [...PURE, 'base'],
  reconcile: [...PURE, 'reconcile/calls', 'base'],
  follow: [...PURE, 'reconcile', 'base'],
  service: [...PURE, 'reconcile', 'base'],
  statuses: [...PURE, 'repository', 'reconcile', 'service', 'base'],
  page: ['model', 'base'],
  api: ['model', 'schemas', 'agents/agent.ts', 'service', 'page', 'base'],
  agents: [
    ...[...PURE, 'schemas', 'programs', 'providers', 'service/caller.ts', 'store', 'reconcile'],
    ...['settings', 'base'],
  ],
  'compose.ts': ANYTHING,
  compose: ANYTHING,
  cli: ANYTHING,
  'cli.js': ANYTHING,
};

/** The contracts of parts with several implementations: known by their types to those who use them. */
const INTERFACES = [
  'src/repository/source.ts',
  'src/repository/publisher.ts',
  'src/store/store.ts',
  'src/providers/provider.ts',
  'src/providers/provider-registry.ts',
];
const USES_INTERFACES = ['reconcile/calls', 'reconcile', 'follow', 'service', 'statuses'];

function mayImport(file: SourceFile, { target, isFile, isTypeOnly }: Import): boolean {
  if (!isFile) return true;
  const folder = folderOf(file.path);
  const allowed = MAY_IMPORT[folder];
  if (allowed === ANYTHING || allowed === undefined) return true;
  if (USES_INTERFACES.includes(folder) && INTERFACES.includes(target)) return isTypeOnly;
  if (/^schemas\/(?:[\w-]+\.schema|openapi)\.json$/.test(target)) return allowed.includes('schemas');
  if (target === 'schemas/problem-codes.json') return isTypeOnly && allowed.includes('problem-codes');
  return (
    target.startsWith('src/') && [folder, ...allowed].some((each) => [folderOf(target), target.slice(4)].includes(each))
  );
}

const knownFolder = ruleOfFile({
  title: 'every folder has a place in the table of who may import whom',
  instead: 'add it to MAY_IMPORT in test/architecture/import-rules.ts and to ARCHITECTURE.md',
  find: ({ path }) =>
    Object.hasOwn(MAY_IMPORT, folderOf(path)) ? [] : [{ path, line: 1, what: `is in "${folderOf(path)}"` }],
});

const importTable = ruleOfFile({
  title: 'files import only what the table allows',
  instead:
    'move the code to the stage that may know both, or let compose.ts hand it in; the table is in ARCHITECTURE.md. Interfaces of repository, store and providers come by "import type"',
  find: (file) =>
    file.imports
      .filter((one) => !mayImport(file, one))
      .map(({ target, line }) => ({ path: file.path, line, what: `imports ${target}` })),
});

const pureImports = ruleOfFile({
  title:
    'pure stages import no part of Node and no package, but for hashes, paths as texts, the parsers of catalog/, yaml-edit/ and import/, and the regular expressions of base/pattern.ts',
  instead: 'hand the value in, or do this in repository/, store/, reconcile/ or cli/',
  find: (file) => {
    if (!isPure(file.path)) return [];
    const foreign = file.imports.filter((one) => !one.isFile && !isComputed(one) && !isParser(file, one));
    return foreign.map(({ target, line }) => ({ path: file.path, line, what: `imports ${target}` }));
  },
});

/** A digest and the paths of POSIX are the same for the same input, unlike the rest of these modules. */
function isComputed({ target, names }: Import): boolean {
  const allowed = { 'node:crypto': 'createHash', 'node:path': 'posix' }[target];
  return allowed !== undefined && names.every((name) => name === allowed);
}

function isParser(file: SourceFile, { target }: Import): boolean {
  const parsers = ['catalog', 'yaml-edit', 'import', 'base'];
  return parsers.includes(folderOf(file.path)) && !target.startsWith('node:');
}

function cycleRule(what: string, nodeOf: (path: string) => string): Rule {
  return {
    title: `no ${what} import one another in a circle`,
    instead: 'move what both need to the one that comes first on the way of the data, or to model/',
    find: (files) => {
      const next = new Map<string, Set<string>>();
      for (const { path, imports } of files) {
        const targets = next.get(nodeOf(path)) ?? new Set();
        next.set(nodeOf(path), targets);
        for (const { target } of imports.filter(({ target }) => target.startsWith('src/'))) {
          if (nodeOf(target) !== nodeOf(path) || target === path) targets.add(nodeOf(target));
        }
      }
      const { cycles } = dependencyOrder(next.keys(), (node) => next.get(node) ?? []);
      const [cycle] = cycles;
      return cycle === undefined
        ? []
        : [{ path: cycle[0] ?? '', line: 1, what: `is in a circle: ${printCycle(cycle)}` }];
    },
  };
}

export const IMPORT_RULES: readonly Rule[] = [
  knownFolder,
  importTable,
  pureImports,
  cycleRule('folders', folderOf),
  cycleRule('files', (path) => path),
];
