// Packet lines, in which Git's protocols talk. See gitprotocol-common and gitprotocol-pack, "Sideband".

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

/** Returns the packets' contents, null for a flush. Throws where they are cut off, or it is something else. */
export function readPackets(bytes: Buffer): readonly (Buffer | null)[] {
  const packets: (Buffer | null)[] = [];
  let at = 0;
  while (at < bytes.length) {
    const digits = bytes.toString('latin1', at, at + LENGTH_DIGITS);
    const length = /^[0-9a-f]{4}$/.test(digits) ? Number.parseInt(digits, 16) : -1;
    if (length === 0) {
      packets.push(null);
      at += LENGTH_DIGITS;
      continue;
    }
    if (length < LENGTH_DIGITS || length > PACKET_BYTES_MAX) throw new Error('it is not written in packets');
    if (at + length > bytes.length) throw new Error('it is cut off');
    packets.push(bytes.subarray(at + LENGTH_DIGITS, at + length));
    at += length;
  }
  return packets;
}

/** Returns the content of a packet that holds a line of text. */
export function lineIn(packet: Buffer): string {
  return packet.toString('utf8').replace(/\n$/, '');
}

/** What a remote said on each of the bands that it shares one stream for. */
export interface Bands {
  readonly content: Buffer;
  /** For a person: what hooks print. */
  readonly words: string;
  /** Why it gave up; null where it did not. */
  readonly failure: string | null;
}

/** Takes the bands apart. Throws where the packets are malformed, or not numbered. */
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
