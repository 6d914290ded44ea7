// Encodes the request of a fetch for one commit, and extracts the pack from the answer. See gitprotocol-pack, "Packfile
// Negotiation". Sends nothing itself, and buffers at most one piece of the answer.

import { notWhole } from '../../git/index-pack.ts';
import { reasonOf } from '../../model/quote.ts';
import { SourceError } from '../source.ts';
import { FLUSH, lineIn, PacketReader, packetLine } from './packet-line.ts';

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
const NOTHING = Buffer.alloc(0);

/** Returns the body of the request. Throws SourceError if the server cannot separate the pack from its messages. */
export function fetchRequest({ name, head, have }: WantedCommit, capabilities: ReadonlySet<string>): Buffer {
  if (!capabilities.has(BANDS)) throw new SourceError(`"${name}" does not know ${BANDS}: its Git server is too old`);
  const asked = [...WANTED.filter((each) => capabilities.has(each)), AGENT].join(' ');
  const haves = have === null ? [] : [packetLine(`have ${have}\n`)];
  return Buffer.concat([packetLine(`want ${head} ${asked}\n`), Buffer.from(FLUSH), ...haves, packetLine('done\n')]);
}

/** Yields the pack in the answer in pieces. Throws SourceError if the answer is truncated or malformed. */
export async function* packIn(name: string, answer: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const reader = new PacketReader();
  let isOver = false;
  let isThere = false;
  for await (const chunk of answer) {
    const pieces: Buffer[] = [];
    for (const packet of packetsOf(name, () => reader.push(chunk))) {
      if (isOver) throw notWhole(name, 'something comes after the end of the answer');
      if (packet === null) isOver = true;
      else pieces.push(pieceIn(name, packet));
    }
    const piece = Buffer.concat(pieces);
    if (piece.length === 0) continue;
    isThere = true;
    yield piece;
  }
  if (!reader.isAtEnd || (isThere && !isOver)) throw notWhole(name, 'the answer is cut off');
  if (!isThere) throw notWhole(name, 'there is no pack in the answer');
}

function packetsOf<Packets>(name: string, read: () => Packets): Packets {
  try {
    return read();
  } catch (error) {
    throw notWhole(name, reasonOf(error), error);
  }
}

/** Returns the part of the pack in a packet. A line of text never begins with a band number. */
function pieceIn(name: string, packet: Buffer): Buffer {
  switch (packet[0]) {
    case 1:
      return packet.subarray(1);
    case 2:
      return NOTHING;
    case 3:
      throw new SourceError(`"${name}" gave up: ${reasonIn(packet.subarray(1))}`);
    default:
      return beforeThePack(name, lineIn(packet));
  }
}

function beforeThePack(name: string, line: string): Buffer {
  if (/^(NAK|ACK [0-9a-f]{40})$/.test(line)) return NOTHING;
  const refusal = /^ERR (.*)/s.exec(line)?.[1];
  if (refusal !== undefined) throw new SourceError(`"${name}" refuses: ${reasonIn(refusal)}`);
  throw notWhole(name, 'it is no answer to a fetch');
}

function reasonIn(words: Buffer | string): string {
  return words.toString('utf8').slice(0, REASON_LENGTH_MAX).trim();
}
