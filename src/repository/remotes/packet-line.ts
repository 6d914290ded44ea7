// Encodes and decodes the packet lines of Git's protocols. See gitprotocol-common and gitprotocol-pack, "Sideband".

/** The number of hexadecimal digits before the content of a packet. */
export const LENGTH_DIGITS = 4;
const PACKET_BYTES_MAX = 65_520;

/** Ends a list of packets. */
export const FLUSH = '0000';

/** Returns one packet. */
export function packetLine(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = (bytes.length + LENGTH_DIGITS).toString(16).padStart(LENGTH_DIGITS, '0');
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** Returns the length of a packet, its own digits included; 0 for a flush. Throws if the digits are malformed. */
export function packetLength(digits: string): number {
  const length = /^[0-9a-f]{4}$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
  if (length === 0 || (length >= LENGTH_DIGITS && length <= PACKET_BYTES_MAX)) return length;
  throw new Error('it is not written in packets');
}

/** Returns the packets' contents, null for a flush. Throws if they are truncated or malformed. */
export function readPackets(bytes: Buffer): readonly (Buffer | null)[] {
  const packets: (Buffer | null)[] = [];
  for (let at = 0; at < bytes.length; ) {
    const digits = bytes.toString('latin1', at, at + LENGTH_DIGITS);
    if (/^[0-9a-f]{1,3}$/.test(digits)) throw new Error('it is cut off');
    const length = packetLength(digits);
    if (at + length > bytes.length) throw new Error('it is cut off');
    packets.push(length === 0 ? null : bytes.subarray(at + LENGTH_DIGITS, at + length));
    at += Math.max(length, LENGTH_DIGITS);
  }
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
