import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseYaml } from '../../src/catalog/yaml.ts';
import { isMap, isSame, type Json, type JsonMap } from '../../src/model/json.ts';
import { countRuns } from '../support/count-runs.ts';
import { editText } from './edit-text.ts';
import { RANDOM_FILE } from './random-file.ts';

/** Lines as they are compared: a dash moves to the next key, and only an entry of a list has its comma changed. */
function comparable(line: string): string {
  return line.replace(/^[ -]*/, '').replace(/,(?=\s*(?:#|$))/, '');
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

type Throw = () => { readonly side: number; readonly value: Json };

const VALUES: readonly Json[] = ['x', ' 1', null, 2, {}, [], ['x', 'z'], { new: 1, 'a: b': ['x'] }, 'u\n z\n'];

/** A new row of throws, always the same one. */
const DICE: fc.Arbitrary<() => Throw> = fc
  .array(fc.tuple(fc.nat({ max: 11 }), fc.constantFrom(...VALUES)), { minLength: 20, maxLength: 20 })
  .map((throws) => () => {
    let count = 0;
    return () => {
      const [side = 11, value = null] = throws[count++ % throws.length] ?? [];
      return { side, value };
    };
  });

test('editText changes the requested values and no other line', () => {
  let edits = 0;
  fc.assert(
    fc.property(RANDOM_FILE, fc.constantFrom('\n', '\r\n'), fc.boolean(), fc.boolean(), DICE, (file, eol, ...more) => {
      const [isOpen, isMarked, dice] = more;
      const body = file.lines.map((line) => line.text).join(eol) + (isOpen ? '' : eol);
      const text = `${isMarked ? '\uFEFF' : ''}${body}`;
      expect(parseYaml('a.yaml', text).value).toEqual(file.value);
      const wanted = changedMap(file.value, dice());

      const edited = editText(text, wanted);

      if (!edited.ok) {
        expect(edited.reason, `${text}\n-> ${JSON.stringify(wanted)}`).toBe('');
        return;
      }
      edits++;
      expect(parseYaml('a.yaml', edited.text).value).toEqual(wanted);
      expect(edited.text.startsWith('\uFEFF')).toBe(isMarked);
      if (!isOpen) expect(edited.text.endsWith(eol)).toBe(true);
      if (text.includes(eol)) expect(edited.text.replaceAll(eol, '')).not.toMatch(/[\r\n]/);
      const lines = edited.text.replace('\uFEFF', '').split(/\r?\n/).map(comparable);
      const json = JSON.stringify(wanted);
      const isThere = (proof: string | undefined): boolean => proof !== undefined && json.includes(proof);
      const stay = file.lines.filter(({ stays }) => isThere(stays)).map((line) => comparable(line.text));
      expect(firstMissing(lines, stay), `${text}\n-> ${edited.text}`).toBeUndefined();
      const kept = file.lines
        .filter(({ keeps }) => isThere(keeps))
        .flatMap((line) => /# c\d+\.$/.exec(line.text) ?? []);
      const lost = kept.filter((comment) => !lines.some((line) => line.endsWith(comment)));
      expect(lost, `${text}\n-> ${edited.text}`).toEqual([]);
    }),
    { numRuns: countRuns(1_000) },
  );
  expect(edits).toBeGreaterThan(countRuns(700));
});

test('editText keeps every other byte of the files of the sample repository', () => {
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

test('editText edits an unusual file correctly, or refuses it with a reason', () => {
  const slips = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...SIGNS), fc.nat({ max: 2 })), {
    minLength: 1,
    maxLength: 6,
  });
  let edits = 0;
  fc.assert(
    fc.property(RANDOM_FILE, slips, DICE, (file, slip, dice) => {
      const lines = file.lines.map((line) => line.text);
      const text = slip.reduce(
        (sum, [at, sign, gone]) => {
          const start = at % sum.length;
          return `${sum.slice(0, start)}${sign}${sum.slice(start + gone)}`;
        },
        `${lines.join('\n')}\n`,
      );
      const { value: old, problems } = parseYaml('a.yaml', text);
      if (!isMap(old) || problems.some(({ severity }) => severity === 'error')) return;
      const wanted = changedMap(old, dice());

      const edited = editText(text, wanted);

      edits += edited.ok && edited.text !== text ? 1 : 0;
      if (edited.ok) expect(isSame(parseYaml('a.yaml', edited.text).value, wanted), edited.text).toBe(true);
      else expect(edited.reason).toMatch(/\w+ \w+/);
    }),
    { numRuns: countRuns(1_000) },
  );
  expect(edits).toBeGreaterThan(countRuns(20));
});

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

/** Changes a list in one way, so that it is clear which item became which. */
function changedList(list: readonly Json[], dice: Throw): readonly Json[] {
  const { side: way } = dice();
  if (way > 5) return list.map((value) => changed(value, dice));
  return list.flatMap((value): Json[] => {
    const { side, value: other } = dice();
    if (side > 3) return [value];
    if (way < 2) return [];
    return way < 4 ? [other] : [other, value];
  });
}
