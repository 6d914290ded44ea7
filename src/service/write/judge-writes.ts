// Judges the writes of one batch on top of a desired state, one after another. It commits nothing.
import type { Breathe } from '../../base/breathe.ts';
import type { FollowedDerivation } from '../../derive.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import type { Unit } from '../../desired/unit.ts';
import { splitAddress } from '../../model/address.ts';
import { tenantOf } from '../../model/least-rights.ts';
import type { Client } from '../../model/objects.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { NewCommit } from '../../repository/publisher.ts';
import { registryOf } from '../caller.ts';
import { notFound } from '../refusals.ts';
import { Scope } from '../scope.ts';
import { desiredAfter } from './check-edits.ts';
import type { Draft, FileEdit, WriteOrder } from './draft.ts';
import { fileOf } from './object-file.ts';
import type { PendingWrite } from './pending-write.ts';

/** The verdict on a write: a commit, nothing to change, or a refusal. */
export type WriteVerdict =
  | {
      readonly is: 'commit';
      readonly write: PendingWrite;
      readonly commit: NewCommit;
    }
  | { readonly is: 'unchanged'; readonly write: PendingWrite }
  | { readonly is: 'refused'; readonly write: PendingWrite; readonly error: unknown };

/**
 * Returns a verdict for each write, in order. Each write is judged on top of the commits before it, so its verdict is
 * valid only if these commits reach the branch.
 */
export async function judgeWrites(
  writes: readonly PendingWrite[],
  base: DesiredState,
  breathe: Breathe,
): Promise<readonly WriteVerdict[]> {
  const verdicts: WriteVerdict[] = [];
  let desired = base;
  for (const write of writes) {
    const { verdict, after } = judge(write, desired);
    verdicts.push(verdict);
    desired = after;
    await breathe();
  }
  return verdicts;
}

function judge(
  write: PendingWrite,
  desired: DesiredState,
): { readonly verdict: WriteVerdict; readonly after: DesiredState } {
  const { draft, order } = write;
  try {
    const { edits, desired: after } = judgeRequest(write, desired);
    if (edits.length === 0) return { verdict: { is: 'unchanged', write }, after };
    return { verdict: { is: 'commit', write, commit: { ...commitText(draft.subject, order), edits } }, after };
  } catch (error) {
    return { verdict: { is: 'refused', write, error }, after: desired };
  }
}

type WriteRequest = Pick<PendingWrite, 'draft' | 'order'>;

/** What a write changes. */
interface JudgedDraft {
  readonly edits: readonly FileEdit[];
  /** The desired state after the write. */
  readonly desired: DesiredState;
  /** Undefined if nothing changes. */
  readonly derivation: FollowedDerivation | undefined;
}

/**
 * Returns the edits of a write and the desired state after it. Throws ServiceError if the write, or this client, is not
 * allowed.
 */
export function judgeRequest(request: WriteRequest, before: DesiredState): JudgedDraft {
  // An earlier write of the batch may have removed the client.
  const refusal = request.order.refusal(registryOf(before));
  if (refusal !== undefined) throw refusal;
  const { draft, order } = request;
  const scope = new Scope(order.by, { desired: () => before, rows: order.recorded });
  requireAccess(request, before, scope);
  const edits = editsOf(draft, before, scope);
  if (edits.length === 0) return { edits, desired: before, derivation: undefined };
  const derivation = desiredAfter(before, edits, draft);
  const { desired } = derivation;
  if (!draft.isRemoval) {
    requireOwnTenant(order.by, fileOf(desired.catalog, draft.address)?.object);
    requireOwnServers(order, desired.candidates.get(draft.address), scope);
  }
  return { edits, desired, derivation };
}

/**
 * Returns the edits of a draft. If it removes an absent object, the error suggests a name.
 */
function editsOf(draft: Draft, before: DesiredState, scope: Scope): readonly FileEdit[] {
  try {
    return draft.edits(before);
  } catch (error) {
    if (!draft.isRemoval || !(error instanceof ServiceError) || error.code !== 'not_found') throw error;
    const [type, name] = splitAddress(draft.address);
    const known = [...before.catalog.files.values()].filter((file) => file.type === type).map((file) => file.name);
    throw notFound(error.message, name, scope.suggested(known));
  }
}

