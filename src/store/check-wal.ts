// Tells damage in SQLite's log of commits from what a crash leaves. SQLite reads the log up to the first frame that is not as it was
// written, and takes the rest for a commit that was never finished: a flipped bit would lose every commit after it, silently.
import { closeSync, openSync, readSync } from 'node:fs';
import { codeOf } from './store-error.ts';

/** SQLite's default. */
const PAGE_BYTES = 4096;
const HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 24;
/** With a page. The head of the log says the length of pages too, which may be what is damaged. */
const FRAME_BYTES = FRAME_HEAD_BYTES + PAGE_BYTES;
/** Checksums of words in the order of a little-endian machine, of a big-endian one. https://sqlite.org/fileformat2.html#walformat */
const MAGIC = [0x377f0682, 0x377f0683];
const FRAMES_AT_ONCE = 64;

/**
 * Returns true if the log beside a database has finished commits behind a frame that is not as it was written. A crash leaves at
 * most one: that of the commit under way. What is being written while it is read can look damaged too, but not twice in one place.
 */
export function isLogDamaged(path: string): boolean {
  const place = damageIn(path);
  return place !== undefined && damageIn(path) === place;
}

/** Returns the offset of the first damaged frame, if there is one. */
function damageIn(path: string): number | undefined {
  let file: number;
  try {
    file = openSync(`${path}-wal`, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    if (readSync(file, head, 0, HEAD_BYTES, 0) < HEAD_BYTES) return undefined;
    const { place, commits } = firstBadFrame(file, head);
    return commits > 1 ? place : undefined;
  } finally {
    closeSync(file);
  }
}

/** Returns where the first frame is that is not as it was written, and how many commits end with it or after it. */
function firstBadFrame(file: number, head: Buffer): { readonly place: number; readonly commits: number } {
  const isLittle = head.readUInt32BE(0) !== MAGIC[1];
  let sum = checksum(head.subarray(0, 24), [0, 0], isLittle);
  let isGood = MAGIC.includes(head.readUInt32BE(0)) && isSum(head, 24, sum);
  let place = HEAD_BYTES;
  let commits = 0;
  const frames = Buffer.alloc(FRAMES_AT_ONCE * FRAME_BYTES);
  for (let at = HEAD_BYTES, read = -1; read !== 0; at += read) {
    read = readSync(file, frames, 0, frames.length, at);
    read -= read % FRAME_BYTES;
    for (let start = 0; start < read; start += FRAME_BYTES) {
      const frame = frames.subarray(start, start + FRAME_BYTES);
      // Frames of the log's former use are left behind the end.
      const equalSalts = [8, 12].filter((salt) => frame.readUInt32BE(salt) === head.readUInt32BE(salt + 8)).length;
      if (equalSalts === 0) return { place, commits };
      if (isGood) {
        sum = checksum(frame.subarray(0, 8), sum, isLittle);
        sum = checksum(frame.subarray(FRAME_HEAD_BYTES), sum, isLittle);
        isGood = equalSalts === 2 && isSum(frame, 16, sum);
        place = at + start;
      }
      if (!isGood && frame.readUInt32BE(4) !== 0) commits += 1;
    }
  }
  return { place, commits };
}

type Sum = readonly [number, number];

function checksum(bytes: Buffer, [first, second]: Sum, isLittle: boolean): Sum {
  let [a, b] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)) + b) >>> 0;
    b = (b + (isLittle ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4)) + a) >>> 0;
  }
  return [a, b];
}

function isSum(bytes: Buffer, at: number, [a, b]: Sum): boolean {
  return bytes.readUInt32BE(at) === a && bytes.readUInt32BE(at + 4) === b;
}
