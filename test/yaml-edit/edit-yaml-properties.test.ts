import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseYaml } from '../../src/catalog/yaml.ts';
import { isMap, isSame, type Json, type JsonMap } from '../../src/model/json.ts';
import { countRuns } from '../support/count-runs.ts';
import { editText } from './edit-text.ts';
import { type RandomLine, randomFile } from './random-file.ts';

/** Lines as they are compared: a dash moves up to the next key, a comma comes or goes, and neither is a change of the line. */
function comparable(line: string): string {
  return line.replace(/^[ -]*/, (prefix) => prefix.replaceAll('-', ' ')).replace(/,(?=\s*(?:#|$))/, '');
}

/** Returns the first of `wanted` that is not in `lines` in that order. */
function firstMissing(lines: readonly string[], wanted: readonly string[]): string | undefined {
  let at = 0;
  for (const line of wanted) {
    const found = lines.indexOf(line, at);
    if (found === -1) return line;
    at = found + 1;
  }
  return undefined;
}

/** Comments in brackets, and comments that would become lines of a text. */
const REFUSALS = /^(?:a comment or blank line is among values in brackets|other values in the file would change)$/;

test('an edit changes what was asked for and no other line, or is refused', () => {
  let edits = 0;
  fc.assert(
    fc.property(fc.gen(), fc.constantFrom('\n', '\r\n'), fc.boolean(), fc.boolean(), (draw, eol, isOpen, isMarked) => {
      const file = randomFile(draw);
      const body = file.lines.map(({ text }) => text).join(eol) + (isOpen ? '' : eol);
      const text = `${isMarked ? '\uFEFF' : ''}${body}`;
      expect(parseYaml('a.yaml', text).value).toEqual(file.value);

      const wanted = file.edit();
      const edited = editText(text, wanted);

      if (!edited.ok) {
        expect(edited.reason, `${text}\n-> ${JSON.stringify(wanted)}`).toMatch(REFUSALS);
        return;
      }
      edits++;
      expect(parseYaml('a.yaml', edited.text).value).toEqual(wanted);
      expect(edited.text.startsWith('\uFEFF')).toBe(isMarked);
      if (!isOpen) expect(edited.text.endsWith(eol)).toBe(true);
      if (text.includes(eol)) expect(edited.text.replaceAll(eol, '')).not.toMatch(/[\r\n]/);
      const lines = edited.text.replace('\uFEFF', '').split(/\r?\n/).map(comparable);
      const stay = file.lines.filter((line) => line.stays()).map((line) => comparable(line.text));
      expect(firstMissing(lines, stay), `${text}\n-> ${edited.text}`).toBeUndefined();
      const commentsOf = (of: readonly RandomLine[]) => of.flatMap((line) => /# c\d+$/.exec(line.text) ?? []);
      const kept = commentsOf(file.lines.filter((line) => line.keepsComment()));
      const lost = kept.filter((comment) => !lines.some((line) => line.endsWith(comment)));
      expect(lost, `${text}\n-> ${edited.text}`).toEqual([]);
      const comments = commentsOf(file.lines.filter((line) => line.goes()));
      const left = comments.filter((comment) => lines.some((line) => line.endsWith(comment)));
      expect(left, `${text}\n-> ${edited.text}`).toEqual([]);
    }),
    { numRuns: countRuns(1_000) },
  );
  expect(edits).toBeGreaterThan(countRuns(700));
});

test('an edit of a file of the sample repository keeps each other byte', () => {
  const paths = globSync('{sample-repo,test/golden}/**/*.yaml');
  expect(paths.length).toBeGreaterThan(200);
  for (const path of paths) {
    const text = readFileSync(path, 'utf8');
    const { value } = parseYaml(path, text);
    if (!isMap(value)) continue;
    expect([path, editText(text, value)]).toEqual([path, { ok: true, text }]);
    const added = editText(text, { ...value, added: 1 });
    if (!added.ok) expect(added.reason, path).toMatch(/^the file has a mistake already/);
    else expect([path, editText(added.text, value)]).toEqual([path, { ok: true, text }]);
  }
});

const SIGNS = [...' \n\t#:-?{}[],\'"|>+&*!%@`1a', '\r\n', '\r', '- ', '? ', ': ', ' #', '\n\n', '---\n', '...\n', '  '];

test('a file that is written strangely is edited rightly, or left alone with a reason', () => {
  const value = fc.constantFrom<Json>('x', ' 1', null, 2, {}, [], ['x', 'z'], { new: 1, 'a: b': ['x'] });
  const slips = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...SIGNS), fc.nat({ max: 2 })), {
    minLength: 1,
    maxLength: 6,
  });
  let edits = 0;
  fc.assert(
    fc.property(
      fc.gen(),
      slips,
      fc.array(fc.nat({ max: 11 }), { minLength: 20, maxLength: 20 }),
      (draw, slip, dice) => {
        const lines = randomFile(draw).lines.map((line) => line.text);
        const text = slip.reduce(
          (sum, [at, sign, gone]) => {
            const start = at % sum.length;
            return `${sum.slice(0, start)}${sign}${sum.slice(start + gone)}`;
          },
          `${lines.join('\n')}\n`,
        );
        const { value: old, problems } = parseYaml('a.yaml', text);
        if (!isMap(old) || problems.some(({ severity }) => severity === 'error')) return;
        let thrown = 0;
        const wanted = changedMap(old, () => ({ side: dice[thrown++ % dice.length] ?? 0, value: draw(() => value) }));

        const edited = editText(text, wanted);

        edits += edited.ok && edited.text !== text ? 1 : 0;
        if (edited.ok) expect(isSame(parseYaml('a.yaml', edited.text).value, wanted), edited.text).toBe(true);
        else expect(edited.reason).toMatch(/\w+ \w+/);
      },
    ),
    { numRuns: countRuns(1_000) },
  );
  expect(edits).toBeGreaterThan(countRuns(100));
});

type Throw = () => { readonly side: number; readonly value: Json };

/** Returns a value with some of its parts changed, removed or added, as the dice say. */
function changed(value: Json, dice: Throw): Json {
  if (Array.isArray(value)) return changedList(value, dice);
  return isMap(value) ? changedMap(value, dice) : value;
}

function changedMap(map: JsonMap, dice: Throw): JsonMap {
  const entries = Object.entries(map).flatMap(([key, value]): [string, Json][] => {
    const { side, value: other } = dice();
    if (side === 0) return [];
    return [[key, side === 1 ? other : changed(value, dice)]];
  });
  const { side, value } = dice();
  return Object.fromEntries(side < 3 ? [...entries, ['new key', value]] : entries);
}

function changedList(list: readonly Json[], dice: Throw): readonly Json[] {
  return list.flatMap((value): Json[] => {
    const { side, value: other } = dice();
    if (side === 0) return [];
    if (side === 1) return [other];
    return side === 2 ? [other, value] : [changed(value, dice)];
  });
}
