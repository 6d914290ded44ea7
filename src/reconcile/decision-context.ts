// Collects the facts that a decision about one server reads: rows of others, providers, capacity. Read-only.
import type {
  CheckEnd,
  Claimant,
  DecisionContext,
  ResponsibleEntry,
  ResponsibleProvider,
} from '../machine/decision.ts';
import { mayBeThere } from '../machine/existence.ts';
import { failuresDigest } from '../machine/hold-digests.ts';
import { firstHolder } from '../machine/holders.ts';
import { openRemovals } from '../machine/removals.ts';
import { fitsProxy } from '../machine/responsibility.ts';
import { failuresMax, type GroupView, hasSlot } from '../machine/rollout.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../machine/suspension.ts';
import type { Wait, WaitOfKind } from '../machine/wait.ts';
import { PROXIED } from '../model/names.ts';
import type { Reason, RunningAction, ServerRow } from '../model/rows.ts';
import type { WaitExemption } from './circle-watch.ts';
import { earlierWait, firstCheckWait } from './earlier-controller.ts';
import type { Ledger } from './ledger.ts';
import { type ProviderSources, providerFor, wasPretended } from './responsible-provider.ts';

/** The parts that a decision context reads. */
export interface ContextSources extends ProviderSources {
  readonly ledger: Pick<Ledger, 'server' | 'index' | 'read' | 'list'>;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Added to a deadline before a lost action counts as ended. */
  readonly graceMs: number;
  /** How many deletes and replacements without approval may be in progress or have happened within the last hour. */
  readonly removalsMax: () => number;
  readonly isInFlight: (server: string) => boolean;
  /** Returns true if the next call of a server, or a check of it at rest, may take capacity of a provider now. */
  readonly hasCapacity: (server: string, provider: string, isRoutine: boolean) => boolean;
  /** Returns how a server's last check by proxies with one of these tags ended, or by any; see FreshChecks. */
  readonly lastCheckOf: (server: string, own?: readonly string[]) => CheckEnd | undefined;
  /** Returns true if a scheduled or requested check of a server may start now. */
  readonly isCheckDue: (server: string) => boolean;
  /**
   * Returns for how many more milliseconds a lost action may be running; undefined if this process did not begin it.
   */
  readonly lostMsLeft: (server: string, action: RunningAction) => number | undefined;
  /** Returns why the last action of a server ended without an answer, if this process knows it. */
  readonly lostBecause?: (server: string) => string | undefined;
  /** Returns the proxy that asks for the next call of a server; undefined if none does. */
  readonly claimantOf?: (server: string) => Claimant | undefined;
  /** Returns until when a server that is gone waits for another one of its site to be looked at; undefined: it does not. */
  readonly witnessAwaitedUntil?: (server: string, row: ServerRow) => number | undefined;
  /** Returns what a server waits for since its last pass; undefined: nothing. Left out: it is not known. */
  readonly waitOf?: (server: string) => Wait | undefined;
  /** Returns the group of the server's row, as that server sees it. */
  readonly groupViewOf: (server: string, row: ServerRow) => GroupView;
  /** Returns the permission of a server to go first, since its wait was part of a circle. */
  readonly exemptionOf: (server: string, row: ServerRow) => WaitExemption | undefined;
}

type LedgerReads = Pick<Ledger, 'server' | 'index'>;

/** Returns the decision context of the server `name` now. */
export function decisionContextOf(name: string, around: ContextSources): DecisionContext {
  return new LazyContext(name, around);
}

/** Computes each fact on demand: most decisions read few of them. */
class LazyContext implements DecisionContext {
  readonly now: number;
  readonly isInFlight: boolean;
  readonly #name: string;
  readonly #around: ContextSources;
  readonly #exemption: WaitExemption | undefined;

  constructor(name: string, around: ContextSources) {
    this.now = around.now;
    this.isInFlight = around.isInFlight(name);
    this.#name = name;
    this.#around = around;
    const recorded = around.ledger.server(name);
    this.#exemption = recorded === undefined ? undefined : around.exemptionOf(name, recorded);
  }

  get lastCheck(): CheckEnd | undefined {
    return this.#around.lastCheckOf(this.#name, this.claimant?.tags);
  }

