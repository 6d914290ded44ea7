// Decodes the bytes of a Git tree into entries, and encodes them again. Unchanged entries stay byte for byte: also
// names that are not UTF-8, and modes as old tools wrote them.

/** One raw entry. */
export interface RawEntry {
  /** Octal, such as `100644` and `40000`. */
  readonly mode: string;
  readonly name: Buffer;
  readonly oid: string;
}

const OID_BYTES = 20;
const SPACE = 0x20;
const SLASH = Buffer.from('/');

/** Returns the entries in stored order. Throws if the tree is truncated. */
export function splitTree(bytes: Buffer): readonly RawEntry[] {
  return [...rawEntries(bytes)];
}

/** Yields the same entries one by one, for a caller that may not need all of them. */
export function* rawEntries(bytes: Buffer): Generator<RawEntry, void> {
  let at = 0;
  while (at < bytes.length) {
    const space = bytes.indexOf(SPACE, at);
    const end = bytes.indexOf(0, space);
    const next = end + 1 + OID_BYTES;
    if (space < 0 || end < 0 || next > bytes.length) throw new Error('a tree ends in the middle of an entry');
    const name = bytes.subarray(space + 1, end);
    yield { mode: bytes.toString('latin1', at, space), name, oid: bytes.toString('hex', end + 1, next) };
    at = next;
  }
}

/** Returns the tree of these entries, in Git's order. */
export function joinTree(entries: Iterable<RawEntry>): Buffer {
  const sorted = [...entries].sort((a, b) => Buffer.compare(sortKeyOf(a), sortKeyOf(b)));
  return Buffer.concat(
    sorted.flatMap(({ mode, name, oid }) => [Buffer.from(`${mode} `), name, Buffer.of(0), Buffer.from(oid, 'hex')]),
  );
}

/** Returns true if an entry is a directory; old tools wrote `040000`. */
export function isDirectory({ mode }: Pick<RawEntry, 'mode'>): boolean {
  return Number.parseInt(mode, 8) === 0o40000;
}

/** Git sorts a directory as if its name ended with a slash. */
function sortKeyOf(entry: RawEntry): Buffer {
  return isDirectory(entry) ? Buffer.concat([entry.name, SLASH]) : entry.name;
}
