// Decodes Git's objects and names into plain data. Independent of their storage.
import { createHash } from 'node:crypto';
import type { Commit } from './source.ts';

/** The types of Git objects. */
export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag';

/** An object without its header. */
export interface GitObject {
  readonly oid: string;
  readonly type: ObjectType;
  readonly bytes: Buffer;
}

/** The last second of the year 9999, the limit of RFC 3339. */
const SECONDS_MAX = 253_402_300_799;
/** Longer messages are truncated; a commit may have 32 MiB. */
const MESSAGE_BYTES_MAX = 64 * 1024;

/** Returns the SHA-1 id that Git gives to a file of this content. */
export function blobIdOf(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/**
 * Returns the metadata of a commit, with the first 64 KiB of its message and the first 250 characters of its author's
 * name; an unreadable time is 1970. Keeps no reference to `bytes`.
 */
export function parseCommit({ oid, bytes }: Omit<GitObject, 'type'>): Commit {
  const blank = bytes.indexOf('\n\n');
  const headers = bytes.toString('utf8', 0, blank < 0 ? bytes.length : blank).split('\n');
  const valuesOf = (key: string): readonly string[] =>
    headers.filter((line) => line.startsWith(`${key} `)).map((line) => copyOf(line.slice(key.length + 1)));
  // Old and imported histories contain invalid times, which must not prevent later commits.
  const seconds = Number(/> (\d+)(?: [+-]\d+)?$/.exec(valuesOf('committer')[0] ?? '')?.[1] ?? 0);
  return {
    oid,
    time: `${new Date(Math.min(seconds, SECONDS_MAX) * 1000).toISOString().slice(0, 19)}Z`,
    author: /^[^<]{0,250}/.exec(valuesOf('author')[0] ?? '')?.[0].trim() ?? '',
    message: blank < 0 ? '' : bytes.toString('utf8', blank + 2, blank + 2 + MESSAGE_BYTES_MAX),
    parents: valuesOf('parent'),
  };
}

/** Copies a substring, which would otherwise keep a commit of megabytes in memory. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** Returns a path as text. Git's names are bytes: a name that is not UTF-8 is decoded byte by byte. */
export function decodePath(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd')) return text;
  return bytes
    .toString('latin1')
    .split('/')
    .map((name) => {
      const decoded = Buffer.from(name, 'latin1').toString('utf8');
      return decoded.includes('\ufffd') ? name : decoded;
    })
    .join('/');
}
