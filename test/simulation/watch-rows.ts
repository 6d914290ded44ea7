// Watches the recorded rows: writes change something, what counts against the budget is what nobody approved, and a crash
// loses nothing.

import { reasonText } from '../../src/machine/reasons.ts';
import type { Change, ServerRow } from '../../src/model/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { EXITS, exitKeyOf } from '../reconcile/exits.ts';
import { siteOfRow } from './build-sites.ts';
import { validShape } from './edit-files.ts';
import { serversOf } from './stacks.ts';
import type { DriftWatch } from './watch-drift.ts';
import type { World } from './world.ts';

/** No write takes longer. */
const JUST_NOW_MS = 1_000;

interface RowWatchOptions {
  /** Whether the delete of an incarnation, `<server>/<incarnation>`, began with an approval. */
  readonly isApproved: (incarnation: string) => boolean;
  /** A server that is wanted again, and of which no delete runs, needs another approval to go. */
  readonly forgetApproval: (server: string, incarnation: number) => void;
  readonly drift: DriftWatch;
  /** Called for each server that an operator has had forgotten. */
  readonly onRetained: (server: string) => void;
  /** Called for each server that another site took over, as an operator asked. */
  readonly onMoved: (server: string) => void;
}

export class RowWatch {
  readonly #world: World;
  readonly #of: RowWatchOptions;
  #store: Store | undefined;

  constructor(world: World, of: RowWatchOptions) {
    this.#world = world;
    this.#of = of;
  }

  /** Returns the store with every commit watched. */
  watched(store: Store): Store {
    this.#store = store;
    return {
      read: (kind, name) => store.read(kind, name),
      list: (kind) => store.list(kind),
      events: (range) => store.events(range),
      commit: async (changes, events) => {
        await store.commit(changes, events);
        for (const change of changes) this.#note(change);
      },
      get failure() {
        return store.failure;
      },
      close: () => store.close(),
    };
  }

  /** Every row, as text: what a crash must not lose. */
  image(): Map<string, string> {
    const rows = new Map<string, string>();
    for (const kind of [
      'head',
      'server',
      'held',
      'approval',
      'removal',
      'suspension',
      'acknowledgement',
      'pinned',
      'terminating',
    ] as const) {
      for (const [name, row] of this.#store?.list(kind) ?? []) rows.set(`${kind} ${name}`, JSON.stringify(row));
    }
    return rows;
  }

  #note(change: Change): void {
    const { name, value, expected } = change;
    if (change.kind === 'server') {
      const exit = change.value === null ? 'done/-/wanted' : exitKeyOf(change.value);
      if (!Object.hasOwn(EXITS, exit))
        this.#world.fail('a way out is known of every state and reason', `${name}: ${exit}`);
      this.#tellStep(name, change.expected, change.value);
      this.#of.drift.noteRow(name, change.expected, change.value);
      if (change.value === null && change.expected?.policy.deletion === 'retain') this.#of.onRetained(name);
      if (isMoved(change.expected, change.value)) this.#of.onMoved(name);
      const { value: after, expected: before } = change;
      if (after !== null && (after.wanted !== null || this.#wasWantedBetween(name, before, after)))
        if (after.action?.operation !== 'delete') this.#of.forgetApproval(name, after.incarnation);
    }
    if (
      change.kind === 'approval' &&
      (change.value?.what === 'deletes' || change.value?.what === 'unreadable') &&
      expected === undefined
    )
      this.#watchYes(name);
    if (change.kind === 'approval' && change.value?.what === 'requested delete') this.#noteDelete(change.value.reason);
    if (change.kind === 'removal' && value !== null && expected === undefined) this.#watchRemoval(name);
    // An operator who approves the same twice in one millisecond, with a restart between, is answered twice.
    const isAskedAgain =
      change.kind === 'approval' && this.#world.wall.now() - Date.parse(change.value?.time ?? '') < JUST_NOW_MS;
    if (value !== null && expected !== undefined && !isAskedAgain && isSameRow(value, expected)) {
      this.#world.fail(
        'the store is written no more than the changes need',
        `${change.kind} ${name} was written as it was`,
      );
    }
  }

  #tellStep(name: string, before: ServerRow | undefined, after: ServerRow | null): void {
    const from = before?.state ?? 'nothing';
    const to =
      after === null ? 'forgotten' : `${after.state}${after.reason === null ? '' : ` (${reasonText(after.reason)})`}`;
    if (from !== to) this.#world.tell('row', () => `${name}: ${from} -> ${to}`);
  }

  /** Of commits that are followed at once, one may want a server again that the next one takes away: the rows tell their sum. */
  #wasWantedBetween(name: string, before: ServerRow | undefined, { commit, instance }: ServerRow): boolean {
    if (before === undefined || before.wanted !== null || before.commit === commit) return false;
    const line = this.#world.git.firstParents(commit);
    const since = line.findIndex(({ oid }) => oid === before.commit);
    return line.slice(1, Math.max(since, 1)).some(({ files }) => {
      const shape = validShape(files, instance);
      return shape !== undefined && serversOf(shape).includes(name);
    });
  }

  /** Rows of what is held change only while nobody else writes. */
  #watchYes(digest: string): void {
    const held = [...(this.#store?.list('held').values() ?? [])];
    if (held.some((row) => row.digest === digest)) return;
    this.#world.fail(
      'an approval is for what is held',
      `nothing is held under ${digest}, and its approval is recorded`,
    );
  }

  /** What an instance has when its delete is recorded is approved, though another commit may be the one that removes it. */
  #noteDelete(reason: string): void {
    const { asked, approved } = this.#world;
    for (const [name, { instance }] of this.#store?.list('server') ?? []) {
      if (asked.deletes.has(instance) && reason === `delete of ${instance}`) approved.add(name);
    }
  }

  #watchRemoval(name: string): void {
    const server = name.slice(0, name.lastIndexOf('/'));
    if (this.#of.isApproved(name) || this.#world.asked.uncounted.has(server)) {
      this.#world.fail('what was approved does not count against the budget', `${name} counts`);
    }
  }
}

/** Returns true if another site than the one that made the server, or may have, takes it over, as an operator asked. */
function isMoved(before: ServerRow | undefined, after: ServerRow | null): boolean {
  if (before === undefined || after === null || !before.adopting || after.adopting) return false;
  const [from, to] = [siteOfRow(before), siteOfRow(after)];
  return after.applied !== null && from !== null && from !== to;
}

/** Rows are copied with a few fields replaced, so that those that stay are the same values. */
function isSameRow(a: object, b: object): boolean {
  const [one, other] = [a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>];
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
