// Knows which record each node has fetched and confirmed. Each replica notes fetches in memory; the leader, which is told of those at others,
// records them from time to time, and confirmations at once. It alone writes these rows. See docs/concepts.md, delivered.

import type { Breathe } from '../../base/breathe.ts';
import type { Clock } from '../../base/clock.ts';
import { isSameList } from '../../base/lists.ts';
import { shortDigest } from '../../base/short-digest.ts';
import { momentOf } from '../../base/wording.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { factsOf, nodeAtMoment, nodeOf, unitOfNode } from '../../desired/node-records.ts';
import {
  type Confirmation,
  type PresentRecord,
  withConfirmation,
  withFetch,
  withPresent,
} from '../../machine/delivery.ts';
import { fitsProxy, proxyTagsOf } from '../../machine/responsibility.ts';
import { tenantOf } from '../../model/least-rights.ts';
import type { Client } from '../../model/objects.ts';
import type { Change, DeliveryRow, RecordMark } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Ledger } from '../../reconcile/ledger.ts';
import type { Caller } from '../caller.ts';
import { unknownNode } from '../refusals.ts';
import { Scope } from '../scope.ts';
import type { RowsAtMoment } from '../views.ts';

interface DeliveriesOptions {
  readonly ledger: Ledger;
  /** Holds the active desired state. */
  readonly current: { readonly get: () => DesiredState | undefined };
  readonly clock: Pick<Clock, 'now'>;
  readonly breathe: Breathe;
}

/** So many rows are written in one commit. */
const ROWS_A_COMMIT = 200;
/** Longer messages of consumers are cut. */
const MESSAGE_LENGTH_MAX = 300;

/** Returns the row of a node that is to be written; the same one where nothing changes, null where there is to be none. */
type Decide = (row: DeliveryRow | undefined, present: PresentRecord | undefined) => DeliveryRow | null | undefined;

interface Asked {
  readonly node: string;
  readonly decide: Decide;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A fetch that is not recorded yet, and the record that it brought. */
interface Noted extends RecordMark {
  readonly seen: PresentRecord;
}

/** The fetches and confirmations of records. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  /** The last fetch of each node that its row does not have. */
  readonly #noted = new Map<string, Noted>();
  readonly #asked: Asked[] = [];
  #writing: Promise<void> | undefined;
  /** What was followed when all records were compared last, and when that began. */
  #compared: { readonly commit: string; readonly at: number } | undefined;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /**
   * Notes that a client has fetched the record of a node, where it is one of that node. Returns true where the leader is to be told: the row
   * does not say so, and this was not noted before.
   */
  noteFetch(by: Client, node: string, digest: string): boolean {
    if (!maySpeakForNodes(by)) return false;
    const { ledger, current } = this.#options;
    if (this.#noted.get(node)?.digest === digest) return false;
    const desired = current.get();
    if (desired === undefined || !isOf(by, node, { desired, rows: ledger })) return false;
    if (ledger.read('delivery', node)?.fetched?.digest === digest) {
      this.#noted.delete(node);
      return false;
    }
    const present = this.#present(node);
    if (present === undefined) return false;
    this.#noted.set(node, { digest, by: by.serial, time: present.time, seen: { ...present, digest } });
    return true;
  }

  /** Has the next fetch of a node noted again: the leader could not be told of the last one. */
  forgetFetch(node: string): void {
    this.#noted.delete(node);
  }

  /**
   * Records what a consumer says of a record of a node, and returns the answer. Throws ServiceError `not_allowed` unless the client is one
   * of that node, `not_found` where there is no such node.
   */
  async confirm({ by, refusal }: Caller, node: string, told: Pick<Confirmation, 'digest' | 'outcome' | 'message'>) {
    const { ledger, current, clock } = this.#options;
    const time = momentOf(clock.now());
    const message = told.message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed();
    let isPresent = false;
    await this.#change(node, (row, present) => {
      const refused = refusal();
      if (refused !== undefined) throw refused;
      const desired = current.get();
      if (desired === undefined) throw new ServiceError('not_ready', 'No commit is followed yet; try again');
      const view = { desired, rows: ledger, now: clock.now() };
      if (!isOf(by, node, view)) throw notOfNode(node);
      if (present === undefined) return unknownNode(view, node, new Scope(by, { ...view, desired: () => desired }));
      isPresent = present.digest === told.digest;
      return withConfirmation(this.#withNoted(node, row, present), { ...told, message, by: by.serial, time }, present);
    });
    const which = isPresent ? 'its present record' : 'an older record than its present one';
    return `${node}: ${told.outcome === 'noop' ? 'nothing was to be applied of' : told.outcome} ${which}`;
  }