/**
 * Throws unless the client may write the object of a draft, at the version that it names. An object that the client
 * does not see is treated as absent, but its name cannot be used.
 */
function requireAccess({ draft, order }: WriteRequest, before: DesiredState, scope: Scope): void {
  const { address, isRemoval, notThere = '' } = draft;
  if (address === 'tree' && !scope.isWhole) {
    throw new ServiceError('not_allowed', 'This client sees only some objects, so it may not write the tree');
  }
  const isSeen = scope.seesObject(address);
  if (isRemoval && !isSeen) throw new ServiceError('not_found', notThere);
  requireMatch(address, order, isSeen ? blobOf(before, address) : null);
  if (!scope.exists(address)) return;
  if (!isSeen) throw new ServiceError('conflict', `The name of ${address} is taken; this client does not see by what`);
  if (!scope.ownsObject(address)) {
    throw new ServiceError('not_allowed', `${address} has no tenant, so only clients without a tenant may write it`);
  }
}

function requireOwnTenant({ tenant }: Client, object: unknown): void {
  if (tenant === '' || tenantOf(object) === tenant) return;
  const message = `This client may only write objects of its tenant: set "tenant" to "${tenant}", or omit it`;
  throw new ServiceError('not_allowed', message);
}

/**
 * Throws if the write of a limited client takes the name of a server that it does not see, or depends on such a server.
 * With the name, the client would get the existing server and its values (for example while its delete fails). With a
 * dependency, it would prevent the delete of that server.
 */
function requireOwnServers({ by, recorded }: WriteOrder, unit: Unit | undefined, scope: Scope): void {
  if (scope.isWhole || unit === undefined) return;
  const needed = by.tenant === '' ? [] : unit.outside.map(({ server }) => server);
  const hidden = [...unit.nodes.keys(), ...needed].find((name) => recorded?.server(name) && !scope.seesServer(name));
  if (hidden === undefined) return;
  throw new ServiceError('conflict', `The name of the server "${hidden}" is taken; this client does not see by what`);
}

function requireMatch(address: string, { ifMatch, ifNoneMatch = [] }: WriteOrder, oid: string | null): void {
  if (oid !== null && (ifNoneMatch.includes(oid) || ifNoneMatch.includes('*'))) {
    const message = `${address} exists already, which If-None-Match rules out`;
    throw new ServiceError('precondition_failed', message);
  }
  if (ifMatch === undefined || (oid !== null && (ifMatch.includes(oid) || ifMatch.includes('*')))) return;
  const message = `${address} is not the version that If-Match names; read it again`;
  throw new ServiceError('precondition_failed', message);
}

/** Returns the blob of the object's file; null if there is none. */
function blobOf({ catalog }: DesiredState, address: string): string | null {
  return fileOf(catalog, address)?.oid ?? null;
}

interface CommitText {
  readonly author: { readonly name: string; readonly email: string };
  readonly message: string;
}

const NAME_LENGTH_MAX = 80;

/** Returns author and message of a write. Text of the client's record cannot begin another line or header. */
export function commitText(
  subject: string,
  { by, requestId }: { readonly by: Client; readonly requestId: string },
): CommitText {
  const trailers = [`Treeline-Client: ${by.serial}`, `Treeline-Role: ${by.role}`, `Treeline-Request-Id: ${requestId}`];
  return {
    author: { name: authorName(by), email: `${by.serial.toLowerCase()}@client.treeline.invalid` },
    message: `${oneLine(subject)}\n\n${trailers.join('\n')}\n`,
  };
}

function authorName({ description, serial }: Client): string {
  const clean = oneLine(oneLine(description).replace(/[<>]/g, '').slice(0, NAME_LENGTH_MAX));
  // Git refuses a name without a letter or digit.
  return /[\p{L}\p{N}]/u.test(clean) ? clean : `client ${serial}`;
}

/** Replaces control characters, every kind of line end, and unpaired surrogates by spaces. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ').trim();
}
