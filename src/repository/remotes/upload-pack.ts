// Encodes the request of a fetch for one commit, and extracts the pack from the answer. See gitprotocol-pack, "Packfile
// Negotiation". Sends nothing itself, and holds at most one piece of the answer.

import { reasonOf } from '../../base/wording.ts';
import { freeBytes } from '../git/free-bytes.ts';
import { notWhole } from '../git/index-pack.ts';
import { SourceError } from '../source.ts';
import { FLUSH, LENGTH_DIGITS, lineIn, packetLength, packetLine } from './packet-line.ts';

interface WantedCommit {
  /** The remote's name, for messages. */
  readonly name: string;
  readonly head: string;
  /** A commit of the local copy with all objects that it refers to; null: none. */
  readonly have: string | null;
}

const AGENT = 'agent=git/treeline';
const BANDS = 'side-band-64k';
/** Requested if offered. Not `thin-pack`: every pack of the local copy is self-contained. */
const WANTED = [BANDS, 'ofs-delta', 'no-progress'];
const REASON_LENGTH_MAX = 500;
/** A piece of the answer seldom holds more packets, which have up to 64 KiB. */
const PIECES_MAX = 4;

/** Returns the body of the request. Throws SourceError if the server cannot separate the pack from its messages. */
export function fetchRequest({ name, head, have }: WantedCommit, capabilities: ReadonlySet<string>): Buffer {
  if (!capabilities.has(BANDS)) throw new SourceError(`"${name}" does not know ${BANDS}: its Git server is too old`);
  const asked = [...WANTED.filter((each) => capabilities.has(each)), AGENT].join(' ');
  const haves = have === null ? [] : [packetLine(`have ${have}\n`)];
  return Buffer.concat([packetLine(`want ${head} ${asked}\n`), Buffer.from(FLUSH), ...haves, packetLine('done\n')]);
}

/**
 * Yields the pack in the answer in pieces, uncopied: a piece can be read until the next is requested, and its memory is
 * freed then. Throws SourceError if the answer is truncated or malformed.
 */
export async function* packIn(name: string, answer: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const reader = new FetchAnswerReader();
  let isOver = false;
  let isThere = false;
  for await (const chunk of answer) {
    const pieces: Buffer[] = [];
    for (const part of partsOf(name, () => reader.push(chunk))) {
      if (isOver) throw notWhole(name, 'something comes after the end of the answer');
      if (!('pack' in part)) {
        if (part.packet === null) isOver = true;
        else besidePack(name, part.packet);
      } else if (part.pack.length > 0) pieces.push(part.pack);
    }
    isThere ||= pieces.length > 0;
    // Small pieces are joined: each one costs its reader a write.
    yield* pieces.length > PIECES_MAX ? [Buffer.concat(pieces)] : pieces;
    freeBytes(chunk);
  }
  if (!reader.isAtEnd || (isThere && !isOver)) throw notWhole(name, 'the answer is cut off');
  if (!isThere) throw notWhole(name, 'there is no pack in the answer');
}

function partsOf<Parts>(name: string, read: () => Parts): Parts {
  try {
    return read();
  } catch (error) {
    throw notWhole(name, reasonOf(error), error);
  }
}

/** Throws if a packet of another band than the pack's ends the fetch. A line of text never begins with a band number. */
function besidePack(name: string, packet: Buffer): void {
  switch (packet[0]) {
    case 2:
      return;
    case 3:
      throw new SourceError(`"${name}" gave up: ${reasonIn(packet.subarray(1))}`);
    default:
      beforeThePack(name, lineIn(packet));
  }
}

function beforeThePack(name: string, line: string): void {
  if (/^(NAK|ACK [0-9a-f]{40})$/.test(line)) return;
  const refusal = /^ERR (.*)/s.exec(line)?.[1];
  if (refusal !== undefined) throw new SourceError(`"${name}" refuses: ${reasonIn(refusal)}`);
  throw notWhole(name, 'it is no answer to a fetch');
}

function reasonIn(words: Buffer | string): string {
  return words.toString('utf8').slice(0, REASON_LENGTH_MAX).trim();
}

/** A piece of the pack, empty where a packet of it begins, or the content of another packet, null for a flush. */
type AnswerPart = { readonly pack: Buffer } | { readonly packet: Buffer | null };

/** The band of the pack. A line of text never begins with a band number. */
const PACK_BAND = 1;
const NOTHING = Buffer.alloc(0);

/**
 * Decodes one answer while it arrives in pieces of any size. The bytes of the pack are passed on as they come, uncopied, also in
 * the middle of a packet. See gitprotocol-pack, "Packfile Data".
 */
class FetchAnswerReader {
  /** The beginning of the current packet, unless it belongs to the pack. */
  #head: Buffer = NOTHING;
  /** How many bytes of the current packet belong to the pack and are missing. */
  #packLeft = 0;

  /** True if the last packet is complete. */
  get isAtEnd(): boolean {
    return this.#head.length === 0 && this.#packLeft === 0;
  }

  /** Returns the parts in a piece of the answer; those of the pack share its memory, others do not. Throws if it is malformed. */
  push(bytes: Uint8Array): readonly AnswerPart[] {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const parts: AnswerPart[] = [];
    for (let at = 0; at < all.length; ) {
      const isPack = this.#packLeft > 0;
      const end = at + (isPack ? this.#packLeft : headLength(this.#head) - this.#head.length);
      const piece = all.subarray(at, end);
      at += piece.length;
      if (isPack) {
        this.#packLeft -= piece.length;
        parts.push({ pack: piece });
      } else {
        this.#head = Buffer.concat([this.#head, piece]);
        const part = this.#complete();
        if (part !== undefined) parts.push(part);
      }
    }
    return parts;
  }

  /** Returns the current packet if it is complete, or is known to belong to the pack. */
  #complete(): AnswerPart | undefined {
    const head = this.#head;
    if (head.length < LENGTH_DIGITS) return undefined;
    const length = packetLength(head.toString('latin1', 0, LENGTH_DIGITS));
    const isPack = head[LENGTH_DIGITS] === PACK_BAND;
    if (!isPack && head.length < length) return undefined;
    this.#head = NOTHING;
    if (isPack) {
      this.#packLeft = length - head.length;
      return { pack: NOTHING };
    }
    return { packet: length === 0 ? null : head.subarray(LENGTH_DIGITS) };
  }
}

/** Returns how many bytes of a packet are read together: its length, then its band, then the rest. */
function headLength(head: Buffer): number {
  if (head.length < LENGTH_DIGITS) return LENGTH_DIGITS;
  if (head.length === LENGTH_DIGITS) return LENGTH_DIGITS + 1;
  return packetLength(head.toString('latin1', 0, LENGTH_DIGITS));
}