  /** Records the fetches that were noted, and which records are former ones by now; forgets nodes that are gone, and those of no client. */
  async record(): Promise<void> {
    const { current, clock } = this.#options;
    const desired = current.get();
    if (desired === undefined) return;
    const at = clock.now();
    const changed = await this.#findChanged(desired);
    await Promise.all(changed.map((node) => this.#change(node, this.#refresh(node))));
    this.#compared = { commit: desired.commit, at };
  }

  async #findChanged(desired: DesiredState): Promise<readonly string[]> {
    const view = { desired, rows: this.#options.ledger };
    const changed = new Set(this.#noted.keys());
    for (const [node, row] of [...view.rows.list('delivery')]) {
      const present = presentRecord(view, node);
      const isSame = present?.digest === row.records[0].digest && present.incarnation === row.incarnation;
      if (!isSame || !isSpokenFor(node, view)) changed.add(node);
      await this.#options.breathe();
    }
    return [...changed];
  }

  #refresh(node: string): Decide {
    return (row, present) => {
      const desired = this.#options.current.get();
      if (present === undefined || desired === undefined) return null;
      return isSpokenFor(node, { desired, rows: this.#options.ledger }) ? this.#withNoted(node, row, present) : null;
    };
  }

  #withNoted(node: string, row: DeliveryRow | undefined, present: PresentRecord): DeliveryRow | undefined {
    const noted = this.#noted.get(node);
    if (noted === undefined) return row;
    const { digest, by, time, seen } = noted;
    return withFetch(row, { digest, by, time }, { seen, present });
  }

  /** Writes the row that `decide` returns for a node, and those of others with it. Rejects with what `decide` throws. */
  #change(node: string, decide: Decide): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#asked.push({ node, decide, resolve, reject });
    this.#writing ??= this.#write();
    return promise;
  }

  async #write(): Promise<void> {
    // What is asked in the same turn is written with it.
    await Promise.resolve();
    while (this.#asked.length > 0) {
      const decided: Asked[] = [];
      const rows = new Map<string, DeliveryRow | null | undefined>();
      for (const asked of this.#asked.splice(0, ROWS_A_COMMIT)) {
        try {
          rows.set(asked.node, this.#decide(asked, rows));
          decided.push(asked);
        } catch (error) {
          asked.reject(error);
        }
      }
      await this.#commit(rows, decided);
    }
    this.#writing = undefined;
  }

  #decide({ node, decide }: Asked, rows: ReadonlyMap<string, DeliveryRow | null | undefined>) {
    const row = rows.has(node) ? rows.get(node) : this.#options.ledger.read('delivery', node);
    const present = this.#present(node);
    if (row == null || present === undefined) return decide(row ?? undefined, present);
    const { commit, at } = this.#compared ?? { at: Number.NEGATIVE_INFINITY };
    const isCompared = Date.parse(row.records[0].since) <= at;
    return decide(withPresent(row, present, isCompared ? commit : undefined), present);
  }

  async #commit(rows: ReadonlyMap<string, DeliveryRow | null | undefined>, decided: readonly Asked[]): Promise<void> {
    const { ledger } = this.#options;
    const changes: Change[] = [];
    for (const [name, value = null] of rows) {
      const expected = ledger.read('delivery', name);
      if (value !== (expected ?? null)) changes.push({ kind: 'delivery', name, value, expected });
    }
    try {
      if (changes.length > 0) await ledger.commit(changes);
      for (const [node, row] of rows) this.#forgetNoted(node, row);
      for (const { resolve } of decided) resolve();
    } catch (error) {
      for (const { reject } of decided) reject(error);
    }
  }

