// How much a provider may report of one server: it joins every record of it, and stays in memory.
import { describe, expect, it } from 'vitest';
import { OUTPUTS_BYTES_MAX, readAnswer } from '../../src/providers/answer-json.ts';

const TOO_LARGE = /"outputs" takes 65537 bytes as JSON.* 65536 .*such as a path or a URL/;

function answerWith(fields: object): string {
  return JSON.stringify({ outcome: 'done', ...fields });
}

/** Outputs that take this many bytes as JSON. */
function outputsOf(bytes: number): Record<string, string> {
  return { key: 'x'.repeat(bytes - '{"key":""}'.length) };
}

describe('the outputs of an answer', () => {
  it('have at most 64 KiB as JSON', () => {
    const { outputs } = readAnswer(answerWith({ outputs: outputsOf(OUTPUTS_BYTES_MAX) }));
    expect(Buffer.byteLength(JSON.stringify(outputs))).toBe(64 * 1024);
    expect(() => readAnswer(answerWith({ outputs: outputsOf(OUTPUTS_BYTES_MAX + 1) }))).toThrow(TOO_LARGE);
  });

  it('count together with their names, in bytes', () => {
    const names = (letter: string): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${index}-kkkkk`, letter.repeat(45)]));
    expect(() => readAnswer(answerWith({ outputs: names('a') }))).not.toThrow();
    expect(() => readAnswer(answerWith({ outputs: names('ü') }))).toThrow(/"outputs" takes 1\d{5} bytes/);
  });

  it('do not limit observed properties', () => {
    const observed = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`p${index}`, 'x'.repeat(60_000)]));
    expect(readAnswer(answerWith({ observed })).observed).toEqual(observed);
  });

  it('are measured without white space of the text', () => {
    const text = answerWith({ outputs: { key: 'value' } }).replaceAll(':', `:${' '.repeat(70_000)}`);
    expect(readAnswer(text).outputs).toEqual({ key: 'value' });
  });
});

it('readAnswer does not quote a text that may contain a secret', () => {
  const cut = answerWith({ observed: { admin_password: 'S3cr3t!' } }).slice(0, -2);
  expect(() => readAnswer(cut)).toThrow(
    `the answer is not one JSON object: ${cut.length} characters that begin with "{"`,
  );
  const nested = /the key "admin_password" of "observed" has the value a (map|list); it has to be a text/;
  for (const value of [{ plain: 'S3cr3t!' }, [['S3cr3t!']]]) {
    expect(() => readAnswer(answerWith({ observed: { admin_password: value } }))).toThrow(nested);
  }
});

describe('the place of an answer', () => {
  it('is an optional text of 1 to 250 characters', () => {
    expect(readAnswer(answerWith({ place: 'x'.repeat(250) })).place).toBe('x'.repeat(250));
    for (const place of [undefined, null]) expect(readAnswer(answerWith({ place }))).not.toHaveProperty('place');
    for (const place of ['', ' ', 'x'.repeat(251), 7, ['a'], {}]) {
      expect(() => readAnswer(answerWith({ place }))).toThrow(
        /the "place" is .*has to be a text of 1 to 250 characters/,
      );
    }
  });
});

it.each<[json: string, words: string]>([
  ['{"outcome":"ok"}', 'the answer has the outcome "ok"; it has to be one of done, absent'],
  ['{"outcome":"done","output":{}}', 'the answer has unknown fields: "output"; known are outcome'],
  [
    '{"outcome":"done","observed":{"port":80}}',
    'the key "port" of "observed" has the value 80; it has to be a text or a list',
  ],
  ['{"outcome":"done","outputs":{"address":{"v4":"10.0.0.1"}}}', 'the key "address" of "outputs" has the value'],
  ['{"outcome":"done","outputs":{"__proto__":"x"}}', 'the key "__proto__" of "outputs" is a reserved word'],
])('readAnswer refuses %s', (json, words) => {
  expect(() => readAnswer(json)).toThrow(words);
});
