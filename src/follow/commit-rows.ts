// Keeps the history of commits: a row for each commit that was followed or refused, or that waits for an approval.
// Counts the changes of a commit against the state before, including held changes, and records when its last server is
// done.
import type { Breathe } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { logOnceAMinute } from '../base/log-once-a-minute.ts';
import { WokenLoop } from '../base/woken-loop.ts';
import { countOf, toRfc3339 } from '../base/wording.ts';
import type { AcceptedEffect, Baseline, DesiredState, LossPolicies } from '../desired/desired-state.ts';
import { nodeOf } from '../desired/node-records.ts';
import { isRetaining, isValidUnit, type Unit, unitAddress } from '../desired/unit.ts';
import { hasMissedCommit, isIdle } from '../machine/drift.ts';
import { needsNoAction } from '../machine/existence.ts';
import { instanceAddress } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { Change, CommitCounts, CommitRow } from '../model/rows.ts';
import { type ChangedUnit, changedUnits } from '../plan/changed-servers.ts';
import { isSameRecord } from '../plan/configuration-changes.ts';
import type { CommitGate } from '../reconcile/commit-gate.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Commit } from '../repository/source.ts';
import { HEAD } from './object-rows.ts';

const COMMITS_MAX = 1_000;
const INSTANCES_MAX = 100;
const TEXT_MAX = 200;
const NONE: CommitCounts = { created: 0, updated: 0, replaced: 0, deleted: 0, records: 0 };

type Counts = CommitRow['counts'];

/** A commit that is followed for the first time. */
export interface NewCommit {
  readonly commit: Commit;
  readonly signature: string | null;
}

type Before = Baseline & Partial<Pick<DesiredState, 'invalid'>>;

/**
 * Returns the changes of a desired state by instance, as if all holds were approved. An instance that becomes invalid
 * counts as changed, with zero counts.
 */
export async function countEffects(before: Before, desired: DesiredState, breathe: Breathe): Promise<Counts> {
  const counts: Record<string, CommitCounts> = {};
  for (const { unit, effect } of await unitEffects(before, desired, unitsOnceApproved(desired), breathe)) {
    const isListed = unit.type === 'stack-instance' && Object.keys(counts).length < INSTANCES_MAX;
    if (Object.values(effect).some((count) => count > 0)) addCounts(counts, isListed ? unit.name : '', effect);
  }
  for (const name of desired.invalid.difference(before.invalid ?? new Set())) {
    if (!desired.held.has(name) && Object.keys(counts).length < INSTANCES_MAX) counts[name] ??= NONE;
  }
  return counts;
}

/** Returns the effect on servers if the desired state follows the baseline. */
export async function acceptedEffect(
  before: Baseline,
  desired: DesiredState,
  breathe: Breathe,
): Promise<AcceptedEffect> {
  const counts: Record<string, CommitCounts> = {};
  const found = await unitEffects(before, desired, desired.units, breathe);
  for (const { effect } of found) addCounts(counts, '', effect);
  const { created, updated } = counts[''] ?? NONE;
  const deletes = found.flatMap(({ deleted }) => deleted).sort(compareNames);
  const retained = found.reduce((sum, unit) => sum + unit.retained, 0);
  const text =
    `accepting it creates ${countOf(created, 'server')}, updates ${updated}, retains ${retained} and, ` +
    `after another approval, deletes ${deletes.length}`;
  return { text, deletes };
}

/** The changes to the servers and records of a unit. */
interface UnitEffect {
  readonly unit: Unit;
  readonly effect: CommitCounts;
  readonly deleted: readonly string[];
  /** The number of servers that are no longer wanted but retained. */
  readonly retained: number;
}

async function unitEffects(
  before: Baseline,
  desired: DesiredState,
  units: DesiredState['units'],
  breathe: Breathe,
): Promise<readonly UnitEffect[]> {
  const effects: UnitEffect[] = [];
  const isWanted = (name: string): boolean => units.get(desired.owners.get(name) ?? '')?.servers.has(name) === true;
  for (const changed of changedUnits(before.units, units)) {
    effects.push(unitEffect(changed, before, { isWanted, losses: desired.losses }));
    await breathe();
  }
  return effects;
}

