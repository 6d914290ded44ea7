// The pack in the answer to a fetch, which arrives in pieces of any size.
import { describe, expect, it } from 'vitest';
import { packIn } from '../../../src/repository/remotes/upload-pack.ts';

const PACK = Buffer.from(Array.from({ length: 500 }, (_, index) => index % 251));

function packet(...content: readonly (string | number | Buffer)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))));
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]);
}

/** An answer as git sends it: an acknowledgement, the pack in packets of `bytes`, a message between them, and the end. */
function answerWith(bytes: number): Buffer {
  const packets = Array.from({ length: Math.ceil(PACK.length / bytes) }, (_, index) =>
    packet(1, PACK.subarray(index * bytes, (index + 1) * bytes)),
  );
  return Buffer.concat([
    packet('NAK\n'),
    packet(2, 'counting\n'),
    ...packets,
    packet(2, 'done\n'),
    Buffer.from('0000'),
  ]);
}

/** Yields copies, each with a memory of its own, as a connection does. */
async function* inPieces(answer: Buffer, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < answer.length; at += bytes) yield Uint8Array.from(answer.subarray(at, at + bytes));
}

async function read(answer: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of packIn('far', answer)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

describe('the pack in an answer', () => {
  it('is the same wherever packets and pieces are divided', async () => {
    for (const packetBytes of [1, 2, 7, 100, 500]) {
      const answer = answerWith(packetBytes);
      for (const pieceBytes of [1, 2, 3, 4, 5, 6, 11, 64, 250, answer.length]) {
        expect(await read(inPieces(answer, pieceBytes)), `${packetBytes} in ${pieceBytes}`).toEqual(PACK);
      }
    }
  });

  it('is passed on before its packet is complete', async () => {
    const answer = answerWith(500);
    const beginning = Uint8Array.from(answer.subarray(0, 100));
    const { value } = await packIn('far', inPieces(Buffer.from(beginning), 100)).next();
    expect(PACK.subarray(0, value?.length).equals(value ?? Buffer.alloc(0))).toBe(true);
    expect(value?.length).toBeGreaterThan(50);
  });

  it('is not copied, and its memory is freed as soon as the next piece is requested', async () => {
    const answer = answerWith(250);
    const arrived: Uint8Array[] = [];
    async function* noted(): AsyncGenerator<Uint8Array> {
      for await (const piece of inPieces(answer, 100)) {
        arrived.push(piece);
        yield piece;
      }
    }
    let bytes = 0;
    for await (const piece of packIn('far', noted())) {
      expect(arrived.map(({ buffer }) => buffer)).toContain(piece.buffer);
      expect(arrived.slice(0, -1).every(({ length }) => length === 0)).toBe(true);
      bytes += piece.length;
    }
    expect(bytes).toBe(PACK.length);
    expect(arrived.every(({ length }) => length === 0)).toBe(true);
  });

  it('is joined where packets are so small that each would cost a write', async () => {
    let pieces = 0;
    for await (const _ of packIn('far', inPieces(answerWith(1), 1000))) pieces += 1;
    expect(answerWith(1).length).toBeGreaterThan(3000);
    expect(pieces).toBeLessThan(10);
  });

  it('is refused where the answer is cut off, wherever', async () => {
    const answer = answerWith(100);
    for (let length = 1; length < answer.length; length += 1) {
      await expect(read(inPieces(answer.subarray(0, length), 64)), `${length} bytes`).rejects.toThrow(
        /the answer is cut off|there is no pack in the answer/,
      );
    }
  });

  it.each([
    ['something after the end', [answerWith(100), packet(1, 'more')], 'something comes after the end of the answer'],
    ['an empty packet after the end', [answerWith(100), packet(1)], 'something comes after the end of the answer'],
    ['a pack without a byte', [packet(1), Buffer.from('0000')], 'there is no pack in the answer'],
    ['no packets', [Buffer.from('<html>')], 'it is not written in packets'],
    ['a packet shorter than its own length', [Buffer.from('0003')], 'it is not written in packets'],
    ['a packet longer than git makes', [Buffer.from('ffff1')], 'it is not written in packets'],
    ['no pack', [packet('NAK\n'), Buffer.from('0000')], 'there is no pack in the answer'],
    ['another text', [packet('WHAT\n')], 'it is no answer to a fetch'],
    ['an empty packet', [packet('')], 'it is no answer to a fetch'],
    ['a failure', [packet(1, 'PACK'), packet(3, 'out of memory')], '"far" gave up: out of memory'],
    ['a refusal', [packet('ERR upload-pack: not our ref\n')], '"far" refuses: upload-pack: not our ref'],
  ])('is refused where there is %s', async (_, answer, message) => {
    await expect(read(inPieces(Buffer.concat(answer), 3))).rejects.toThrow(message);
  });
});
