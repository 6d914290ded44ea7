// Rules on the shape of a file: its name, size, exports and doc comments.
import { basename, extname } from 'node:path';
import { type ESTree, Visitor } from 'rolldown/utils';
import { type Finding, type Rule, ruleOfFile } from './rule.ts';
import { folderOf, type SourceFile } from './source-file.ts';

const NAMES_OF_NOTHING = ['index', 'utils', 'util', 'helpers', 'helper', 'common', 'misc', 'manager', 'types'];
/** Named after the path of the interface that it serves. */
const NAMED_BY_INTERFACE = 'src/api/routes/types.ts';
const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 60;
/** The folders in which the orchestrating functions are, which grow first. */
const SHORT_FUNCTIONS = ['follow', 'reconcile', 'reconcile/calls'];
const SHORT_FUNCTION_LINES_MAX = 40;

/** Words of an earlier time, as parts of names. docs/glossary.md has the words of the field that stand for them. */
const OLD_PARTS = [
  ...['estate', 'standing', 'alliance', 'taker', 'lookout', 'farewell', 'surroundings', 'circumstances', 'trouble'],
  ...['patience', 'door', 'doors', 'sound', 'building', 'buildings', 'leaving', 'touched', 'parting', 'nobody'],
  ...['look', 'looks', 'looked', 'looking'],
];
/** The same as whole names, which may be parts of others. */
const OLD_NAMES = [
  ...['Round', 'World', 'Ended', 'Draw', 'draw', 'Taking', 'Taken', 'taken', 'isTaken'],
  ...['behind', 'room', 'turn', 'hasRoom', 'hasTurn', 'isLive', 'isRight', 'isSound', 'isClean', 'isApplied'],
  ...['layOver', 'takeAway', 'sendBack', 'inForce', 'InForce', 'objectsInForce'],
  ...['Leave', 'leaveOf', 'endLeave'],
];

type Report = (node: ESTree.Span, what: string) => void;

/** Returns what a walk over the syntax tree of a file reports. */
function walk(file: SourceFile, visitorOf: (report: Report) => ConstructorParameters<typeof Visitor>[0]): Finding[] {
  const findings: Finding[] = [];
  const report: Report = ({ start }, what) => findings.push({ path: file.path, line: file.lineOf(start), what });
  new Visitor(visitorOf(report)).visit(file.program);
  return findings;
}

const fileNames = ruleOfFile({
  title: 'a file is named after what it exports',
  instead: 'name it after its main export, in kebab-case; import from the file itself, not from a barrel',
  find: ({ path }) => {
    const name = basename(path, extname(path));
    const isKebab = /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
    const saysSomething = !NAMES_OF_NOTHING.includes(name) || path === NAMED_BY_INTERFACE;
    return isKebab && saysSomething ? [] : [{ path, line: 1, what: `is called "${name}"` }];
  },
});

const fileSize = ruleOfFile({
  title: `no file has more than ${FILE_LINES_MAX} lines`,
  instead: 'find the second thing that it does and give it a file of its own',
  find: ({ path, text }) => {
    const lines = text.trimEnd().split('\n').length;
    return lines > FILE_LINES_MAX ? [{ path, line: FILE_LINES_MAX + 1, what: `has ${lines} lines` }] : [];
  },
});

const functionSize = ruleOfFile({
  title: `no function has more than ${FUNCTION_LINES_MAX} lines (${SHORT_FUNCTION_LINES_MAX} in follow/ and reconcile/)`,
  instead: 'take a step with a name out of it',
  find: (file) =>
    walk(file, (report) => {
      const max = SHORT_FUNCTIONS.includes(folderOf(file.path)) ? SHORT_FUNCTION_LINES_MAX : FUNCTION_LINES_MAX;
      const measure = (node: ESTree.Span): void => {
        const lines = file.lineOf(node.end) - file.lineOf(node.start) + 1;
        if (lines > max) report(node, `begins a function of ${lines} lines`);
      };
      return { FunctionDeclaration: measure, FunctionExpression: measure, ArrowFunctionExpression: measure };
    }),
});

const wordsOfTheField = ruleOfFile({
  title: 'names use the words of the field',
  instead: 'docs/glossary.md has the word that Kubernetes, Flux, Argo CD or Terraform uses for it',
  find: (file) =>
    walk(file, (report) => {
      const check = (node: ESTree.Span & { readonly name: string }): void => {
        if (isOldWord(node.name)) report(node, `has the name ${node.name}`);
      };
      return { Identifier: check, PrivateIdentifier: check };
    }),
});

function isOldWord(name: string): boolean {
  if (OLD_NAMES.includes(name)) return true;
  const parts = name.split(/(?=[A-Z])|_/).map((part) => part.toLowerCase());
  return parts.some((part) => OLD_PARTS.includes(part));
}

