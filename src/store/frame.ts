// Encodes and decodes one record of the store's files: its length, its checksum and its JSON on one line. A frame shows
// by itself whether it is complete. journal.ts and snapshot-file.ts define what the records mean.
import { crc32 } from 'node:zlib';

/** Eight hexadecimal digits of length, eight of CRC-32, each with a space behind. */
const HEAD = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;
/** The bytes before the JSON of a record. */
export const HEAD_BYTES = 18;
const NEWLINE = 10;

/** A decoded record, and where it ends. */
export interface Frame {
  readonly value: unknown;
  /** The byte after it. */
  readonly end: number;
}

/** Returns the bytes of a record. `json` holds no line break, as `JSON.stringify` writes it. */
export function encodeFrame(json: string): Buffer {
  const length = Buffer.byteLength(json) + 1;
  const frame = Buffer.allocUnsafe(HEAD_BYTES + length);
  frame.write(json, HEAD_BYTES);
  frame[HEAD_BYTES + length - 1] = NEWLINE;
  const checksum = crc32(frame.subarray(HEAD_BYTES));
  frame.write(`${hex(length)} ${hex(checksum)} `, 'latin1');
  return frame;
}

/** Returns the whole and unharmed record that begins at a byte, or undefined. */
export function frameAt(bytes: Buffer, start: number): Frame | undefined {
  const end = endOfFrame(bytes, start);
  if (end === undefined || end > bytes.length) return undefined;
  const payload = bytes.subarray(start + HEAD_BYTES, end);
  if (hex(crc32(payload)) !== bytes.toString('latin1', start + 9, start + 17)) return undefined;
  return { value: JSON.parse(payload.toString()), end };
}

/**
 * Tells whether a whole record stands anywhere after a bad one that begins at `start`. If so, the bad one was not the
 * last that was written, and no crash explains it.
 */
export function isFollowedByFrame(bytes: Buffer, start: number): boolean {
  const claimedEnd = endOfFrame(bytes, start);
  if (claimedEnd !== undefined && frameAt(bytes, claimedEnd) !== undefined) return true;
  for (let at = bytes.indexOf(NEWLINE, start); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
    if (frameAt(bytes, at + 1) !== undefined) return true;
  }
  return false;
}

/** Returns where the record at a byte says it ends, be it whole or not; undefined where no record begins. */
export function endOfFrame(bytes: Buffer, start: number): number | undefined {
  const head = HEAD.exec(bytes.toString('latin1', start, start + HEAD_BYTES));
  return head?.[1] === undefined ? undefined : start + HEAD_BYTES + Number.parseInt(head[1], 16);
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
