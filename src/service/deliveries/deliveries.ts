// Records which record each node confirmed last. Only the leader writes these rows. See docs/concepts.md, delivered.

import type { Clock } from '../../base/clock.ts';
import { isSameList } from '../../base/lists.ts';
import { Shares } from '../../base/shares.ts';
import { shortDigest } from '../../base/short-digest.ts';
import { toRfc3339 } from '../../base/wording.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { factsOf, nodeAtMoment, nodeOf, unitOfNode } from '../../desired/node-records.ts';
import { fitsProxy, proxyTagsOf } from '../../machine/responsibility.ts';
import { tenantOf } from '../../model/least-rights.ts';
import type { Client } from '../../model/objects.ts';
import type { Change, DeliveryRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Ledger } from '../../reconcile/ledger.ts';
import { type Caller, registryOf } from '../caller.ts';
import { unknownNode } from '../refusals.ts';
import { Scope } from '../scope.ts';
import type { PresentRows } from '../views.ts';

interface DeliveriesOptions {
  readonly ledger: Ledger;
  /** The active desired state. */
  readonly current: { readonly get: () => DesiredState | undefined };
  readonly clock: Pick<Clock, 'now'>;
}

/** Longer messages of consumers are cut. */
const MESSAGE_LENGTH_MAX = 300;

/** What a consumer reports of a record. */
type Confirmation = Pick<DeliveryRow, 'digest' | 'outcome' | 'message'>;

/** The confirmations of records. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  /** By node: the confirmations of one node are written one after another. */
  readonly #writes = new Shares({ ofClient: 1, waitingOfClient: 10 });

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /**
   * Records the confirmation of a consumer, and returns the answer. Throws ServiceError `not_allowed` if the client may
   * not confirm for the node, `not_found` if there is no such node.
   */
  confirm(caller: Caller, node: string, confirmation: Confirmation): Promise<string> {
    return this.#writes.run(node, () => this.#confirm(caller, node, confirmation));
  }

  async #confirm({ by, refusal }: Caller, node: string, { digest, outcome, message }: Confirmation): Promise<string> {
    const { ledger, current, clock } = this.#options;
    const refused = refusal();
    if (refused !== undefined) throw refused;
    const desired = current.get();
    if (desired === undefined) throw new ServiceError('not_ready', 'No commit is followed yet; try again');
    const view = { desired, rows: ledger, now: clock.now() };
    if (!isOf(by, node, view)) throw notOfNode(node);
    const present = presentRecord(view, node);
    if (present === undefined) return unknownNode(view, node, new Scope(by, { ...view, desired: () => desired }));
    const isPresent = present.digest === digest;
    const expected = ledger.read('delivery', node);
    const value = afterConfirmation(expected, {
      digest,
      outcome,
      by: by.serial,
      time: toRfc3339(view.now),
      incarnation: present.incarnation,
      message: message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed(),
      commit: isPresent ? desired.commit : null,
    });
    if (value !== expected) await ledger.commit([{ kind: 'delivery', name: node, value, expected }]);
    const which = isPresent ? 'its current record' : 'an older record';
    return `${node}: ${outcome === 'noop' ? 'nothing was to be applied of' : outcome} ${which}`;
  }
}

/** Returns the row to keep: the same row if the confirmation repeats it. */
function afterConfirmation(row: DeliveryRow | undefined, confirmed: DeliveryRow): DeliveryRow {
  if (row === undefined || row.digest !== confirmed.digest || row.incarnation !== confirmed.incarnation)
    return confirmed;
  // A run in noop mode does not replace the outcome of a real run.
  const isKnown =
    confirmed.outcome === 'noop' || (row.outcome === confirmed.outcome && row.message === confirmed.message);
  return isKnown ? row : confirmed;
}

/** Returns the changes that remove the rows of nodes that are gone or whose client is no longer registered. */
export function forgottenDeliveries(rows: PresentRows, desired: DesiredState): readonly Change[] {
  const isRegistered = registryOf(desired);
  return [...rows.list('delivery')].flatMap(([name, expected]): Change[] => {
    const isThere = (rows.server(name) ?? nodeOf(desired, name)) !== undefined;
    if (isThere && isRegistered(expected.by) !== undefined) return [];
    return [{ kind: 'delivery', name, value: null, expected }];
  });
}

/** The sources of records. */
interface RecordView {
  readonly desired: DesiredState;
  readonly rows: Pick<PresentRows, 'server' | 'read' | 'list'>;
}

interface KnownRecord {
  readonly digest: string;
  readonly tags: readonly string[];
  /** The sources of the record other than the node. If these are the same, so is the record. */
  readonly facts: readonly unknown[];
}

/** Key: the node of a desired state, or the last record of an unwanted server. Most commits change few of them. */
const known = new WeakMap<object, KnownRecord>();

/**
 * Returns the digest of a node's record, and the proxy tags in it; undefined if the node has no record. An unchanged
 * record is not built again.
 */
export function presentRecord(view: RecordView, name: string) {
  const { desired, rows } = view;
  const server = rows.server(name);
  const key = nodeOf(desired, name) ?? server?.lastRecord;
  if (key == null) return undefined;
  const { outputs, properties, updated } = factsOf(server ?? rows.read('node', name));
  const facts = [outputs, properties, updated];
  let record = known.get(key);
  if (record === undefined || !isSameList(record.facts, facts)) {
    const made = nodeAtMoment(view, name)?.record();
    if (made === undefined) return undefined;
    const digest = shortDigest(JSON.stringify(made));
    record = { digest, tags: proxyTagsOf(made), facts };
    known.set(key, record);
  }
  return { digest: record.digest, tags: record.tags, incarnation: server?.incarnation ?? 0 };
}

/** Returns whether a client may confirm for any node. Most may not, so the lookup of the node is skipped. */
function maySpeakForNodes({ role, node }: Client): boolean {
  return node !== undefined || role === 'proxy';
}

/** Throws ServiceError `not_allowed` for a client that may not confirm any record, or only that of another node. */
export function requireConsumer(client: Client, node: string): void {
  const isOfOther = client.node !== undefined && client.node !== node;
  if (!maySpeakForNodes(client) || client.writes === 'none' || isOfOther) throw notOfNode(node);
}

/**
 * Returns whether a client may confirm for a node: it is bound to the node, or is a proxy with one of the node's tags.
 * A client of a tenant may only confirm for nodes of that tenant.
 */
function isOf({ role, tenant, node: own, tags = [] }: Client, node: string, view: RecordView): boolean {
  const unit = unitOfNode(view.desired, node);
  if (tenant !== '' && unit !== undefined && tenantOf(unit.entry.object) !== tenant) return false;
  if (own !== undefined || role !== 'proxy') return own === node;
  const present = presentRecord(view, node);
  return present !== undefined && fitsProxy(present.tags, tags);
}

/** Returns the refusal of a client that may not confirm for this node. */
export function notOfNode(node: string): ServiceError {
  const message = `Only the client of ${node}, and proxies with one of its tags, may say what was applied of its record`;
  return new ServiceError('not_allowed', message);
}
