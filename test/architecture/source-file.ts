// A source file as the architecture rules look at it: its syntax tree and its imports.
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { type ESTree, parseSync } from 'rolldown/utils';

export interface Import {
  /** What is imported: `src/model/json.ts` (from the root) for a file, otherwise as written: `node:fs`, `express`. */
  readonly target: string;
  readonly isFile: boolean;
  /** What of it, by the names it has there; `default` and `*` as such. */
  readonly names: readonly string[];
  /** Nothing of it is left when types are stripped. */
  readonly isTypeOnly: boolean;
  readonly line: number;
}

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: ESTree.Program;
  readonly comments: ReturnType<typeof parseSync>['comments'];
  readonly imports: readonly Import[];
  /** The line of an offset, from 1. */
  readonly lineOf: (offset: number) => number;
}

/** Returns all files of code below `src/`. */
export function readSources(): readonly SourceFile[] {
  const paths = globSync('src/**/*.{ts,js}').map((path) => path.replaceAll('\\', '/'));
  return paths.sort().map((path) => parseSource(path, readFileSync(path, 'utf8')));
}

/** Returns a file of which only the text is known. Throws where that is no TypeScript. */
export function parseSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text, { lang: 'ts' });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path} is no TypeScript: ${error.message}`);
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  const imports = program.body.flatMap((statement) => importOf(statement, { path, lineOf }));
  return { path, text, program, comments, imports, lineOf };
}

/** Folders in a folder that have a row of their own in the table of who may import whom. */
const ROOMS = ['repository/git', 'reconcile/calls'];

/** Returns `model`, `cli`, … for a file in a folder of `src/`, and `derive.ts`, … for one directly in it. */
export function folderOf(path: string): string {
  return ROOMS.find((room) => path.startsWith(`src/${room}/`)) ?? path.split('/')[1] ?? path;
}

function importOf(statement: ESTree.Statement, file: Pick<SourceFile, 'path' | 'lineOf'>): Import[] {
  const isImport = statement.type === 'ImportDeclaration';
  const isReexport = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportAllDeclaration';
  if ((!isImport && !isReexport) || statement.source === null) return [];
  const source = statement.source.value;
  const isFile = source.startsWith('.');
  return [
    {
      target: isFile ? posix.join(posix.dirname(file.path), source) : packageOf(source),
      isFile,
      names: isImport ? statement.specifiers.map(nameOf) : ['*'],
      isTypeOnly: isImport ? isTypeImport(statement) : statement.exportKind === 'type',
      line: file.lineOf(statement.start),
    },
  ];
}

function isTypeImport({ importKind, specifiers }: ESTree.ImportDeclaration): boolean {
  if (importKind === 'type') return true;
  return (
    specifiers.length > 0 && specifiers.every((one) => one.type === 'ImportSpecifier' && one.importKind === 'type')
  );
}

function nameOf(specifier: ESTree.ImportDeclaration['specifiers'][number]): string {
  if (specifier.type === 'ImportNamespaceSpecifier') return '*';
  if (specifier.type === 'ImportDefaultSpecifier') return 'default';
  return specifier.imported.type === 'Identifier' ? specifier.imported.name : specifier.imported.value;
}

/** Returns `@scope/name` or `name` of what is imported from a package; `node:` imports stay as they are. */
function packageOf(source: string): string {
  if (source.startsWith('node:')) return source;
  return source
    .split('/')
    .slice(0, source.startsWith('@') ? 2 : 1)
    .join('/');
}
