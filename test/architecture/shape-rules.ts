// Rules on the shape of a file that Biome cannot check: sizes, doc comments and paths.
import { type ESTree, Visitor } from 'rolldown/utils';
import { type Finding, type Rule, ruleOfFile } from './rule.ts';
import { folderOf, type SourceFile } from './source-file.ts';

const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 60;
/** The folders in which the orchestrating functions are, which grow first. */
const SHORT_FUNCTIONS = ['follow', 'reconcile', 'reconcile/calls'];
const SHORT_FUNCTION_LINES_MAX = 40;

type Report = (node: ESTree.Span, what: string) => void;

/** Returns what a walk over the syntax tree of a file reports. */
function walk(file: SourceFile, visitorOf: (report: Report) => ConstructorParameters<typeof Visitor>[0]): Finding[] {
  const findings: Finding[] = [];
  const report: Report = ({ start }, what) => findings.push({ path: file.path, line: file.lineOf(start), what });
  new Visitor(visitorOf(report)).visit(file.program);
  return findings;
}

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

const noEmptyCatch = ruleOfFile({
  title: 'no error is swallowed',
  instead: 'say what the error means here: turn it into a value, or throw another with it as cause',
  find: (file) =>
    walk(file, (report) => ({
      CatchClause: (node) => node.body.body.length === 0 && report(node, 'has an empty catch'),
    })),
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

export const SHAPE_RULES: readonly Rule[] = [fileSize, functionSize, noEmptyCatch, docComments, plainPaths];