function unitsOnceApproved({ units, held, candidates }: DesiredState): DesiredState['units'] {
  if (held.size === 0) return units;
  const approved = new Map(units);
  for (const address of [...held.keys()].map(instanceAddress)) {
    const unit = candidates.get(address);
    if (unit === undefined) approved.delete(address);
    else if (isValidUnit(unit)) approved.set(address, unit);
  }
  return approved;
}

function addCounts(counts: Record<string, CommitCounts>, name: string, found: CommitCounts): void {
  const known = counts[name] ?? NONE;
  counts[name] = {
    created: known.created + found.created,
    updated: known.updated + found.updated,
    replaced: known.replaced + found.replaced,
    deleted: known.deleted + found.deleted,
    records: known.records + found.records,
  };
}

/** Returns the changes of a unit. A server that moves to another instance counts for that instance. */
function unitEffect(
  { before, after }: ChangedUnit,
  baseline: Baseline,
  { isWanted, losses }: { readonly isWanted: (name: string) => boolean; readonly losses: LossPolicies },
): UnitEffect {
  const unit = (after ?? before) as Unit;
  const was = (name: string) => baseline.units.get(baseline.owners.get(name) ?? '')?.servers.get(name)?.spec;
  const wanted = [...(after?.servers.values() ?? [])];
  const gone = [...(before?.servers.values() ?? [])].filter(({ name }) => !isWanted(name));
  const loss = losses.get(unitAddress(unit));
  const deleted = isRetaining(after) ? [] : gone.filter(({ policy }) => (loss ?? policy).deletion === 'delete');
  const nodes = [...(after?.nodes.values() ?? [])].filter((node) => {
    const old = nodeOf(baseline, node.name);
    return old === undefined ? after?.type === 'clientcert' : !isSameRecord(old, node);
  });
  const isGone = before?.type === 'clientcert' && after === undefined;
  const effect = {
    created: wanted.filter(({ name }) => was(name) === undefined).length,
    updated: wanted.filter(({ name, spec }) => !needsNoAction(spec, was(name) ?? spec)).length,
    replaced: 0,
    deleted: deleted.length,
    records: nodes.length + (isGone ? 1 : 0),
  };
  return { unit, effect, deleted: deleted.map(({ name }) => name), retained: gone.length - deleted.length };
}

/** Returns the changes that record a commit as followed. It is done already if it changes no server. */
export function followedChanges(
  ledger: Read,
  { commit, signature, counts }: NewCommit & Pick<CommitRow, 'counts'>,
  now: number,
): Change[] {
  const known = ledger.read('commit', commit.oid);
  const changesServers = Object.values(counts).some(({ created, updated, deleted }) => created + updated + deleted > 0);
  const time = toRfc3339(now);
  const value: CommitRow = {
    ...rowOf(commit),
    state: 'followed',
    time,
    signature,
    base: ledger.read('head', HEAD)?.commit ?? null,
    counts,
    done: changesServers ? null : time,
    approvals: known?.approvals ?? [],
  };
  // Pending commits can no longer be approved, because a newer one was followed.
  const over = [...ledger.list('commit')].flatMap(([name, expected]): Change[] =>
    expected.state !== 'pending' || name === commit.oid
      ? []
      : [{ kind: 'commit', name, value: { ...expected, state: 'refused' }, expected }],
  );
  return [
    ...over.filter(({ name }) => name !== oldestOf(ledger, commit.oid)),
    ...rowChanges(ledger, commit.oid, value),
  ];
}

/**
 * Returns the changes that record a commit as refused or as waiting for an approval; none if that is recorded already.
 */
export function refusedChanges(
  ledger: Read,
  commit: Commit,
  { isHeld, reason, now }: { readonly isHeld: boolean; readonly reason: string; readonly now: number },
): Change[] {
  const state = isHeld ? 'pending' : 'refused';
  const known = ledger.read('commit', commit.oid);
  if (known?.state === state && known.reason === reason) return [];
  const time = known?.state === state ? known.time : toRfc3339(now);
  const base = ledger.read('head', HEAD)?.commit ?? null;
  return rowChanges(ledger, commit.oid, { ...(known ?? { ...rowOf(commit), base }), state, reason, time });
}

type Read = Pick<Ledger, 'read' | 'list'>;

