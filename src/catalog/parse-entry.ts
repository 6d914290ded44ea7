// Parses one file of the layout: from its bytes to the checked object, with the places and problems of its values.

import { type Fault, problemFrom } from '../model/entry.ts';
import { isMap, type JsonMap } from '../model/json.ts';
import { isError, type Problem } from '../model/problem.ts';
import { canonicalSerial } from '../model/serial.ts';
import type { FileEntry } from './catalog.ts';
import { checkBooleanWords, checkObject } from './check-object.ts';
import { fileTooLarge } from './decode-text.ts';
import { checkHierarchy, readHierarchy } from './hierarchy.ts';
import { isObjectPath, isReadPath, type ObjectPath, placePath, type StrayPath } from './paths.ts';
import { readObject } from './read-object.ts';
import { checkSchema } from './schemas.ts';
import { checkTree, readTree } from './tree.ts';
import { parseYaml, type YamlDocument } from './yaml.ts';

/** A file of a snapshot, and the object that its path names. */
export interface PlacedFile {
  readonly path: string;
  readonly oid: string;
  readonly placed: ObjectPath | StrayPath;
}

/** The most problems that are kept for one file; a file can have a hundred thousand. */
const PROBLEMS_MAX = 100;

/**
 * Returns the entry of a file from its content: bytes, or a recorded text. It never throws because of the content. If
 * no object can be at the path, the entry has a problem that says so.
 */
export function parseEntry(path: string, oid: string, source: Uint8Array | string): FileEntry {
  const document = parseYaml(path, source);
  const text = document.text === null ? null : markOf(source) + document.text;
  return { ...entryOfDocument(path, oid, { text, document }), bytes: Buffer.byteLength(source) };
}

/** Returns the entry of a file that is parsed already; `text` includes a byte order mark. */
export function entryOfDocument(
  path: string,
  oid: string,
  { text, document }: { readonly text: string | null; readonly document: YamlDocument },
): FileEntry {
  const placed = placePath(path, '100644');
  if (!isObjectPath(placed)) {
    const stray = unreadEntry(path, oid, placed === undefined ? OUTSIDE : namedBySerial(placed, document.value));
    return { ...stray, text };
  }
  const violations = checkSchema(placed.type, path, document);
  const file: FileEntry = {
    path,
    oid,
    ...placed,
    text,
    bytes: text === null ? 0 : Buffer.byteLength(text),
    object: null,
    problems: joinProblems(document.problems, violations),
    locate: document.locate,
  };
  if (violations.length > 0 || !isMap(document.value)) return { ...file, problems: capped(file.problems) };
  const { object, problems } = readAndCheck(file, placed, document.value);
  const words = checkBooleanWords({ path, type: placed.type }, document, document.value);
  return { ...file, object, problems: capped([...file.problems, ...problems, ...words]) };
}

/** Returns the fault of a stray file. If it is the file of a client, the serial number in it is the correct name. */
function namedBySerial(placed: StrayPath, value: unknown): Fault {
  const written = isReadPath(placed) && isMap(value) ? value.serial : undefined;
  const serial = typeof written === 'string' ? canonicalSerial(written) : undefined;
  return serial === undefined ? placed.stray : { ...placed.stray, hint: `rename the file to ${serial}.yaml` };
}

/** Returns the byte order mark of a file. It is not part of the value, but edits have to keep it. */
function markOf(source: Uint8Array | string): string {
  return typeof source !== 'string' && source[0] === 0xef && source[1] === 0xbb && source[2] === 0xbf ? '\uFEFF' : '';
}

/** Returns the entry of a file of the layout that is not there to be read: too large, a link, a wrong name. */
export function unreadEntry(path: string, oid: string, fault: Fault): FileEntry {
  const place = { line: 1, column: 1 };
  return {
    path,
    oid,
    type: null,
    name: '',
    text: null,
    bytes: 0,
    object: null,
    problems: [problemFrom(fault, { ...place, file: path, pointer: '' })],
    locate: () => place,
  };
}

/** The entry that was parsed last from each array of bytes. Such an array never changes. */
const parsed = new WeakMap<Uint8Array, FileEntry>();

/**
 * Returns the entry of a file of a snapshot; `content` is undefined if the file was too large to be read. The same
 * array of bytes at the same path gives the same entry again, also in another snapshot.
 */
export function readEntry({ path, oid, placed }: PlacedFile, content: Uint8Array | undefined): FileEntry {
  if (content === undefined || !isReadPath(placed)) {
    return isObjectPath(placed)
      ? { ...unreadEntry(path, oid, fileTooLarge()), ...placed }
      : unreadEntry(path, oid, placed.stray);
  }
  const known = parsed.get(content);
  if (known?.path === path && known.oid === oid) return known;
  const entry = parseEntry(path, oid, content);
  parsed.set(content, entry);
  return entry;
}

const OUTSIDE: Fault = {
  code: 'misplaced_file',
  message: 'no object can be at this path',
  hint: 'objects are below types/, stacks/templates/, stacks/instances/ and clients/',
};

function readAndCheck(
  file: FileEntry,
  placed: ObjectPath,
  written: JsonMap,
): { readonly object: unknown; readonly problems: readonly Problem[] } {
  if (placed.type === 'tree') {
    const object = readTree(written);
    return { object, problems: checkTree({ ...file, object }) };
  }
  if (placed.type === 'hierarchy') {
    const object = readHierarchy(written);
    return { object, problems: checkHierarchy({ ...file, object }) };
  }
  const type = placed.type;
  return { object: readObject(type, placed.name, written), problems: checkObject(file, { ...placed, type }, written) };
}

/** Joins both lists. If two problems are about the same mistake, the more specific one is kept. */
function joinProblems(refused: readonly Problem[], violations: readonly Problem[]): readonly Problem[] {
  const errors = new Set(refused.filter(isError).map(({ pointer }) => pointer));
  const violated = new Set(violations.map(({ pointer }) => pointer));
  return [
    ...refused.filter((problem) => isError(problem) || !violated.has(problem.pointer)),
    // A missing field may be in a part of the file that the YAML reader refused.
    ...violations.filter(({ code, pointer }) => !errors.has(pointer) && !(errors.size > 0 && code === 'missing_field')),
  ];
}

/** Keeps errors before warnings, and says how many it leaves out. */
function capped(problems: readonly Problem[]): readonly Problem[] {
  const [first] = problems;
  if (first === undefined || problems.length <= PROBLEMS_MAX) return problems;
  const errors = problems.filter(isError);
  const kept = [...errors, ...problems.filter((problem) => !isError(problem))].slice(0, PROBLEMS_MAX);
  const more = {
    code: 'more_problems',
    severity: errors.length > 0 ? 'error' : 'warning',
    message: `the file has ${problems.length - PROBLEMS_MAX} more problems`,
    hint: 'correct the first ones and look again',
  } as const;
  return [...kept, problemFrom(more, { file: first.file, pointer: '', line: 1, column: 1 })];
}
