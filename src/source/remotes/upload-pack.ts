// Encodes the request of a fetch for one commit, and extracts the pack from the answer. See gitprotocol-pack, "Packfile
// Negotiation". Sends nothing itself, and holds at most one piece of the answer.

import { freeBytes } from '../../git/free-bytes.ts';
import { notWhole } from '../../git/index-pack.ts';
import { reasonOf } from '../../model/quote.ts';
import { SourceError } from '../source.ts';
import { FetchAnswerReader } from './fetch-answer-reader.ts';
import { FLUSH, lineIn, packetLine } from './packet-line.ts';

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
