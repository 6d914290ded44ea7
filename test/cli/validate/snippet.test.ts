// The line of a problem as a terminal shows it, and the column of its caret.
import { describe, expect, it } from 'vitest';
import { formatProblem, linesOf } from '../../../src/cli/format-problem.ts';
import type { Problem } from '../../../src/model/problem.ts';

const PROBLEM: Problem = {
  code: 'wrong_value',
  severity: 'error',
  file: 'a',
  line: 1,
  column: 1,
  pointer: '',
  message: 'm',
  hint: null,
};

function snippetAt(lines: readonly string[], place: Partial<Problem>): readonly string[] {
  const [, ...drawn] = formatProblem({ ...PROBLEM, ...place }, { lines }).split('\n');
  return drawn.map((line) => line.slice('    1 | '.length));
}

/** Returns the line and the caret below it; the column is that of the mark `▶` in the text. */
function drawn(marked: string, line = 1): readonly string[] {
  const lines = linesOf(marked);
  const column = (lines[line - 1] ?? '').indexOf('▶') + 1;
  return snippetAt(linesOf(marked.replace('▶', '')), { line, column });
}

describe('a snippet', () => {
  it.each([
    ['plain text', 'role: ▶wbe', ['role: wbe', '      ^']],
    ['the first column', '▶role: web', ['role: web', '^']],
    ['the end of the line', 'role:▶', ['role:', '     ^']],
    ['tabs', '\trole:\t▶x', ['    role:    x', '             ^']],
    ['what a terminal obeys', 'a\u001b[2J▶x', ['a\\u001b[2Jx', '          ^']],
    ['a mark that turns the direction', '\u202e▶x', ['\\u202ex', '      ^']],
    ['a byte order mark', '\ufeffa: ▶x', ['a: x', '   ^']],
  ])('shows %s', (_, text, want) => {
    expect(drawn(text)).toEqual(want);
  });

  it.each(['\n', '\r\n', '\r'])('recognises the line end %j', (end) => {
    expect(drawn(`a: b${end}c: ▶d${end}`, 2)).toEqual(['c: d', '   ^']);
  });

  it('shortens a long line around the place, and marks the shortened side', () => {
    const x = (count: number) => 'x'.repeat(count);
    expect(drawn(`${x(500)}▶y${x(500)}`)).toEqual([`…${x(60)}y${x(49)}…`, `${' '.repeat(61)}^`]);
    expect(drawn(`▶y${x(500)}`)).toEqual([`y${x(109)}…`, '^']);
    expect(drawn(`${x(500)}▶`)).toEqual([`…${x(60)}`, `${' '.repeat(61)}^`]);
    expect(drawn(`${x(50)}▶y${x(59)}`)).toEqual([`${x(50)}y${x(59)}`, `${' '.repeat(50)}^`]);
  });

  it('never begins or ends within a character', () => {
    for (let before = 395; before < 406; before++) {
      const [line = ''] = drawn(`${'x'.repeat(before % 2)}${'😀'.repeat(before)}▶y${'😀'.repeat(before)}`);
      expect(line.isWellFormed()).toBe(true);
    }
  });

  it('is empty if the line is missing or blank', () => {
    expect(snippetAt(['a: b'], { line: 2 })).toEqual([]);
    expect(snippetAt(linesOf(''), {})).toEqual([]);
    expect(snippetAt([' \t'], { column: 2 })).toEqual([]);
  });

  it('points to the end of a line that is shorter than its place', () => {
    expect(snippetAt(['ab'], { column: 9 })).toEqual(['ab', '  ^']);
  });
});
