// The line of a problem as a terminal shows it, and the column of its caret.
import { describe, expect, it } from 'vitest';
import { linesOf, snippetAt } from '../../../src/cli/validate/snippet.ts';

/** Returns the line and the caret below it; the column is that of the mark `▶` in the text. */
function drawn(marked: string, line = 1): readonly string[] | undefined {
  const lines = linesOf(marked);
  const column = (lines[line - 1] ?? '').indexOf('▶') + 1;
  const snippet = snippetAt(linesOf(marked.replace('▶', '')), { line, column });
  return snippet === undefined ? undefined : [snippet.line, `${' '.repeat(snippet.caretAt)}^`];
}

describe('a snippet', () => {
  it.each([
    ['plain text', 'role: ▶wbe', ['role: wbe', '      ^']],
    ['the first column', '▶role: web', ['role: web', '^']],
    ['the end of the line', 'role:▶', ['role:', '     ^']],
    ['tabs', '\trole:\t▶x', ['    role:    x', '             ^']],
    ['wide characters', 'motd: 日本▶x', ['motd: 日本x', '          ^']],
    ['full-width and Hangul', 'Ａ한▶x', ['Ａ한x', '    ^']],
    ['combining marks', 'e\u0301e\u0301▶x', ['e\u0301e\u0301x', '  ^']],
    ['a family, and a flag', '👩‍👩‍👧🇩🇪▶x', ['👩‍👩‍👧🇩🇪x', '    ^']],
    ['a character that has no width', 'a\u200b▶x', ['a\u200bx', ' ^']],
    ['what a terminal obeys', 'a\u001b[2J▶x', ['a\\u001b[2Jx', '          ^']],
    ['a mark that turns the direction', '\u202e▶x', ['\\u202ex', '      ^']],
    ['a byte order mark', '\ufeffa: ▶x', ['a: x', '   ^']],
  ])('shows %s', (_, text, want) => {
    expect(drawn(text)).toEqual(want);
  });

  it.each(['\n', '\r\n', '\r'])('counts lines that end in %j', (end) => {
    expect(drawn(`a: b${end}c: ▶d${end}`, 2)).toEqual(['c: d', '   ^']);
  });

  it('shortens a long line around the place, and says on which side', () => {
    const x = (count: number) => 'x'.repeat(count);
    expect(drawn(`${x(500)}▶y${x(500)}`)).toEqual([`…${x(60)}y${x(49)}…`, `${' '.repeat(61)}^`]);
    expect(drawn(`▶y${x(500)}`)).toEqual([`y${x(109)}…`, '^']);
    expect(drawn(`${x(500)}▶`)).toEqual([`…${x(60)}`, `${' '.repeat(61)}^`]);
    expect(drawn(`${x(50)}▶y${x(59)}`)).toEqual([`${x(50)}y${x(59)}`, `${' '.repeat(50)}^`]);
  });

  it('is cheap for a line of a megabyte', () => {
    const lines = [`a: "${'日'.repeat(300_000)}"`];
    const start = process.cpuUsage();
    for (let column = 1; column < 300_000; column += 3000) snippetAt(lines, { line: 1, column });
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(1000);
  });

  it('never begins or ends within a character', () => {
    for (let before = 395; before < 406; before++) {
      const [line = ''] = drawn(`${'x'.repeat(before % 2)}${'😀'.repeat(before)}▶y${'😀'.repeat(before)}`) ?? [];
      expect(line.isWellFormed()).toBe(true);
    }
  });

  it('is left out where there is no such line, and where it is blank', () => {
    expect(snippetAt(['a: b'], { line: 2, column: 1 })).toBeUndefined();
    expect(snippetAt(linesOf(''), { line: 1, column: 1 })).toBeUndefined();
    expect(snippetAt([' \t'], { line: 1, column: 2 })).toBeUndefined();
  });

  it('points to the end of a line that is shorter than its place', () => {
    expect(snippetAt(['ab'], { line: 1, column: 9 })).toEqual({ line: 'ab', caretAt: 2 });
  });
});