  /** A later one stays noted. */
  #forgetNoted(node: string, row: DeliveryRow | null | undefined): void {
    const noted = this.#noted.get(node);
    if (noted === undefined) return;
    const isRecorded = row?.fetched?.digest === noted.digest && row.fetched.by === noted.by;
    if (row == null || isRecorded) this.#noted.delete(node);
  }

  #present(node: string): PresentRecord | undefined {
    const { ledger, current, clock } = this.#options;
    const desired = current.get();
    const present = desired && presentRecord({ desired, rows: ledger }, node);
    return present && { ...present, commit: desired.commit, time: momentOf(clock.now()) };
  }
}

/** What records are made of at a moment. */
interface RecordView {
  readonly desired: DesiredState;
  readonly rows: Pick<RowsAtMoment, 'server' | 'read' | 'list'>;
}

interface KnownRecord {
  readonly digest: string;
  readonly tags: readonly string[];
  /** What it was made of beside the node: the same while the record is. */
  readonly facts: readonly unknown[];
}

/** By the node of a desired state, or the last record of an unwanted server: most commits change few of them. */
const known = new WeakMap<object, KnownRecord>();

/** Returns the digest of the record of a node, and the proxy tags in it; undefined where it has none. Unchanged ones are not built again. */
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

/** Tells whether a client speaks for some node: most do not, and nothing is looked up for them. */
export function maySpeakForNodes({ role, node }: Client): boolean {
  return node !== undefined || role === 'proxy';
}

/** Throws ServiceError `not_allowed` for a client that may confirm no record, or none but that of another node. */
export function requireConsumer(client: Client, node: string): void {
  const isOfOther = client.node !== undefined && client.node !== node;
  if (!maySpeakForNodes(client) || client.writes === 'none' || isOfOther) throw notOfNode(node);
}

/** Tells whether a client speaks for a node: it is bound to it, or a proxy with one of its tags. One of a tenant does for its tenant's alone. */
function isOf({ role, tenant, node: own, tags = [] }: Client, node: string, view: RecordView): boolean {
  const unit = unitOfNode(view.desired, node);
  if (tenant !== '' && unit !== undefined && tenantOf(unit.entry.object) !== tenant) return false;
  if (own !== undefined || role !== 'proxy') return own === node;
  const present = presentRecord(view, node);
  return present !== undefined && fitsProxy(present.tags, tags);
}

interface Speakers {
  readonly nodes: ReadonlySet<string>;
  /** The tags of proxies, each list once. */
  readonly tags: readonly (readonly string[])[];
}

const speakers = new WeakMap<DesiredState['clients'], Speakers>();

/** Tells whether some registered client speaks for a node. Where none does, nobody tells of the node any more. */
function isSpokenFor(node: string, view: RecordView): boolean {
  const { clients } = view.desired;
  const { nodes, tags } = speakers.get(clients) ?? speakersIn(clients);
  const present = presentRecord(view, node);
  return present !== undefined && (nodes.has(node) || tags.some((own) => fitsProxy(present.tags, own)));
}

function speakersIn(clients: DesiredState['clients']): Speakers {
  const all = [...clients.values()].flatMap(({ entry }) => entry.object ?? []);
  const nodes = new Set(all.flatMap(({ node }) => node ?? []));
  const proxies = all.filter(({ role, node }) => role === 'proxy' && node === undefined);
  const tags = new Map(proxies.map(({ tags: own = [] }) => [JSON.stringify(own), own]));
  const made = { nodes, tags: [...tags.values()] };
  speakers.set(clients, made);
  return made;
}

/** Returns the refusal of a client that speaks for other nodes, or for none. */
export function notOfNode(node: string): ServiceError {
  const message = `Only the client of ${node}, and proxies with one of its tags, may say what was applied of its record`;
  return new ServiceError('not_allowed', message);
}
