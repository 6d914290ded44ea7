// Compares a desired state with the recorded servers of a running controller: the remaining work for each server, also
// from earlier commits.
import { isRetaining, type Unit } from '../desired/unit.ts';
import { needsNoAction } from '../machine/existence.ts';
import { withOutputs } from '../machine/want.ts';
import { instanceAddress } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { Spec, WantedServer } from '../model/spec.ts';
import { changedProperties, type IsSecret, shownProperties, unknownProperties } from './changed-properties.ts';
import type { RetainedServer, ServerChange } from './plan.ts';
import { type RecordedFacts, recordedOutputs } from './recorded-facts.ts';
import type { ServerChanges } from './server-changes.ts';

interface ComparedServers {
  readonly recorded: readonly RecordedFacts[];
  /** Active units by address. */
  readonly after: ReadonlyMap<string, Unit>;
  /** The changes from the currently wanted servers, with reason and line. */
  readonly merge: ServerChanges;
  readonly isSecret: IsSecret;
}

/** Returns the remaining changes of servers after the desired state is active. */
export function recordedChanges({ recorded, after, merge, isSecret }: ComparedServers): ServerChanges {
  const wanted = new Map<string, WantedServer>();
  for (const { servers } of after.values()) for (const [name, server] of servers) wanted.set(name, server);
  const rows = new Map(recorded.map((server) => [server.name, server]));
  const explained = new Map([...merge.changes, ...merge.retained].map((change) => [change.resource, change]));
  const changes: ServerChange[] = [];
  const retained: RetainedServer[] = [];
  const facts = recordedOutputs(recorded);
  for (const name of [...new Set([...wanted.keys(), ...rows.keys()])].sort(compareNames)) {
    const [written, row] = [wanted.get(name), rows.get(name)];
    const server = written && withOutputs(written, row, facts);
    const left = wasApplied(row) ? leftToChange(server, row) : leftToMake(server, row);
    if (left === undefined) continue;
    const { instance, key: group } = server ?? row ?? { instance: '', key: '' };
    const { reason, file, line } = explained.get(name) ?? { reason: left.reason, file: null, line: null };
    const change = { resource: name, instance, group, reason, file, line };
    if (left.action === 'delete' && row !== undefined && isLeft(row, after)) retained.push(change);
    else changes.push({ action: left.action, ...change, properties: propertiesOf(left, { server, row, isSecret }) });
  }
  return { changes, retained };
}

interface LeftToDo {
  readonly action: ServerChange['action'];
  /** The reason if the merge does not change the server. */
  readonly reason: string;
}

const UNWANTED: LeftToDo = { action: 'delete', reason: 'no commit wants the server any more' };

function wasApplied(row: RecordedFacts | undefined): row is RecordedFacts {
  return row !== undefined && row.provider !== null && row.applied !== null;
}

/** Returns the remaining create or, for an unwanted server, the delete of a server that may exist. */
function leftToMake(server: WantedServer | undefined, row: RecordedFacts | undefined): LeftToDo | undefined {
  if (server === undefined) return row?.mayExist === true ? UNWANTED : undefined;
  return {
    action: 'create',
    reason: row === undefined ? 'the server is not recorded yet' : 'the server does not exist yet',
  };
}

function leftToChange(
  server: WantedServer | undefined,
  { state, applied, dirty, replacing }: RecordedFacts,
): LeftToDo | undefined {
  if (server === undefined) return UNWANTED;
  const isSame = applied !== null && needsNoAction(server.spec, applied);
  // A running delete is not cancelled.
  if (state === 'deleting' && !replacing)
    return { action: 'replace', reason: 'the server is being deleted, and is created again' };
  if (replacing) return { action: 'replace', reason: 'the server is being replaced' };
  if (dirty) return { action: 'update', reason: 'the last action on the server has not succeeded' };
  return isSame ? undefined : { action: 'update', reason: 'the server does not have the wanted spec yet' };
}

function isLeft({ instance, deletion }: RecordedFacts, after: ComparedServers['after']): boolean {
  return deletion === 'retain' || isRetaining(after.get(instanceAddress(instance)));
}

interface Compared {
  readonly server: WantedServer | undefined;
  readonly row: RecordedFacts | undefined;
  readonly isSecret: IsSecret;
}

function propertiesOf({ action }: LeftToDo, { server, row, isSecret }: Compared): ServerChange['properties'] {
  const applied: Spec | null | undefined = row?.applied;
  if (action === 'create' && server !== undefined) return unknownProperties(server.spec);
  if (action === 'create' || action === 'delete' || server === undefined || applied == null) return {};
  return shownProperties(changedProperties(applied, server.spec), isSecret);
}