const oneMeaning: Rule = {
  title: 'an exported name is declared in one file',
  instead: 'give each meaning a name of its own, or import the one that is there',
  find: (files) => {
    const declared = new Map<string, string>();
    return files.flatMap((file) =>
      exportsOf(file).flatMap(({ name, start }): Finding[] => {
        const other = declared.get(name) ?? file.path;
        declared.set(name, other);
        const what = `exports ${name}, as does ${other}`;
        return other === file.path ? [] : [{ path: file.path, line: file.lineOf(start), what }];
      }),
    );
  },
};

/** Holds in all code, not only below `src/`. */
export const plainPaths = ruleOfFile({
  title: 'the path of a file is no part of its URL',
  instead: 'join it to import.meta.dirname: the pathname of a URL has %20 for a blank',
  find: (file) =>
    walk(file, (report) => ({
      MemberExpression({ object, property, start, end }) {
        if (object.type !== 'NewExpression' || property.type !== 'Identifier') return;
        const isOfFile = file.text.slice(object.start, object.end).includes('import.meta.url');
        if (isOfFile && ['pathname', 'toString'].includes(property.name))
          report({ start, end }, `uses the ${property.name} of a URL`);
      },
    })),
});

const plainExports = ruleOfFile({
  title: 'exports have names and are written where they are defined',
  instead: 'export the declaration itself by name, and import it from its file',
  find: (file) =>
    walk(file, (report) => ({
      ExportDefaultDeclaration: (node) => report(node, 'has a default export'),
      ExportAllDeclaration: (node) => report(node, `exports everything of ${node.source.value}`),
    })),
});

const strippable = ruleOfFile({
  title: 'sources run by taking the types away',
  instead: 'write a union of literals with an `as const` list, a module, or a field that the constructor sets',
  find: (file) =>
    walk(file, (report) => ({
      TSEnumDeclaration: (node) => report(node, `declares the enum ${node.id.name}`),
      TSModuleDeclaration: (node) => report(node, 'declares a namespace'),
      TSParameterProperty: (node) => report(node, 'has a parameter property'),
    })),
});

const noEmptyCatch = ruleOfFile({
  title: 'no error is swallowed',
  instead: 'say what the error means here: turn it into a value, or throw another with it as cause',
  find: (file) =>
    walk(file, (report) => ({
      CatchClause: (node) => node.body.body.length === 0 && report(node, 'has an empty catch'),
    })),
});

const nothingUnfinished = ruleOfFile({
  title: 'no comment says that something is missing',
  instead: 'do it, or open an issue',
  find: ({ path, comments, lineOf }) =>
    comments
      .filter(({ value }) => /\b(TODO|FIXME|XXX|HACK)\b/.test(value))
      .map(({ start, value }) => ({ path, line: lineOf(start), what: `has the comment "${value.trim()}"` })),
});

/** First words of headers that ask a question instead of saying what the file does. */
const RIDDLES = [
  'What',
  'Whatever',
  'Who',
  'Whoever',
  'Nobody',
  'How',
  'Where',
  'When',
  'Which',
  'Whether',
  'That',
  'Why',
];

const topComment = ruleOfFile({
  title: 'every file begins by saying what it is for',
  instead: 'begin with one to three sentences: what it is for, and what it deliberately does not do',
  find({ path, text }) {
    const [, first] = /^(?:#!.*\n)?\/\/ (\S+)/.exec(text) ?? [];
    if (first === undefined) return [{ path, line: 1, what: 'begins without a comment' }];
    if (!RIDDLES.includes(first)) return [];
    return [{ path, line: 1, what: `begins with "${first}", and has to begin with a verb or a noun` }];
  },
});

const docComments = ruleOfFile({
  title: 'every export has a doc comment',
  instead: 'write above it first what it returns, does or is; then shapes, units, and the errors it throws',
  find: (file) =>
    exportsOf(file)
      .filter(({ start }) => !hasDocComment(file, start))
      .map(({ name, start }) => ({
        path: file.path,
        line: file.lineOf(start),
        what: `exports ${name} without a doc comment`,
      })),
});

/** Returns the exported declarations of a file, each with its name. */
function exportsOf(file: SourceFile): { readonly name: string; readonly start: number }[] {
  return file.program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) return [];
    return [{ name: nameOf(statement.declaration), start: statement.start }];
  });
}

function hasDocComment({ comments, text }: SourceFile, start: number): boolean {
  return comments.some(
    (comment) => comment.value.startsWith('*') && comment.end <= start && text.slice(comment.end, start).trim() === '',
  );
}

function nameOf(declaration: ESTree.Declaration): string {
  const named = declaration.type === 'VariableDeclaration' ? declaration.declarations[0] : declaration;
  return named?.id?.type === 'Identifier' ? named.id.name : 'something';
}

export const SHAPE_RULES: readonly Rule[] = [
  fileNames,
  fileSize,
  functionSize,
  wordsOfTheField,
  oneMeaning,
  plainExports,
  strippable,
  noEmptyCatch,
  nothingUnfinished,
  topComment,
  docComments,
  plainPaths,
];
