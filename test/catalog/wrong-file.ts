// Runs tables of files with mistakes, each with every word that is said about it.
import { expect, test } from 'vitest';
import { parseEntry } from '../../src/catalog/parse-entry.ts';

/** One problem: its place as `line:column`, with ` warning` behind it where it is one; code, pointer, message, hint. */
export type Said = readonly [place: string, code: string, pointer: string, message: string, hint: string | null];

/** A file's path, its lines, and all that is wrong with it, in any order. */
export type WrongFile = readonly [path: string, lines: readonly string[], problems: readonly Said[]];

/** Makes one test of every file. */
export function testWrongFiles(files: readonly WrongFile[]): void {
  test.each(files)('%s: %j', (path, lines, problems) => {
    const said = parseEntry(path, 'o', lines.join('\n')).problems.map(
      ({ line, column, severity, code, pointer, message, hint }): Said => {
        const place = `${line}:${column}${severity === 'warning' ? ' warning' : ''}`;
        return [place, code, pointer, message, hint];
      },
    );
    expect(said.toSorted(byPointer)).toEqual(problems.toSorted(byPointer));
  });
}

function byPointer(a: Said, b: Said): number {
  return a[2].localeCompare(b[2]) || a[3].localeCompare(b[3]);
}
