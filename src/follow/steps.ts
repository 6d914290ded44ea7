// Takes the commits of the branch that come at once as steps, oldest first: each is judged by what the ones before have
// set, as if it had been polled on its own. Only the sum of their changes is written, so no action starts for one in between.
import type { Derivation } from '../derive.ts';
import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import type { Logger } from '../log.ts';
import { type CommitStamp, isForgotten, wantRow } from '../machine/want.ts';
import type { Change, FollowedPlace, RowKind, Rows, ServerRow } from '../model/rows.ts';
import { type Steps, visitAll } from '../model/steps.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { RowIndex } from '../reconcile/row-index.ts';
import type { RunInSlices } from '../slices.ts';
import type { Commit } from '../source/source.ts';
import { firstParentLine } from './first-parents.ts';
import type { ServerRowChange } from './hold-rows.ts';
import { lastRecordsOf } from './last-records.ts';
import { OtherCommits, type Others } from './merge-guards.ts';
import { type Sum, sumChanges, syncChanges } from './sync.ts';

/** A commit of the branch itself. */
export interface CommitStep {
  readonly commit: Commit;
  /** The commit, and those that it brings by a merge: of these, trailers count. */
  readonly brought: readonly Commit[];
  /**
   * Those that it, later ones and those right before it that are not followed bring from elsewhere: what they keep, it does not
   * delete unasked. After a `git pull`, one's own commit comes first, and reached the branch only with the merge.
   */
  readonly others: Others;
}

/**
 * Returns the steps from the followed commit to the newest of `commits`, oldest first. `commits` are those that are new,
 * newest first. None where they were cut off, and the first steps are among what is missing.
 */
export function stepsAfter(followed: string, commits: readonly Commit[], isCut: boolean): readonly CommitStep[] {
  const byId = new Map(commits.map((commit) => [commit.oid, commit]));
  const line = firstParentLine(commits, followed);
  if (isCut && line.at(-1)?.parents[0] !== followed) return [];
  const earlier = new Set<string>();
  const steps = line.reverse().map((commit) => {
    const brought = new Set([commit]);
    for (const { oid, parents } of brought) {
      earlier.add(oid);
      for (const parent of parents) {
        const other = earlier.has(parent) ? undefined : byId.get(parent);
        if (other !== undefined) brought.add(other);
      }
    }
    const isUnknown = (oid: string): boolean => oid !== followed && !earlier.has(oid);
    const hasUnknown = isCut && [...brought].some(({ parents }) => parents.some(isUnknown));
    return { commit, brought: [...brought], isCut: hasUnknown };
  });
  return withOthers(steps.reverse()).reverse();
}

/** Returns the steps, newest first, each with what it and later ones bring from elsewhere. */
function withOthers(steps: readonly (Omit<CommitStep, 'others'> & { readonly isCut: boolean })[]): CommitStep[] {
  const from = new OtherCommits(steps.flatMap(({ brought }) => brought.slice(1)));
  let others: Others = { from, count: 0, isCut: false };
  return steps.map(({ commit, brought, isCut }) => {
    others = { from, count: others.count + brought.length - 1, isCut: others.isCut || isCut };
    return { commit, brought, others };
  });
}

/** Returns a step as it is where the one before it is not followed: what counts for that counts for this one. */
export function afterRefused(step: CommitStep, { others }: CommitStep): CommitStep {
  return { ...step, others };
}

/** The message of the log for a commit that comes together with later ones. */
const ON_THE_WAY = 'commit taken on the way';

/** The rows that following a commit reads. */
export type RowView = Pick<Ledger, 'read' | 'list' | 'server' | 'index' | 'rowBytes'>;

/** The facts and functions by which steps are walked. */
export interface Walk {
  readonly ledger: Ledger;
  readonly inSlices: RunInSlices;
  readonly log: Pick<Logger, 'debug'>;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The newest commit of the branch, if it is known. */
  readonly newest: string | undefined;
  /** The repository, branch and directory that are followed. */
  readonly place: FollowedPlace;
  /** The desired state that is active, and the versions that are. */
  readonly before: DesiredState | undefined;
  readonly baseline: Baseline;
  /** Derives a step upon the desired state before it. */
  readonly derive: (step: CommitStep, desired: DesiredState, rows: RowView) => Promise<Derivation>;
  /** Judges a step by the rows as they are then. */
  readonly judge: (step: CommitStep, derivation: FollowedDerivation, rows: RowView) => Promise<DesiredState>;
}

type FollowedDerivation = Extract<Derivation, { readonly isFollowed: true }>;

/** The desired state of the last step that is followed. */
export interface Walked {
  readonly desired: DesiredState;
  /** All changes of rows up to it; undefined for a single step, which has only its own. */
  readonly changes: readonly Change[] | undefined;
  /** The last of all steps, if it is not followed. */
  readonly refused:
    | { readonly step: CommitStep; readonly derivation: Exclude<Derivation, { readonly isFollowed: true }> }
    | undefined;
}