function rowOf({ author, message, time }: Commit): Omit<CommitRow, 'state' | 'time' | 'base'> {
  const subject = cut(message.trimStart().split('\n', 1)[0] ?? '');
  const texts = { subject, author: cut(author), committed: time };
  return { ...texts, signature: null, reason: null, counts: {}, done: null, approvals: [] };
}

function cut(text: string): string {
  return text.trim().slice(0, TEXT_MAX).toWellFormed();
}

function rowChanges(ledger: Read, name: string, value: CommitRow): Change[] {
  const oldest = oldestOf(ledger, name);
  const expected = ledger.read('commit', name);
  const last = oldest === undefined ? undefined : ledger.read('commit', oldest);
  const removed: Change[] = oldest === undefined ? [] : [{ kind: 'commit', name: oldest, value: null, expected: last }];
  return [{ kind: 'commit', name, value, expected }, ...removed];
}

/** Returns the commit whose row a new one replaces; undefined if there is room. */
function oldestOf(ledger: Read, name: string): string | undefined {
  const rows = ledger.list('commit');
  if (rows.size < COMMITS_MAX || rows.has(name)) return undefined;
  return [...rows].reduce((a, b) => (b[1].time < a[1].time ? b : a))[0];
}

const GATHER_MS = 1_000;
const AGAIN_MS = 10_000;

interface ProgressOptions {
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Records which servers a followed commit replaces, and when its last server is done. The caller closes it. */
export class CommitProgress {
  readonly #options: ProgressOptions;
  readonly #loop: WokenLoop;
  /** The instance of each server whose replacement began since the last write, by commit and server name. */
  readonly #replaced = new Map<string, Map<string, string>>();

  constructor(options: ProgressOptions) {
    this.#options = options;
    const { ledger, clock, log } = options;
    const logOnce = logOnceAMinute(clock);
    const work = async (): Promise<false> => {
      try {
        await this.#write();
      } catch (error) {
        const repeats = logOnce(error);
        if (repeats) log.warn({ err: error, ...repeats }, 'the progress of commits could not be recorded');
        this.#loop.wakeWithin(AGAIN_MS);
      }
      return false;
    };
    this.#loop = new WokenLoop({ clock, work });
    ledger.watch((change) => this.#note(change));
    this.#loop.wakeWithin(GATHER_MS);
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  #note({ kind, name, value, expected }: Change): void {
    if (kind !== 'server' && kind !== 'held') return;
    if (kind === 'server' && value?.replacing && !expected?.replacing) {
      const known = this.#replaced.get(value.commit) ?? new Map<string, string>();
      this.#replaced.set(value.commit, known.set(name, value.instance));
    }
    this.#loop.wakeWithin(GATHER_MS);
  }

  async #write(): Promise<void> {
    const { ledger, gate } = this.#options;
    if (this.#changes().length === 0) return;
    await gate.exclusive(async () => {
      const changes = this.#changes();
      this.#replaced.clear();
      await ledger.commit(changes);
    });
  }

  #changes(): readonly Change[] {
    const { ledger, clock } = this.#options;
    const undone = [...ledger.list('commit')].filter(([, { state, done }]) => state === 'followed' && done === null);
    if (undone.length === 0) return [];
    const open = new Set([...ledger.list('held').values()].map(({ commit }) => commit));
    for (const row of ledger.list('server').values()) if (!isIdle(row) || hasMissedCommit(row)) open.add(row.commit);
    return undone.flatMap(([name, expected]): Change[] => {
      const replaced = this.#replaced.get(name);
      if (open.has(name) && replaced === undefined) return [];
      const done = open.has(name) ? null : toRfc3339(clock.now());
      const counts = withReplaced(expected.counts, [...(replaced?.values() ?? [])]);
      return [{ kind: 'commit', name, value: { ...expected, done, counts }, expected }];
    });
  }
}

function withReplaced(before: Counts, instances: readonly string[]): Counts {
  const counts = { ...before };
  for (const instance of instances) {
    const name = Object.hasOwn(counts, instance) ? instance : '';
    const known = counts[name] ?? NONE;
    if (known.updated > 0) counts[name] = { ...known, updated: known.updated - 1, replaced: known.replaced + 1 };
  }
  return counts;
}
