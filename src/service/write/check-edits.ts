// Checks whether a write may be committed: it derives the commit, and refuses only mistakes that the parent does not
// have, so that a mistake of one team does not block the writes of another.
import { createHash } from 'node:crypto';
import type { FileEntry } from '../../catalog/catalog.ts';
import { FILE_BYTES_MAX } from '../../catalog/decode-text.ts';
import { entryOfDocument } from '../../catalog/parse-entry.ts';
import { type Before, derive, type FollowedDerivation } from '../../derive.ts';
import type { Safety } from '../../desired/admit.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import type { Unit } from '../../desired/unit.ts';
import { splitAddress } from '../../model/address.ts';
import { isMap } from '../../model/json.ts';
import { isError, type Problem } from '../../model/problem.ts';
import { type ErrorDetail, ServiceError } from '../../model/service-error.ts';
import type { Snapshot, SnapshotFile } from '../../model/snapshot.ts';
import type { Draft, FileEdit } from './draft.ts';
import { refusalOfEdits, usersText } from './refusal.ts';

/**
 * Returns the desired state after the edits. Throws ServiceError if they add a mistake or remove an object in use.
 */
export function desiredAfter(desired: DesiredState, edits: readonly FileEdit[], draft: Draft): FollowedDerivation {
  const { snapshot, parsedFiles } = editedSnapshot(desired, edits);
  const before = { baseline: desired, earlier: desired, safety: safetyAt(desired), parsedFiles };
  const derivation = derive(snapshot, before);
  const problems = derivation.isFollowed ? derivation.desired.problems : derivation.problems;
  const known = new Set(desired.problems.map(identityOf));
  // The content of an unreadable object is missing here too, so its problems may have other words.
  const isUnread = ({ file }: Problem): boolean => {
    const entry = snapshot.files.has(file) ? desired.catalog.files.get(file) : undefined;
    return entry !== undefined && entry.type !== null && entry.text === null;
  };
  const added = problems.filter((one) => isError(one) && !known.has(identityOf(one)) && !isUnread(one));
  if (added.length > 0 || !derivation.isFollowed) {
    throw refusalOfEdits(added.length > 0 ? added : problems, {
      edits,
      draft,
      isThere: (path) => desired.catalog.files.has(path),
    });
  }
  if (draft.isRemoval) requireUnused(desired, draft.address);
  return derivation;
}

/** Returns facts under which held deletes stay held and new deletes pass. The follower decides about new deletes. */
function safetyAt({ held, owners }: DesiredState): Safety {
  const removals = [...held.values()].flatMap((one) => one.removals);
  const incarnations = new Map(removals.map(({ server, incarnation }) => [server, incarnation]));
  return {
    deletions: {
      limit: Number.POSITIVE_INFINITY,
      recent: 0,
      isRecent: () => false,
      underWay: mapValues(held, (one) => one.removals.filter(({ server }) => !owners.has(server))),
      isContinued: () => true,
      incarnationOf: (server) => incarnations.get(server),
      isApproved: () => false,
      heldBefore: mapValues(held, (one) => ({ ...one, servers: one.removals.map(({ server }) => server) })),
      approvedCount: 0,
    },
  };
}

function mapValues<From, To>(map: ReadonlyMap<string, From>, change: (value: From) => To): ReadonlyMap<string, To> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}

/** Returns the files after the edits, each with its git object id. */
function editedSnapshot(
  { catalog, commit, time }: DesiredState,
  edits: readonly FileEdit[],
): { readonly snapshot: Snapshot } & Pick<Before, 'parsedFiles'> {
  const files = new Map<string, SnapshotFile>(catalog.places);
  const blobs = new Map<string, Uint8Array>();
  const parsedFiles = new Map<string, FileEntry>();
  for (const { path, text, document } of edits) {
    if (text === null) {
      files.delete(path);
      continue;
    }
    const bytes = new TextEncoder().encode(text);
    const oid = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
    files.set(path, { oid, mode: '100644' });
    blobs.set(oid, bytes);
    // The catalog reports a file that is too large.
    if (document !== undefined && bytes.length <= FILE_BYTES_MAX)
      parsedFiles.set(path, entryOfDocument(path, oid, { text, document }));
  }
  return { snapshot: { commit, time, files, blobs }, parsedFiles };
}

/** Identifies a problem without its line, which an edit of the file may change. */
function identityOf({ code, severity, file, pointer, message }: Problem): string {
  return `${code} ${severity}\n${file}\n${pointer}\n${message}`;
}

/** Throws ServiceError `conflict` if an active object uses the object at an address. The error lists the users. */
export function requireUnused({ units, catalog }: DesiredState, address: string): void {
  const [type, name] = splitAddress(address);
  const users = [...units.values()].filter((unit) => selects(unit, type, name));
  const isRoot = type === 'common' && catalog.tree.object?.name === name;
  if (users.length === 0 && !isRoot) return;
  const instances = users.filter(({ type }) => type === 'stack-instance').map((unit) => unit.name);
  const files = users.filter(({ type }) => type === 'clientcert').map(({ entry }) => entry.path);
  const message = `${address} is still in use by ${usersText(instances, isRoot ? [...files, catalog.tree.path] : files)}`;
  throw new ServiceError('conflict', message, users.map(detailOf));
}

/** Checks the properties of servers and the keys of hand-written clientcerts. */
function selects({ type: own, entry, servers }: Unit, type: string, name: string): boolean {
  if (own === 'clientcert')
    return isMap(entry.object) && Object.hasOwn(entry.object, type) && entry.object[type] === name;
  return servers
    .values()
    .some(({ spec: { properties } }) => Object.hasOwn(properties, type) && properties[type] === name);
}

function detailOf({ entry: { path, locate } }: Unit): ErrorDetail {
  return { file: path, ...locate(''), pointer: '', message: 'it is used here' };
}
