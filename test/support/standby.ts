// A standby beside a leader, for tests: a store that shows what the leader's has when it is asked to, as one over a shared database does,
// with the ledger, the desired state and the reads upon it.

import { withoutPause } from '../../src/base/breathe.ts';
import type { Clock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { CurrentState } from '../../src/follow/current-state.ts';
import { Follower } from '../../src/follow/follower.ts';
import { StandbyFollower } from '../../src/follow/standby-follower.ts';
import type { Change, RowKind, Rows } from '../../src/model/rows.ts';
import { CommitGate } from '../../src/reconcile/commit-gate.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { Reviews } from '../../src/reconcile/reviews.ts';
import { stallsIn } from '../../src/reconcile/waits/wait-graph.ts';
import type { Source } from '../../src/repository/source.ts';
import { createReader, type Reader } from '../../src/service/read/reader.ts';
import { ROW_KINDS } from '../../src/store/row-json.ts';
import type { Store } from '../../src/store/store.ts';
import { MemoryStore } from './memory-store.ts';

/** Shows what another store has, in copies, once it is asked to. */
export class MirrorStore extends MemoryStore {
  readonly #leader: () => Pick<Store, 'list'>;
  readonly #seen = new Map<string, Rows[RowKind]>();
  #follow: (changes: readonly Change[]) => Promise<void> = async () => undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(leader: () => Pick<Store, 'list'>) {
    super();
    this.#leader = leader;
  }

  watchOthers(follow: (changes: readonly Change[]) => Promise<void>): void {
    this.#follow = follow;
  }

  refresh(): Promise<void> {
    const turn = this.#last.then(() => this.#refresh());
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #refresh(): Promise<void> {
    const found = ROW_KINDS.flatMap((kind) => this.#changesOf(kind));
    if (found.length === 0) return;
    const changes = found.map(({ change }) => change);
    for (const { key, row } of found) {
      if (row === undefined) this.#seen.delete(key);
      else this.#seen.set(key, row);
    }
    await super.commit(changes);
    await this.#follow(changes);
  }

  #changesOf(kind: RowKind): readonly { key: string; row: Rows[RowKind] | undefined; change: Change }[] {
    const rows = this.#leader().list(kind);
    return [...new Set([...rows.keys(), ...this.list(kind).keys()])].flatMap((name) => {
      const row = rows.get(name);
      const key = `${kind}/${name}`;
      if (row === this.#seen.get(key)) return [];
      const value = row === undefined ? null : JSON.parse(JSON.stringify(row));
      return [{ key, row, change: { kind, name, value, expected: this.read(kind, name) } as Change }];
    });
  }
}

/** Returns the reads of a process. */
function readsOf(
  { ledger, current }: { readonly ledger: Ledger; readonly current: CurrentState },
  clock: Clock,
): Reader {
  return createReader({
    desired: () => current.get(),
    refused: () => current.refused,
    rows: ledger,
    now: () => clock.now(),
    notReadyReason: () => '',
    desiredVersion: () => current.version,
    stallsOf: stallsIn(ledger, clock),
  });
}

/** The parts of a standby, which looks every second. */
export class Standby<Shared extends Store & { refresh(): Promise<void> } = MirrorStore> {
  readonly store: Shared;
  readonly ledger: Ledger;
  readonly current: CurrentState;
  readonly follower: StandbyFollower;
  readonly reader: Reader;
  readonly lines: string[] = [];

  constructor(shared: Shared, { source, clock }: { readonly source: Source; readonly clock: Clock }) {
    this.store = shared;
    this.ledger = new Ledger(this.store, withoutPause);
    this.current = new CurrentState();
    const { ledger, current, store } = this;
    this.follower = new StandbyFollower({
      ledger,
      current,
      source,
      clock,
      breathe: withoutPause,
      refresh: () => store.refresh(),
      log: createLog('info', { write: (line) => this.lines.push(line) }),
    });
    this.reader = readsOf(this, clock);
  }
}

/** Has a process lead that has this ledger. Returns its follower, and the servers that it has examined. */
export function lead(
  { ledger, current }: { readonly ledger: Ledger; readonly current: CurrentState },
  { source, clock, write }: { readonly source: Source; readonly clock: Clock; readonly write?: (line: string) => void },
): { readonly follower: Follower; readonly examined: ReadonlySet<string> } {
  const examined = new Set<string>();
  const enqueue = (names: Iterable<string>): void => {
    for (const name of names) examined.add(name);
  };
  const follower = new Follower({
    ledger,
    current,
    source,
    clock,
    breathe: withoutPause,
    triggers: [],
    log: createLog('info', { write: write ?? (() => undefined) }),
    gate: new CommitGate(),
    reviews: new Reviews(ledger.list('approval').size > 0),
    reconciler: { enqueue },
    deleteBudget: { percent: 0, least: 2, most: 2 },
  });
  follower.start();
  return { follower, examined };
}

/** Returns the answers of all reads, or what they throw. */
export function allReads(reader: Reader): unknown {
  const answers = (): unknown => {
    const instances = reader.instances();
    return {
      commit: reader.commit(),
      instances: instances.map(({ name }) => [reader.instance(name), reader.status(name), reader.statusFull(name)]),
      listed: instances,
      templates: reader.templates().map(({ name }) => reader.template(name)),
      clients: reader.clients(undefined).map(({ serial }) => reader.client(serial)),
      objects: [...reader.objects('all')],
      typed: [...reader.objects('all')].map(({ type, name }) => reader.object(String(type), String(name))),
      tree: reader.tree(),
      nodes: reader.nodes().map((node) => [node.name, node.record(), node.explained()]),
    };
  };
  return { answers: orError(answers), client: reader.registered('A1') };
}

function orError(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === undefined) throw error;
    return { code };
  }
}