  get isCheckDue(): boolean {
    return this.#around.isCheckDue(this.#name);
  }

  get stoppedUntil(): number | undefined {
    return stoppedUntil(this.#name, this.#around);
  }

  get goesFirst(): Reason | undefined {
    return this.#exemption?.reason;
  }

  get claimant(): Claimant | undefined {
    return this.#around.claimantOf?.(this.#name);
  }

  /** Capacity that is reserved for a proxy is of no use to another one, or without it; a routine check takes it like an action. */
  hasCapacity(provider: string, isRoutine = false): boolean {
    if (provider === PROXIED && this.claimant === undefined) return false;
    return this.#around.hasCapacity(this.#name, provider, isRoutine && provider !== PROXIED);
  }

  witnessAwaitedUntil(row: ServerRow): number | undefined {
    return this.#around.witnessAwaitedUntil?.(this.#name, row);
  }

  otherSpelling(row: ServerRow): string | undefined {
    return otherSpelling(this.#name, row, this.#around.ledger);
  }

  providerFor(row: ServerRow): ResponsibleProvider {
    return providerFor(this.#name, row, this.#around);
  }

  wasPretended(row: ServerRow): boolean {
    return wasPretended(this.#around.registry, row);
  }

  lostActionEnds(action: RunningAction): number {
    return lostActionEnds(this.#name, action, this.#around);
  }

  earlierWait(entry: ResponsibleEntry): WaitOfKind<'earlier'> | undefined {
    return earlierWait(entry, this.#around);
  }

  /** The last one: servers come up in order, so those that wait for the first would be woken once for each of them. */
  formerServer(row: ServerRow): string | undefined {
    return [...formersInTheWay(row, this.#around.ledger)].at(-1);
  }

  firstCheckWait(entry: ResponsibleEntry): WaitOfKind<'first check'> | undefined {
    const isOfSite = (server: string, row: ServerRow): boolean => {
      const wait = this.#around.waitOf?.(server);
      // What a server waits for tells its site: otherwise the record of each would be merged, again and again.
      const isOffered = wait?.kind === 'capacity' && wait.tags !== undefined;
      const other = isOffered ? { name: wait.provider, tags: wait.tags } : providerFor(server, row, this.#around);
      if (other.name === null || other.name !== entry.name) return false;
      return entry.tags === undefined || fitsProxy(other.tags ?? [], entry.tags);
    };
    return firstCheckWait(entry, { ...this.#around, now: this.now, isOfSite });
  }

  get lostBecause(): string | undefined {
    return this.#around.lostBecause?.(this.#name);
  }

  unmetDependency(row: ServerRow): string | undefined {
    return this.#exemption?.wait === 'dependency' ? undefined : unmetDependency(row, this.#around.ledger);
  }

  holdingUp(): string | undefined {
    return this.#exemption?.wait === 'holder' ? undefined : holderOf(this.#name, this.#around.ledger);
  }

  /** A failed server is retried all the same; so the hold can end by itself. */
  updatesAreHeld(row: ServerRow): boolean {
    return !row.gaveUp && updatesAreHeld(row.commit, this.#around.ledger);
  }

  mayReplace(): boolean | undefined {
    return mayReplace(this.#name, this.#around);
  }

  hasSlot(row: ServerRow): boolean | number {
    const group = this.#around.groupViewOf(this.#name, row);
    return hasSlot(row, group, { now: this.now, isBeyond: this.#exemption?.wait === 'slot' });
  }
}

/** Counts rows, so that of many replacements that begin at once no more continue than the budget allows. */
function mayReplace(name: string, { ledger, now, removalsMax }: ContextSources): boolean | undefined {
  if (ledger.server(name)?.replacing !== true) return undefined;
  return openRemovals(ledger, now) <= removalsMax();
}

/** Returns infinity for a held instance, or the end of its suspension. */
function stoppedUntil(name: string, { ledger, now }: ContextSources): number | undefined {
  const instance = ledger.server(name)?.instance ?? '';
  if (ledger.read('held', instance) !== undefined) return Number.POSITIVE_INFINITY;
  const ends = [instance, EVERY_INSTANCE].flatMap((key) => suspendedUntil(ledger.read('suspension', key), now) ?? []);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** Returns true if so many updates of a commit are failed that its other updates are held. */
export function updatesAreHeld(commit: string, ledger: Pick<Ledger, 'index' | 'read'>): boolean {
  // Without a row the rollout is over, or was small: what starts now heals drift, and has the least limit.
  const rollout = ledger.read('rollout', commit) ?? { updates: 0 };
  if (ledger.index.failedUpdatesOf(commit).size < failuresMax(rollout)) return false;
  return ledger.read('approval', failuresDigest(commit)) === undefined;
}

/**
 * Returns the other spelling of its name for which a server waits. A site may treat names that differ in case only as
 * equal. So a server that does not exist yet waits for another spelling that may exist or is unwanted; admission never
 * lets both be wanted for long.
 */
export function otherSpelling(name: string, row: ServerRow, ledger: LedgerReads): string | undefined {
  if (mayBeThere(row)) return undefined;
  return otherSpellings(name, ledger).find((other) => isInTheWay(ledger.server(other)));
}

/**
 * Returns the servers that were made in its instance before the store was lost, while a server waits for them. One that this
 * store has made or adopted is made again without waiting.
 */
export function formersInTheWay({ provider, instance }: ServerRow, { index }: Pick<Ledger, 'index'>): Iterable<string> {
  return provider === null ? index.formerOf(instance) : [];
}

function isInTheWay(row: ServerRow | undefined): boolean {
  return row !== undefined && (row.wanted === null || mayBeThere(row));
}

/**
 * Returns the servers that may hold up a delete. If another spelling of the name waits for this delete, wanted specs do
 * not count: their servers may wait for that other spelling themselves.
 */
export function holders(name: string, ledger: LedgerReads): Iterable<string> {
  const dependents = ledger.index.dependentsOf(name);
  const isAwaited = otherSpellings(name, ledger).some((other) => isYetToCome(ledger.server(other)));
  return isAwaited ? [...dependents].filter((dependent) => ledger.server(dependent)?.wanted === null) : dependents;
}

/** Returns the other spellings of a name that a server with this row waits for: fewer servers hold up their deletes. */
export function awaitedSpellings(name: string, row: ServerRow | undefined, ledger: LedgerReads): readonly string[] {
  return isYetToCome(row) ? otherSpellings(name, ledger) : [];
}

function isYetToCome(row: ServerRow | undefined): boolean {
  return row !== undefined && row.wanted !== null && !mayBeThere(row);
}

function otherSpellings(name: string, ledger: LedgerReads): readonly string[] {
  const spellings = ledger.index.spellingsOf(name);
  return spellings.length < 2 ? [] : spellings.filter((other) => other !== name);
}

/**
 * Returns the last unmet dependency: servers come up in order, so a server that waited for the first would be woken
 * once for each of them.
 */
function unmetDependency(row: ServerRow, ledger: Pick<Ledger, 'server'>): string | undefined {
  return row.wanted?.dependsOn.findLast((server) => !isUp(ledger.server(server)));
}

function holderOf(name: string, ledger: ContextSources['ledger']): string | undefined {
  return firstHolder(name, holders(name, ledger), (server) => ledger.server(server));
}

/** Returns true if servers that depend on this one may continue. */
export function isUp(row: ServerRow | undefined): boolean {
  return row?.state === 'done' || row?.state === 'drifted';
}

/**
 * Returns when a lost action has ended. An action that ends with the controller or with its call is over as soon as
 * this process does not run it; unless the store is a copy, and the call may be that of another controller. For other
 * actions that it began, this process knows the remaining time, whatever the wall clock says; else only the recorded time
 * is known.
 */
function lostActionEnds(name: string, action: RunningAction, around: ContextSources): number {
  const provider = around.registry.byName(action.provider)?.provider;
  const ends = action.ends ?? provider?.lostActionEnds ?? 'after its deadline';
  const leftMs = around.lostMsLeft(name, action);
  const isOfCopied = provider?.isCopied === true && leftMs === undefined;
  if (ends !== 'after its deadline' && !isOfCopied) return 0;
  return leftMs === undefined ? Date.parse(action.deadline) + around.graceMs : around.now + leftMs;
}
