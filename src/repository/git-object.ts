// Decodes Git's objects and names into plain data. Independent of their storage.
import { createHash } from 'node:crypto';

/** The types of Git objects. */
export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag';

/** An object as Git stores it, without its header. */
export interface GitObject {
  readonly oid: string;
  readonly type: ObjectType;
  readonly bytes: Buffer;
}

/** A decoded commit. */
export interface ParsedCommit {
  readonly oid: string;
  readonly tree: string;
  /** Object ids, first parent first. */
  readonly parents: readonly string[];
  /** Committer time, RFC 3339 in UTC. */
  readonly time: string;
  /** The author's name, at most 250 characters; may be empty. */
  readonly author: string;
  readonly message: string;
}

const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
/** The last second of the year 9999, the limit of RFC 3339. */
const SECONDS_MAX = 253_402_300_799;
/** Longer messages are truncated; a commit may have 32 MiB. */
const MESSAGE_BYTES_MAX = 64 * 1024;

/** Returns true for a full object id, SHA-1 or SHA-256, in lower-case hexadecimal. */
export function isOid(text: string): boolean {
  return OID.test(text);
}

/** Returns the SHA-1 id that Git gives to an object of this type and content. */
export function oidOf({ type, bytes }: { readonly type: ObjectType; readonly bytes: Uint8Array }): string {
  return createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex');
}

/**
 * Returns the metadata of a commit, with the first 64 KiB of its message; an unreadable time is 1970. Keeps no
 * reference to `bytes`. Throws if the commit names no tree.
 */
export function parseCommit({ oid, bytes }: Omit<GitObject, 'type'>): ParsedCommit {
  const blank = bytes.indexOf('\n\n');
  const headers = bytes.toString('utf8', 0, blank < 0 ? bytes.length : blank).split('\n');
  const valuesOf = (key: string): readonly string[] =>
    headers.filter((line) => line.startsWith(`${key} `)).map((line) => copyOf(line.slice(key.length + 1)));
  const [tree] = valuesOf('tree');
  if (tree === undefined) throw new Error('a commit without a tree');
  // Old and imported histories hold times that no current tool would write: no reason to refuse later commits.
  const seconds = Number(/> (\d+)(?: [+-]\d+)?$/.exec(valuesOf('committer')[0] ?? '')?.[1] ?? 0);
  return {
    oid,
    time: `${new Date(Math.min(seconds, SECONDS_MAX) * 1000).toISOString().slice(0, 19)}Z`,
    author: /^[^<]{0,250}/.exec(valuesOf('author')[0] ?? '')?.[0].trim() ?? '',
    message: blank < 0 ? '' : bytes.toString('utf8', blank + 2, blank + 2 + MESSAGE_BYTES_MAX),
    parents: valuesOf('parent'),
    tree,
  };
}

/** A substring keeps the whole string in memory, and a commit may have megabytes. */
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