/**
 * Walks the steps before the exclusive section, by the rows as they are now: only so that what they need is read. Returns how
 * many of them were walked: fewer, but at least one, where `isFull` says so.
 */
export async function walkAhead(
  steps: readonly CommitStep[],
  first: FollowedDerivation,
  walk: Walk,
  isFull: () => boolean = () => false,
): Promise<number> {
  return steps.length === 1 ? 1 : (await playSteps(steps, first, walk, { isFull })).count;
}

/**
 * Walks the steps, of which the first is derived already. Rows name the last one as the commit that changed them: where it
 * is not followed, those that are followed are walked again. Runs in an exclusive section.
 */
export async function walkSteps(steps: readonly CommitStep[], first: FollowedDerivation, walk: Walk): Promise<Walked> {
  if (steps.length === 1)
    return {
      desired: await walk.judge(steps[0] as CommitStep, first, walk.ledger),
      changes: undefined,
      refused: undefined,
    };
  const { log } = walk;
  const { rows, as, desired, followed, refused } = await playSteps(steps, first, walk, { log });
  if (refused !== undefined) return { ...(await walkSteps(steps.slice(0, followed + 1), first, walk)), refused };
  const sum = { desired, before: walk.before, newest: walk.newest, now: walk.now, as };
  return { desired, changes: await walk.inSlices(rows.changes(sum)), refused };
}

interface Played extends Omit<Walked, 'changes'> {
  /** The rows that the steps make. */
  readonly rows: DraftRows;
  readonly as: Sum['as'];
  /** The index of the last step that is followed. */
  readonly followed: number;
  /** How many steps were walked. */
  readonly count: number;
}

/** Walks two steps or more, each upon what the ones before it have made of a draft of the rows. */
async function playSteps(
  steps: readonly CommitStep[],
  first: FollowedDerivation,
  walk: Walk,
  { isFull = () => false, log }: { readonly isFull?: () => boolean; readonly log?: Walk['log'] },
): Promise<Played> {
  const { ledger, inSlices, now, newest, place } = walk;
  const last = (steps.at(-1) as CommitStep).commit;
  const rows = new DraftRows(ledger);
  await inSlices(rows.fill());
  const as = { commit: last.oid, time: last.time };
  let desired = first.desired;
  let followed = 0;
  let count = 0;
  let refused: Walked['refused'];
  for (const [index, one] of steps.entries()) {
    if (index > 0 && isFull()) break;
    count += 1;
    const step: CommitStep = refused === undefined ? one : afterRefused(one, refused.step);
    const derivation: Derivation = index === 0 ? first : await walk.derive(step, desired, rows);
    refused = derivation.isFollowed ? undefined : { step, derivation };
    if (!derivation.isFollowed) continue;
    const [before, baseline] = index === 0 ? [walk.before, walk.baseline] : [desired, desired];
    desired = await walk.judge(step, derivation, rows);
    const sync = { desired, place, before, last: baseline, newest, now, lastRecord: lastRecordsOf(baseline), as };
    await inSlices(rows.apply(await inSlices(syncChanges(rows, sync))));
    const { commit, invalid, held } = desired;
    log?.debug({ commit, invalid: [...invalid], held: [...held.keys()] }, ON_THE_WAY);
    followed = index;
  }
  return { rows, as, desired, followed, refused, count };
}

/** The rows as they will be once changes are written that are not written yet. */
class DraftRows implements RowView {
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
  *fill(): Steps<void> {
    yield* visitAll(this.list('server'), ([name, row]) => this.#index.follow(name, undefined, row));
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

  /** Has the changes in the rows from now on. Nobody knows a server yet that came and is not wanted any more. */
  *apply(changes: readonly Change[]): Steps<void> {
    yield* visitAll(changes, (change) => {
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
    });
  }

  /** Returns the changes from the rows that are written. What came and went, or was changed back, is none. */
  *changes(sum: Sum): Steps<readonly Change[]> {
    const stamp = { ...sum.as, now: sum.now };
    const servers = [...this.#changed.values()].flatMap((change) =>
      change.kind === 'server' && change.value !== null ? [asOneChange({ ...change, value: change.value }, stamp)] : [],
    );
    yield* this.apply(yield* sumChanges({ store: this.#ledger, draft: this }, servers, sum));
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
  if (isForgotten(expected, value)) return change;
  return { ...change, value: wantRow(expected, { ...value, name, spec: value.wanted }, stamp) };
}

function bytesOf(row: Rows[RowKind] | null | undefined): number {
  return row == null ? 0 : JSON.stringify(row).length;
}
