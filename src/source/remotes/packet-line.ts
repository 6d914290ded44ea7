// Encodes and decodes the packet lines of Git's protocols. See gitprotocol-common and gitprotocol-pack, "Sideband".

const LENGTH_DIGITS = 4;
const PACKET_BYTES_MAX = 65_520;

/** Ends a list of packets. */
export const FLUSH = '0000';

/** Returns one packet. */
export function packetLine(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = (bytes.length + LENGTH_DIGITS).toString(16).padStart(LENGTH_DIGITS, '0');
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** Decodes packets that arrive in pieces of any size. */
export class PacketReader {
  /** The received part of an incomplete packet. */
  #rest: Buffer = Buffer.alloc(0);

  /** True if the last packet is complete. */
  get isAtEnd(): boolean {
    return this.#rest.length === 0;
  }

  /** Returns the contents of the packets that are complete by now, null for a flush. Throws if they are malformed. */
  push(bytes: Uint8Array): readonly (Buffer | null)[] {
    const all = this.isAtEnd
      ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      : Buffer.concat([this.#rest, bytes]);
    const packets: (Buffer | null)[] = [];
    let at = 0;
    while (at < all.length) {
      const digits = all.toString('latin1', at, at + LENGTH_DIGITS);
      if (!/^[0-9a-f]{1,4}$/.test(digits)) throw new Error('it is not written in packets');
      if (digits.length < LENGTH_DIGITS) break;
      const length = Number.parseInt(digits, 16);
      if (length !== 0 && (length < LENGTH_DIGITS || length > PACKET_BYTES_MAX)) {
        throw new Error('it is not written in packets');
      }
      if (at + length > all.length) break;
      packets.push(length === 0 ? null : all.subarray(at + LENGTH_DIGITS, at + length));
      at += length === 0 ? LENGTH_DIGITS : length;
    }
    this.#rest = all.subarray(at);
    return packets;
  }
}

/** Returns the packets' contents, null for a flush. Throws if they are truncated or malformed. */
export function readPackets(bytes: Buffer): readonly (Buffer | null)[] {
  const reader = new PacketReader();
  const packets = reader.push(bytes);
  if (!reader.isAtEnd) throw new Error('it is cut off');
  return packets;
}

/** Returns the content of a packet that holds a line of text. */
export function lineIn(packet: Buffer): string {
  return packet.toString('utf8').replace(/\n$/, '');
}

/** The output of a remote by band, decoded from one stream. */
interface Bands {
  readonly content: Buffer;
  /** For people: the output of hooks. */
  readonly words: string;
  /** The reason for which it gave up; null if it did not. */
  readonly failure: string | null;
}

/** Separates the bands. Throws if the packets are malformed, or have no band number. */
export function splitBands(bytes: Buffer): Bands {
  const bands: readonly Buffer[][] = [[], [], []];
  for (const packet of readPackets(bytes)) {
    if (packet === null) continue;
    const band = bands[(packet[0] ?? 0) - 1];
    if (band === undefined) throw new Error('it is not numbered by bands');
    band.push(packet.subarray(1));
  }
  const [content, words, failure] = bands.map((packets) => Buffer.concat(packets));
  return {
    content: content ?? Buffer.alloc(0),
    words: words?.toString('utf8') ?? '',
    failure: failure === undefined || failure.length === 0 ? null : failure.toString('utf8').trim(),
  };
}
