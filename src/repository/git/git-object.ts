// Decodes Git's objects into plain data: the references of a commit, a tree and a tag. Independent of their storage.
import { createHash } from 'node:crypto';
import { rawEntries } from './tree-bytes.ts';

/** The types of Git objects. */
export const OBJECT_TYPES = ['commit', 'tree', 'blob', 'tag'] as const;
/** The type of a Git object. */
export type ObjectType = (typeof OBJECT_TYPES)[number];

/** An object as Git stores it, without its header. */
export interface GitObject {
  readonly type: ObjectType;
  readonly bytes: Buffer;
}

/** An entry of a tree. */
export interface TreeEntry {
  readonly mode: '100644' | '100755' | '120000' | '160000' | typeof DIRECTORY_MODE;
  readonly name: string;
  readonly oid: string;
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

/** The mode of a directory in a tree. */
export const DIRECTORY_MODE = '40000';
const OID = /^[0-9a-f]{40}$/;
/** The last second of the year 9999, the limit of RFC 3339. */
const SECONDS_MAX = 253_402_300_799;
/** Longer messages are truncated; a commit may have 32 MiB. */
const MESSAGE_BYTES_MAX = 64 * 1024;

/** Returns true for a full SHA-1 object id in lower-case hexadecimal. */
export function isOid(text: string): boolean {
  return OID.test(text);
}

/** Returns the id that Git gives to an object of this type and content. */
export function oidOf({ type, bytes }: { readonly type: ObjectType; readonly bytes: Uint8Array }): string {
  return createHash('sha1').update(`${type} ${bytes.length}\0`).update(bytes).digest('hex');
}

/** Yields a tree's entries in Git's order. Throws if it is malformed or holds a name that no file can have. */
export function* treeEntries(bytes: Buffer): Generator<TreeEntry, void> {
  for (const entry of rawEntries(bytes)) {
    const name = decodeName(entry.name);
    if (name === '' || name === '.' || name === '..' || name.includes('/')) {
      throw new Error(`a tree holds the name ${JSON.stringify(name)}`);
    }
    yield { mode: parseMode(entry.mode), name, oid: entry.oid };
  }
}

/**
 * Returns the metadata of a commit, with the first 64 KiB of its message; an unreadable time is 1970. Keeps no
 * reference to `bytes`. Throws if the commit names no tree.
 */
export function parseCommit(oid: string, bytes: Buffer): ParsedCommit {
  const blank = bytes.indexOf('\n\n');
  const headers = bytes.toString('utf8', 0, blank < 0 ? bytes.length : blank).split('\n');
  const valuesOf = (key: string): readonly string[] =>
    headers.filter((line) => line.startsWith(`${key} `)).map((line) => copyOf(line.slice(key.length + 1)));
  const [tree] = valuesOf('tree');
  if (tree === undefined) throw new Error('a commit without a tree');
  // Old and imported histories hold times that no current tool would write: no reason to refuse later commits.
  const seconds = Number(/> (\d+)(?: [+-]\d+)?$/.exec(valuesOf('committer')[0] ?? '')?.[1] ?? 0);
  return {
    oid: oid,
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

/**
 * Old tools wrote modes such as `100664` and `040000`; like git, this reads only the kind and the owner's execute bit.
 */
function parseMode(text: string): TreeEntry['mode'] {
  const bits = Number.parseInt(text, 8);
  switch (bits & 0o170000) {
    case 0o040000:
      return DIRECTORY_MODE;
    case 0o100000:
      return (bits & 0o100) === 0 ? '100644' : '100755';
    case 0o120000:
      return '120000';
    case 0o160000:
      return '160000';
    default:
      throw new Error(`a tree holds the unknown mode ${text}`);
  }
}

/** Git's names are bytes. A name that is not UTF-8 is decoded byte by byte, so that two such names stay distinct. */
function decodeName(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') ? bytes.toString('latin1') : text;
}
