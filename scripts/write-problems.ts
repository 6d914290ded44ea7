// Writes docs/problems.md from the table of problem codes: `npm run docs:problems`, after a change of
// schemas/problem-codes.json. A test fails where the two differ.
import { writeFileSync } from 'node:fs';
import { CODE_GROUPS, type CodeEntry } from '../src/cli/validate/problem-codes.ts';

const INTRO = `<!-- Written by "npm run docs:problems" from schemas/problem-codes.json. Change the table there, not this file. -->

# Problems

A problem is a mistake in the files of the stacks repository: a stable code, a severity, a place, a message that quotes the text, and
often a hint. An **error** keeps what reads the file at its last valid version. A **warning** stops nothing. *Whole commit*: the
[whole commit](concepts.md#wrong-commits) is not followed.

\`treeline validate\` prints problems, and \`treeline validate --explain CODE\` an entry of this document with an example.
`;

/** Returns docs/problems.md. */
export function renderProblems(): string {
  const groups = CODE_GROUPS.flatMap(({ heading, intro, codes }) => [
    `## ${heading}`,
    ...(intro === undefined ? [] : [intro]),
    ...Object.entries(codes).map(([code, entry]) => renderCode(code, entry)),
  ]);
  return `${[INTRO.trimEnd(), ...groups].join('\n\n')}\n`;
}

function renderCode(code: string, entry: CodeEntry): string {
  return `### ${code}\n\n${renderKind(entry)}: ${entry.meaning}. **Remedy**: ${entry.remedy}.`;
}

function renderKind({ severity, isWholeCommit }: CodeEntry): string {
  const kind = severity === 'either' ? 'Error or warning' : severity === 'error' ? 'Error' : 'Warning';
  return `${kind}${isWholeCommit ? ', whole commit' : ''}`;
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/problems.md', import.meta.url), renderProblems());
}
