// Formats an entry of the table of problem codes as text: `treeline validate --explain CODE`.
import type { ProblemCode } from '../../model/problem.ts';
import { type ExampleFiles, isRunExample, PROBLEM_CODES } from './problem-codes.ts';

const KINDS = { error: 'error', warning: 'warning', either: 'error or warning' } as const;

/** Returns what a code means, what to do, and its examples. The same as its entry in docs/problems.md. */
export function codeText(code: ProblemCode): string {
  const { severity, isWholeCommit, meaning, remedy, example } = PROBLEM_CODES[code];
  const kind = `${KINDS[severity]}${isWholeCommit ? ', holds the whole commit' : ''}`;
  const examples = isRunExample(example)
    ? [
        ...filesText('In the commit before', example.before),
        ...filesText('Beside it', example.beside),
        ...filesText('Wrong', example.wrong),
        ...filesText('Right', example.right),
      ]
    : [`Wrong: ${example.wrong}`, `Right: ${example.right}`];
  return [`${code} (${kind})`, `${meaning}.`, `What to do: ${remedy}.`, ...examples].join('\n\n');
}

function filesText(label: string, files: ExampleFiles = {}): readonly string[] {
  return Object.entries(files).map(([path, file]) => {
    if (file === null) return `${label}: ${path} is removed`;
    if ('linkTo' in file) return `${label}: ${path} is a symbolic link to ${file.linkTo}`;
    const lines = 'shown' in file ? file.shown : file;
    return [`${label}, ${path}:`, ...lines.map((line) => `    ${line}`)].join('\n');
  });
}
