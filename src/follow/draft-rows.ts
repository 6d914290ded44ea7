// The rows as the commits that come at once make them, before they are written: only the sum of their changes is, so no action
// starts for one in between.

import { type CommitStamp, wantRow } from '../machine/want.ts';
import type { Change, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { RowIndex } from '../reconcile/row-index.ts';
import type { ServerRowChange } from './hold-rows.ts';
import { type Sum, sumChanges } from './sync.ts';

/** The rows that following a commit reads. */
export type RowView = Pick<Ledger, 'read' | 'list' | 'server' | 'index' | 'rowBytes'>;

/** The rows as they will be once changes are written that are not written yet. */
export class DraftRows implements RowView {
  readonly #ledger: Ledger;
  /** The kinds that have changes, each with all of its rows. */
  readonly #tables = new Map<RowKind, Map<string, Rows[RowKind]>>();
  readonly #changed = new Map<string, Change>();
  readonly #index = new RowIndex();
  #rowBytes: number;

  /** Takes the servers as they are: before the exclusive section, rows change while steps are walked. */
  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.#rowBytes = ledger.rowBytes;
    this.#tables.set('server', new Map(ledger.list('server')));
  }

  /** Builds the index. */
  fill(): void {
    for (const [name, row] of this.list('server')) this.#index.follow(name, undefined, row);
  }

  get index(): Ledger['index'] {
    return this.#index;
  }

  /** An estimate: the store counts a little more for each row. */
  get rowBytes(): number {
    return this.#rowBytes;
  }

  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined {
    return this.list(kind).get(name);
  }

  server(name: string): ServerRow | undefined {
    return this.read('server', name);
  }

  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> {
    return (this.#tables.get(kind) ?? this.#ledger.list(kind)) as ReadonlyMap<string, Rows[Kind]>;
  }

  /** Has the changes in the rows from now on. A server that came and is not wanted any more is not known yet. */
  apply(changes: readonly Change[]): void {
    for (const change of changes) {
      const { kind, name } = change;
      const isGone =
        change.kind === 'server' && change.value?.wanted === null && !this.#ledger.list('server').has(name);
      const value = isGone ? null : change.value;
      this.#rowBytes += bytesOf(value) - bytesOf(this.read(kind, name));
      if (change.kind === 'server')
        this.#index.follow(name, this.server(name), isGone ? undefined : (change.value ?? undefined));
      const table = this.#tables.get(kind) ?? new Map<string, Rows[RowKind]>(this.#ledger.list(kind));
      this.#tables.set(kind, table);
      if (value === null) table.delete(name);
      else table.set(name, value);
      const key = `${kind}/${name}`;
      this.#changed.set(key, { kind, name, value, expected: (this.#changed.get(key) ?? change).expected } as Change);
    }
  }

  /** Returns the changes from the rows that are written. What came and went, or was changed back, is none. */
  changes(sum: Sum): readonly Change[] {
    const stamp = { ...sum.as, now: sum.now };
    const servers = [...this.#changed.values()].flatMap((change) =>
      change.kind === 'server' && change.value !== null ? [asOneChange({ ...change, value: change.value }, stamp)] : [],
    );
    this.apply(sumChanges({ store: this.#ledger, draft: this }, servers, sum));
    const isEmpty = ({ kind, name }: Change): boolean => kind === 'terminating' && !this.#index.hasServers(name);
    return [...this.#changed.values()]
      .map((change) => (isEmpty(change) ? ({ ...change, value: null } as Change) : change))
      .filter(({ kind, expected, value }) =>
        kind === 'server' ? (expected ?? null) !== value : JSON.stringify(expected ?? null) !== JSON.stringify(value),
      );
  }
}

/** Returns the change of a server that is wanted before and after as if one commit made it: no action ran in between. */
function asOneChange(change: ServerRowChange, stamp: CommitStamp): ServerRowChange {
  const { name, expected, value } = change;
  if (value.wanted === null || expected?.wanted == null || value.approved || expected.approved) return change;
  return { ...change, value: wantRow(expected, { ...value, name, spec: value.wanted }, stamp) };
}

function bytesOf(row: Rows[RowKind] | null | undefined): number {
  return row == null ? 0 : JSON.stringify(row).length;
}
