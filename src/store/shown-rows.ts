// Changes the rows that readers of the embedded store see: all rows of a commit in one step.
import type { Change, RowKind, Rows } from '../model/rows.ts';
import { type Steps, visitAll } from '../model/steps.ts';
import type { RunInSlices } from '../slices.ts';
import type { EqualRows } from './store.ts';
import { type StoreDocument, setRow, type Tables } from './store-document.ts';

interface ShownRowsOptions {
  readonly inSlices: RunInSlices;
  /** More changes than this are made in copies of their tables, which replace them: the step that shows them stays short. */
  readonly changedInPlace: number;
}

/** The rows of a document, as readers see them. */
export class ShownRows {
  readonly #document: Pick<StoreDocument, 'tables'>;
  readonly #options: ShownRowsOptions;
  /** Tables are made that replace the present ones. */
  #isReplacing = false;

  constructor(document: Pick<StoreDocument, 'tables'>, options: ShownRowsOptions) {
    this.#document = document;
    this.#options = options;
  }

  /** Shows changes in the step in which it resolves. One call at a time. */
  async change(changes: readonly Change[]): Promise<void> {
    const document = this.#document;
    if (changes.length <= this.#options.changedInPlace) {
      for (const change of changes) setRow(document.tables, change);
      return;
    }
    this.#isReplacing = true;
    try {
      document.tables = await this.#options.inSlices(changedTables(document.tables, changes));
    } finally {
      this.#isReplacing = false;
    }
  }

  /** Holds an equal row; see Store.replaceEqual. */
  replaceEqual<Kind extends RowKind>(kind: Kind, name: string, { expected, value }: EqualRows<Kind>): void {
    const { tables } = this.#document;
    if (!this.#isReplacing && tables[kind].get(name) === expected) setRow(tables, { kind, name, value });
  }
}

/** Returns work that results in the tables as they are after these changes. The given ones stay as they are. */
function* changedTables(tables: Tables, changes: readonly Change[]): Steps<Tables> {
  const changed = { ...tables };
  for (const kind of new Set(changes.map((change) => change.kind))) yield* copyTable(changed, kind);
  yield* visitAll(changes, (change) => setRow(changed, change));
  return changed;
}

function* copyTable<Kind extends RowKind>(
  tables: { -readonly [Each in RowKind]: Tables[Each] },
  kind: Kind,
): Steps<void> {
  const copy: Map<string, Rows[Kind]> = new Map();
  yield* visitAll(tables[kind], ([name, row]) => copy.set(name, row));
  Object.assign(tables, { [kind]: copy });
}
