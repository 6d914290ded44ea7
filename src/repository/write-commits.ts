// Creates commits on top of a commit of the local copy: git reads its trees, loose-objects.ts creates the new objects.

import { breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import { invariant } from '../base/invariant.ts';
import { LooseObjects, type TreeEntry } from './loose-objects.ts';
import type { ObjectReader } from './object-reader.ts';
import type { NewCommit, NotPublished, PreparedCommits } from './publisher.ts';
import { GitError } from './run-git.ts';

const breathe = breatheBy(systemClock);

/** The author or committer of a commit. */
export interface Person {
  readonly name: string;
  readonly email: string;
}

/** Commits to create. */
export interface CommitOrder {
  /** The local copy, which has the base and gets the new objects. */
  readonly objects: ObjectReader;
  readonly base: string;
  readonly commits: readonly NewCommit[];
  /** The path segments from the repository's root to the layout's directory. */
  readonly directory: readonly string[];
  readonly committer: Person;
  /** The time of all commits, in seconds since 1970. */
  readonly seconds: number;
  /** Returns the signature of the bytes of a commit; undefined: commits are not signed. */
  readonly sign?: ((bytes: Buffer) => Promise<string>) | undefined;
}

/** The edits at one path and below it. */
interface Change {
  /** The new content of the file; null removes it; undefined: unchanged. */
  text: string | null | undefined;
  readonly below: Map<string, Change>;
}

type Entries = ReadonlyMap<string, TreeEntry>;

/** The state of an edit of a tree. */
interface Work {
  readonly present: ObjectReader;
  readonly objects: LooseObjects;
  /** The read and created trees, by id. */
  readonly trees: Map<string, Entries>;
}

/** The repository contains something that cannot be edited here. */
class RefusedEdit extends Error {
  readonly byHand: boolean;

  constructor(message: string, { byHand = false } = {}) {
    super(message);
    this.byHand = byHand;
  }
}

const DIRECTORY_MODE = '40000';
const FILE_MODE = '100644';
const OID_BYTES = 20;
const SHA256_LENGTH = 64;
/**
 * Valid names of a tree. New files are named after objects, so a violation is a bug of Treeline: git accepts any
 * bytes, and a checkout could write outside its directory. isomorphic-git sorts characters beyond U+D7FF differently
 * from git.
 */
const STEP = /^(?!\.{1,2}$|\.git$)[^\p{Cc}/\\\ud800-\uffff]{1,255}$/iu;
const SHA256 =
  'the repository has SHA-256 object ids, and Treeline creates commits only with SHA-1: commit the change with git instead';

/**
 * Writes commits into the local copy, one on top of another, without a ref, and returns their ids. A file keeps its
 * executable bit, a directory without files is removed, and removing a missing file changes nothing.
 */
export async function writeCommits(order: CommitOrder): Promise<PreparedCommits | NotPublished> {
  const { objects: present, base, commits } = order;
  const { directory } = present.git;
  invariant(commits.length > 0 && directory !== undefined, 'there is something to commit, and a place for it');
  if (base.length === SHA256_LENGTH) return { is: 'refused', byHand: true, reason: SHA256 };
  const changes = commits.map(({ edits }) => changeOf(edits, order.directory));
  try {
    const root = await present.find(`${base}^{tree}`);
    if (root === undefined) throw new GitError(`commit "${base}" is not here: nothing can be built on it`);
    const work: Work = { present, objects: new LooseObjects(), trees: new Map() };
    const made: string[] = [];
    let tree = root.oid;
    for (const [index, commit] of commits.entries()) {
      tree = (await changeDirectory(work, tree, changes[index] as Change)) ?? (await work.objects.tree([]));
      made.push(await writeCommit(work.objects, order, { ...commit, tree, parent: made.at(-1) ?? base }));
      // A large directory takes long.
      await breathe();
    }
    await work.objects.save(directory);
    return { is: 'prepared', base, commits: made };
  } catch (error) {
    if (error instanceof RefusedEdit) return { is: 'refused', byHand: error.byHand, reason: error.message };
    if (error instanceof GitError) return { is: 'not sent', reason: error.message };
    throw error;
  }
}

/** Throws if the name or address is empty, or contains characters that would break the header of a commit. */
function checkPerson(person: Person): void {
  for (const text of [person.name, person.email]) {
    const isPlain = !/[<>\0\r\n]/.test(text) && text.isWellFormed() && text.trim() !== '';
    invariant(isPlain, `${JSON.stringify(text)} can stand in the header of a commit`);
  }
}

function writeCommit(
  objects: LooseObjects,
  { committer, seconds, sign }: CommitOrder,
  { author, message, tree, parent }: NewCommit & { readonly tree: string; readonly parent: string },
): Promise<string> {
  checkPerson(author);
  checkPerson(committer);
  invariant(Number.isSafeInteger(seconds) && seconds >= 0, 'a commit has a time');
  invariant(message.trim() !== '' && !message.includes('\0') && message.isWellFormed(), 'a commit has a message');
  const time = { timestamp: seconds, timezoneOffset: 0 };
  const people = { author: { ...author, ...time }, committer: { ...committer, ...time } };
  return objects.commit({ tree, parent: [parent], message, ...people }, sign);
}

function changeOf(edits: NewCommit['edits'], directory: readonly string[]): Change {
  const root: Change = { text: undefined, below: new Map() };
  for (const { path, text } of edits) {
    const steps = [...directory, ...path.split('/')];
    invariant(text === null || text.isWellFormed(), 'a text can be written as UTF-8');
    let change = root;
    for (const step of steps) {
      invariant(STEP.test(step), `${JSON.stringify(step)} can be a name in a tree`);
      const next = change.below.get(step) ?? { text: undefined, below: new Map() };
      change.below.set(step, next);
      change = next;
    }
    change.text = text;
  }
  return root;
}

/** Resolves with the entries of a tree, created by this edit or read from the local copy. */
async function treeOf({ present, trees }: Work, oid: string, path: string): Promise<Entries> {
  const known = trees.get(oid);
  if (known !== undefined) return known;
  const found = await present.find(oid);
  if (found === undefined) throw new GitError(`the tree ${oid} at "${path}" is missing: the local copy is damaged`);
  const entries = entriesOf(found.bytes);
  trees.set(oid, entries);
  return entries;
}

/**
 * Returns the entries of a tree. Names that are not UTF-8 and modes of old tools change in it, so a tree that is
 * written again would have another id.
 */
function entriesOf(bytes: Buffer): Entries {
  const entries = new Map<string, TreeEntry>();
  for (let at = 0; at < bytes.length; ) {
    const [space, end] = [bytes.indexOf(' ', at), bytes.indexOf(0, at)];
    const name = bytes.toString('utf8', space + 1, end);
    const mode = bytes.toString('latin1', at, space).replace(/^0/, '');
    at = end + 1 + OID_BYTES;
    entries.set(name, { mode, name, oid: bytes.toString('hex', end + 1, at) });
  }
  return entries;
}

/** Returns the changed directory; undefined if it becomes empty. `oid`: undefined for a new directory. */
async function changeDirectory(
  work: Work,
  oid: string | undefined,
  { below }: Change,
  path = '',
): Promise<string | undefined> {
  const before: Entries = oid === undefined ? new Map() : await treeOf(work, oid, path);
  const entries = new Map(before);
  for (const [step, change] of below) await changeEntry(work, entries, `${path}${step}`, change);
  if (entries.size === 0) return undefined;
  const isSame = entries.size === before.size && [...before].every(([name, entry]) => entries.get(name) === entry);
  if (isSame && oid !== undefined) return oid;
  const isForeign = oid !== undefined && !work.objects.has(oid);
  if (isForeign && (await work.objects.treeId(before.values())) !== oid) throw notRewritable(path);
  const written = await work.objects.tree(entries.values());
  work.trees.set(written, entries);
  return written;
}

async function changeEntry(work: Work, entries: Map<string, TreeEntry>, path: string, change: Change): Promise<void> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const before = entries.get(name);
  const { text } = change;
  if (text !== undefined && before?.mode === DIRECTORY_MODE) throw inTheWay(path, before, 'a file');
  if (text === null) entries.delete(name);
  else if (text !== undefined) {
    const isFile = before === undefined || before.mode.startsWith('100');
    if (!isFile) throw inTheWay(path, before, 'a file');
    const oid = await work.objects.blob(text);
    if (oid !== before?.oid) entries.set(name, { mode: before?.mode ?? FILE_MODE, name, oid });
  }
  if (change.below.size === 0) return;
  const found = entries.get(name);
  if (found !== undefined && found.mode !== DIRECTORY_MODE) throw inTheWay(path, found, 'a directory');
  const oid = await changeDirectory(work, found?.oid, change, `${path}/`);
  if (oid === undefined) entries.delete(name);
  else if (oid !== found?.oid) entries.set(name, { mode: DIRECTORY_MODE, name, oid });
}

function inTheWay(path: string, { mode }: TreeEntry, wanted: string): RefusedEdit {
  const kinds: Readonly<Record<string, string>> = {
    [DIRECTORY_MODE]: 'a directory',
    '120000': 'a symbolic link',
    '160000': 'a submodule',
  };
  return new RefusedEdit(
    `the repository has ${kinds[mode] ?? 'a file'} at "${path}", where ${wanted} would have to be: remove it there by a commit of your own`,
  );
}

function notRewritable(path: string): RefusedEdit {
  const place = path === '' ? 'the root of the repository' : `the directory "${path.slice(0, -1)}"`;
  return new RefusedEdit(
    `${place} has a name that is not UTF-8, or a file mode that only old tools wrote: change it with git instead`,
    { byHand: true },
  );
}
