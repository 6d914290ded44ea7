// Answers in pairs: what one way of answering admits, every other way and every later place admits too, unchanged.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEntry } from '../../src/catalog/parse-entry.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { isError } from '../../src/model/problem.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { AnswerError, readAnswer } from '../../src/providers/answer-json.ts';
import { desiredAfter } from '../../src/service/write/check-edits.ts';
import type { Draft } from '../../src/service/write/draft.ts';
import { putObjectDraft } from '../../src/service/write/drafts.ts';
import { countRuns } from '../support/count-runs.ts';
import { TextRepository } from '../support/text-repository.ts';

const MESSAGE_LENGTH_MAX = 4096;

/** Texts of every kind of character, halves of a pair and NUL among them. */
const TEXT = fc.string({
  unit: fc.constantFrom('a', 'é', '😀', '\ud83d', '\ude00', '\0', '\n', '\r', '\u2028', '"', ' '),
});
const KEY = fc.constantFrom('a', 'b:c', 'D_1', 'e.f', 'prototype', 'x'.repeat(250), 'x'.repeat(251), 'k\0', '');
const VALUE = fc.oneof(
  TEXT,
  fc.array(TEXT, { maxLength: 2 }),
  fc.boolean(),
  // JSON has no number that is not finite: such a one would be written as null.
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.constant('x'.repeat(65_537)),
);
const LONG_TEXT = fc.tuple(TEXT, fc.integer({ min: 4094, max: 4098 })).map(([text, at]) => `${'a'.repeat(at)}${text}`);
const ANSWER = fc.record(
  {
    outcome: fc.constant('done'),
    message: fc.oneof(TEXT, LONG_TEXT),
    outputs: fc.dictionary(KEY, VALUE, { maxKeys: 2 }),
    observed: fc.dictionary(KEY, VALUE, { maxKeys: 2 }),
    place: TEXT,
  },
  { requiredKeys: ['outcome'] },
);

function readIfRight(text: string): ReturnType<typeof readAnswer> | undefined {
  try {
    return readAnswer(text);
  } catch (error) {
    if (error instanceof AnswerError) return undefined;
    throw error;
  }
}

function jsonOf(value: unknown): JsonMap {
  return JSON.parse(JSON.stringify(value));
}

it('an accepted answer is also accepted as a report of a proxy', () => {
  fc.assert(
    fc.property(ANSWER, (written) => {
      const answer = readIfRight(JSON.stringify(written));
      if (answer === undefined) return;
      expect(jsonOf(readAnswer(JSON.stringify(answer)))).toEqual(jsonOf(answer));
      expect(answer.message.length).toBeLessThanOrEqual(MESSAGE_LENGTH_MAX + '…'.length);
      expect(JSON.stringify(answer)).not.toMatch(/\\u0000|\\ud[89a-f]/);
    }),
    { numRuns: countRuns(500) },
  );
});

it('an output is accepted exactly if a file and a body accept it as a key', () => {
  const files = { 'tree.yaml': 'name: global\ntype: common\n', 'hierarchy.yaml': 'order: [common, role]\n' };
  const desired = new TextRepository().commit(files);
  fc.assert(
    fc.property(KEY, VALUE, (key, value) => {
      const one = JSON.stringify({ [key]: value });
      const [answer, body] = [`{"outcome":"done","outputs":${one}}`, JSON.parse(one)];
      const isOutput = readIfRight(answer) !== undefined;
      const draft = (): Draft => putObjectDraft('role', { name: 'web', ...body });
      expect(!parseEntry('types/role/web.yaml', 'o', one).problems.some(isError)).toBe(isOutput);
      expect(isTaken(desired, draft)).toBe(isOutput);
    }),
    {
      numRuns: countRuns(300),
      examples: [
        ['a', 2 ** 53],
        ['a', 2 ** 53 - 1],
        ['a', '\0'],
        ['a', ['\ud83d']],
      ],
    },
  );
});

function isTaken(desired: DesiredState, draft: () => Draft): boolean {
  try {
    const made = draft();
    desiredAfter(desired, made.edits(desired), made);
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}
