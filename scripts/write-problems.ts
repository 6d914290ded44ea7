// Writes docs/problems.md from the table of problem codes: `npm run docs:problems`, after a change of
// schemas/problem-codes.json. A test fails where the two differ.
import { writeFileSync } from 'node:fs';
import {
  CODE_GROUPS,
  type CodeEntry,
  EXAMPLE_REPOSITORY,
  type ExampleFiles,
  isRunExample,
  type RunExample,
} from '../src/cli/validate/problem-codes.ts';

const INTRO = `<!-- Written by "npm run docs:problems" from schemas/problem-codes.json. Change the table there, not this file. -->

# Problems

A problem is a mistake in the files of the stacks repository. It has a stable code, a severity, a file with line and column,
a JSON pointer, a message that quotes the offending text, and where possible a hint. An **error** keeps what reads the file at
its last valid version. A **warning** keeps nothing, except \`dependency_waits\`, which lists what waits for an error elsewhere.
An entry with *whole commit* stops the [whole commit](concepts.md#wrong-commits).

\`treeline validate\` prints them, and \`treeline validate --explain CODE\` prints an entry of this document.

Every example in YAML is run by a test: the wrong one gives the code, and the right one does not. It shows the files that
differ from [the repository of the examples](#the-repository-of-the-examples), each below a comment with its path: those of
the commit before, those beside the mistake, the wrong ones, and what is right in their place.
`;

/** Returns docs/problems.md. */
export function renderProblems(): string {
  const groups = CODE_GROUPS.flatMap(({ heading, intro, codes }) => [
    `## ${heading}`,
    ...(intro === undefined ? [] : [intro]),
    ...Object.entries(codes).flatMap(([code, entry]) => renderCode(code, entry)),
    ...renderTable(codes),
  ]);
  return `${[`${INTRO}\n${renderContents()}`, ...groups, renderRepository()].join('\n\n')}\n`;
}

function renderContents(): string {
  return CODE_GROUPS.map(({ heading, codes }) => {
    const links = Object.entries(codes).map(([code, { example }]) => {
      return isRunExample(example) ? `[\`${code}\`](#${code})` : `\`${code}\``;
    });
    return `- [**${heading}**](#${heading.toLowerCase().replaceAll(' ', '-')}): ${links.join(', ')}`;
  }).join('\n');
}

/** Returns the section of a code whose example is run; nothing for others, which are in the table of their group. */
function renderCode(code: string, entry: CodeEntry): readonly string[] {
  const { meaning, remedy, example } = entry;
  if (!isRunExample(example)) return [];
  const facts = [`- **${renderKind(entry)}**: ${meaning}.`, `- **What to do**: ${remedy}.`];
  return [`### ${code}`, facts.join('\n'), renderExample(example)];
}

/** Returns the table of the codes of a group whose examples are words. */
function renderTable(codes: Readonly<Record<string, CodeEntry>>): readonly string[] {
  const rows = Object.entries(codes).flatMap(([code, entry]) => {
    const { meaning, remedy, example } = entry;
    if (isRunExample(example)) return [];
    const cells = [`\`${code}\``, `${renderKind(entry)}: ${meaning}`, remedy, example.wrong, example.right];
    return [`| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`];
  });
  if (rows.length === 0) return [];
  return [['| code | means | what to do | wrong | right |', '|---|---|---|---|---|', ...rows].join('\n')];
}

function renderKind({ severity, isWholeCommit }: CodeEntry): string {
  const kind = severity === 'either' ? 'Error or warning' : severity === 'error' ? 'Error' : 'Warning';
  return `${kind}${isWholeCommit ? ', whole commit' : ''}`;
}

/** Returns one block: every file below a comment with its place. */
function renderExample({ before = {}, beside = {}, wrong, right }: RunExample): string {
  const lines = [
    ...renderFiles('before', before),
    ...renderFiles('beside', beside),
    ...renderFiles('wrong', wrong),
    ...renderFiles('right', right),
  ];
  return block(lines);
}

function renderFiles(label: string, files: ExampleFiles): readonly string[] {
  return Object.entries(files).flatMap(([path, file]) => {
    if (file === null) return [`# ${label}: ${path} is removed`];
    if ('linkTo' in file) return [`# ${label}: ${path} is a symbolic link to ${file.linkTo}`];
    return [`# ${label}: ${path}`, ...('shown' in file ? file.shown : file)];
  });
}

function renderRepository(): string {
  const files = Object.entries(EXAMPLE_REPOSITORY).flatMap(([path, lines]) => [`# ${path}`, ...lines]);
  return ['## The repository of the examples', block(files)].join('\n\n');
}

function block(lines: readonly string[]): string {
  return ['```yaml', ...lines, '```'].join('\n');
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/problems.md', import.meta.url), renderProblems());
}
