// The difference that a dry run shows: what git itself makes a file of.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unifiedDiff } from '../../../src/service/write/unified-diff.ts';
import { run } from '../../support/command-line.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PATH = 'types/zone/edge.yaml';

async function applied(before: string | null, diff: string): Promise<string | null> {
  const cwd = temporaryDirectory();
  const file = join(cwd, PATH);
  mkdirSync(dirname(file), { recursive: true });
  if (before !== null) writeFileSync(file, before);
  writeFileSync(join(cwd, 'change.diff'), diff);
  const ended = await run('git', ['apply', 'change.diff'], { cwd, env: { GIT_CEILING_DIRECTORIES: dirname(cwd) } });
  expect(ended.stderr).toBe('');
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

const TEN = Array.from({ length: 10 }, (_, index) => `line: ${index}\n`).join('');

describe('unifiedDiff', () => {
  it('writes the format of git', () => {
    expect(unifiedDiff(PATH, TEN, TEN.replace('line: 5', 'line: five'))).toBe(
      [
        `diff --git a/${PATH} b/${PATH}`,
        `--- a/${PATH}`,
        `+++ b/${PATH}`,
        '@@ -3,7 +3,7 @@',
        ...[2, 3, 4].map((number) => ` line: ${number}`),
        '-line: 5',
        '+line: five',
        ...[6, 7, 8].map((number) => ` line: ${number}`),
        '',
      ].join('\n'),
    );
  });

  it.each<[name: string, before: string | null, after: string | null]>([
    ['a change', TEN, TEN.replace('line: 0', 'x').replace('line: 9', 'y')],
    ['a new file', null, TEN],
    ['a removed file', TEN, null],
    ['a file that loses its last newline', 'a\nb\n', 'a\nc'],
    ['a change too large to be looked at closely', 'a\n'.repeat(3_000), 'b\n'.repeat(3_000)],
  ])('writes a diff that git applies: %s', async (_name, before, after) => {
    expect(await applied(before, unifiedDiff(PATH, before, after))).toBe(after);
  });

  it('returns an empty text for equal texts', () => {
    expect(unifiedDiff(PATH, TEN, TEN)).toBe('');
  });
});
