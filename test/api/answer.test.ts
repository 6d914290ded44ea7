// Lists as JSON, item by item: byte for byte what JSON.stringify makes of them.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type WrittenAnswer, writeLong } from '../../src/api/answer.ts';
import { withoutPause } from '../../src/base/breathe.ts';

const item = fc.oneof(fc.jsonValue(), fc.constant(undefined));
const body = fc.oneof(
  fc.jsonValue(),
  fc.array(item, { maxLength: 250 }),
  fc.dictionary(fc.string(), fc.oneof(item, fc.array(item)), { maxKeys: 5 }),
);

const textOf = (pieces: WrittenAnswer['pieces']): string =>
  Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString();

it('an answer has the same bytes and tag in chunks', async () => {
  await fc.assert(
    fc.asyncProperty(body, async (value) => {
      const { pieces, bytes, etag } = await writeLong(value, withoutPause);
      const json = JSON.stringify(value);
      expect(textOf(pieces)).toBe(json);
      expect(bytes).toBe(Buffer.byteLength(json));
      expect(etag).toBe(`"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"`);
    }),
  );
});

it.each([
  ['many items', Array.from({ length: 5_000 }, (_, index) => ({ name: `server-${index}`, text: 'é\u{1f600}' }))],
  ['one long item', ['\u{1f600}'.repeat(300_000)]],
  ['one long item at an odd place', [`x${'\u{1f600}'.repeat(300_000)}`]],
])('%s are cut into chunks of limited length', async (_title, value) => {
  const { pieces, bytes } = await writeLong({ result: value }, withoutPause);
  expect(pieces.length).toBeGreaterThan(1);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(160 * 1024);
  expect(textOf(pieces)).toBe(JSON.stringify({ result: value }));
  expect(pieces.reduce((sum, piece) => sum + piece.length, 0)).toBe(bytes);
});

it('an answer lets other work run between its items', async () => {
  let written = 0;
  const seen: number[] = [];
  const items = Array.from({ length: 1_000 }, () => ({
    toJSON() {
      written += 1;
      return 'x';
    },
  }));
  await writeLong(items, async () => void seen.push(written));
  expect(seen.slice(0, -1)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
});
