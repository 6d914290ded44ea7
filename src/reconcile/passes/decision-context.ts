// Collects the facts for a decision about one server: other rows, providers, capacity. Read-only.
import type { SecretRules } from '../../machine/call-outcome.ts';
import type {
  CheckEnd,
  Claimant,
  DecisionContext,
  RecordedOutputs,
  ResponsibleProvider,
} from '../../machine/decision.ts';
import { goneSince } from '../../machine/drift.ts';
import { failuresDigest } from '../../machine/hold-digests.ts';
import { isHolding } from '../../machine/holders.ts';
import type { Needs } from '../../machine/needs.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { openRemovals } from '../../machine/removals.ts';
import { failuresMax, hasSlot } from '../../machine/rollout.ts';
import { isPlainSecret } from '../../machine/secret-values.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../../machine/suspension.ts';
import { PROXIED } from '../../model/names.ts';
import type { RunningAction, ServerRow } from '../../model/rows.ts';
import type { Capacity } from '../calls/capacity.ts';
import { actionIdOf, type Executor } from '../calls/executor.ts';
import type { Absences } from '../checks/absences.ts';
import type { ServerChecks } from '../checks/server-checks.ts';
import type { Ledger } from '../ledger.ts';
import type { ClaimedPasses } from './claimed-passes.ts';
import { type ProviderSources, providerFor } from './responsible-provider.ts';

type LedgerReads = Pick<Ledger, 'server' | 'index' | 'read'>;

/** The parts that a decision context reads. */
export interface ContextSources extends ProviderSources, SecretRules {
  readonly ledger: LedgerReads & Pick<Ledger, 'list'>;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The longest wait of a server for its next try. */
  readonly waitMsMax: number;
  /**
   * Returns how many deletes and replacements without approval may be in progress, or have begun or ended within the
   * last hour.
   */
  readonly removalsMax: () => number;
  readonly capacity: Pick<Capacity, 'isInFlight' | 'mayClaim'>;
  readonly executor: Pick<Executor, 'lostMsLeft' | 'lostBecause'>;
  readonly checks: Pick<ServerChecks, 'lastOf' | 'isDue'>;
  readonly claims: Pick<ClaimedPasses, 'claimantOf'>;
  readonly absences: Pick<Absences, 'isFoundSince'>;
}

/** Returns the current decision context of the server `name`. */
export function decisionContextOf(name: string, around: ContextSources): DecisionContext {
  return new LazyContext(name, around);
}

/** The needs of one server that follow from the rows, each computed on demand. */
export class RecordedNeeds implements Needs {
  readonly now: number;
  readonly #name: string;
  readonly #ledger: LedgerReads;

  constructor(name: string, { ledger, now }: { readonly ledger: LedgerReads; readonly now: number }) {
    this.#name = name;
    this.#ledger = ledger;
    this.now = now;
  }

  /** Infinity for a held instance and during a recovery; else the end of the suspension. */
  get stoppedUntil(): number | undefined {
    const instance = this.#ledger.server(this.#name)?.instance ?? '';
    if (this.#ledger.read('recovery', RECOVERY) !== undefined) return Number.POSITIVE_INFINITY;
    if (this.#ledger.read('held', instance) !== undefined) return Number.POSITIVE_INFINITY;
    const ends = [instance, EVERY_INSTANCE].map((key) =>
      suspendedUntil(this.#ledger.read('suspension', key), this.now),
    );
    const last = Math.max(...ends.map((end) => end ?? 0));
    return last === 0 ? undefined : last;
  }

  /**
   * Returns the last dependency that is not up. Servers come up in order, so a wait for the first one would end once
   * for each dependency.
   */
  unmetDependency({ wanted }: ServerRow): string | undefined {
    return wanted?.dependsOn.findLast((server) => !isUp(this.#ledger.server(server)));
  }

  holder(): string | undefined {
    for (const dependent of this.#ledger.index.dependentsOf(this.#name)) {
      if (dependent !== this.#name && isHolding(this.#name, this.#ledger.server(dependent))) return dependent;
    }
    return undefined;
  }

  /** A failed server is still retried, so the hold can end without an operator. */
  updatesAreHeld(row: ServerRow): boolean {
    return !row.gaveUp && updatesAreHeld(row.commit, this.#ledger);
  }

  hasSlot(row: ServerRow): boolean | number {
    return hasSlot(row, this.#ledger.index.groupViewOf(this.#name, row), this.now);
  }
}

/** Adds the facts of this process. Computes each fact on demand, because most decisions read few. */
class LazyContext extends RecordedNeeds implements DecisionContext {
  readonly isInFlight: boolean;
  readonly #name: string;
  readonly #around: ContextSources;

  constructor(name: string, around: ContextSources) {
    super(name, around);
    this.isInFlight = around.capacity.isInFlight(name);
    this.#name = name;
    this.#around = around;
  }

  get outputs(): RecordedOutputs {
    const { ledger } = this.#around;
    return {
      outputsOf: (server) => ledger.server(server)?.outputs,
      mayHold: (name, value) => !isPlainSecret({ name, value }, this.#around),
      sinceOf: (server) => Math.min(Date.parse(ledger.server(server)?.since ?? '') || 0, this.now),
    };
  }

  get waitMsMax(): number {
    return this.#around.waitMsMax;
  }

  get lastCheck(): CheckEnd | undefined {
    return this.#around.checks.lastOf(this.#name, this.claimant?.tags);
  }

  get isCheckDue(): boolean {
    return this.#around.checks.isDue(this.#name);
  }

  get claimant(): Claimant | undefined {
    return this.#around.claims.claimantOf(this.#name);
  }

  /** A call of a proxy begins only when the proxy claims it. */
  hasCapacity(provider: string, isRoutine = false): boolean {
    if (provider === PROXIED && this.claimant === undefined) return false;
    return this.#around.capacity.mayClaim(this.#name, provider, isRoutine);
  }

  /** Waits for two check intervals: within them, routine checks find another server of the site, if it has one. */
  siteAwaitedUntil(row: ServerRow): number | undefined {
    const { registry, absences, now } = this.#around;
    const since = goneSince(row);
    if (since === undefined || row.place !== undefined || absences.isFoundSince(row, since)) return undefined;
    const { checkSeconds = 0 } = registry.byName(row.provider ?? '') ?? {};
    const waitMs = 2 * checkSeconds * 1000;
    // If the clock was set back far, the end would never come, so an operator decides.
    return since > now + waitMs ? now : Math.min(since, now) + waitMs;
  }

  providerFor(row: ServerRow): ResponsibleProvider {
    return providerFor(this.#name, row, this.#around);
  }

  lostActionEnds(action: RunningAction): number {
    return lostActionEnds(this.#name, action, this.#around);
  }

  get lostBecause(): string | undefined {
    return this.#around.executor.lostBecause(this.#name);
  }

  mayReplace(): boolean | undefined {
    return mayReplace(this.#name, this.#around);
  }
}

/** Counts rows, so that no more of many simultaneous replacements continue than the budget allows. */
function mayReplace(name: string, { ledger, now, removalsMax }: ContextSources): boolean | undefined {
  if (ledger.server(name)?.replacing !== true) return undefined;
  return openRemovals(ledger, now) <= removalsMax();
}

/** Returns true if so many updates of a commit have failed that its other updates are held. */
export function updatesAreHeld(commit: string, ledger: Pick<Ledger, 'index' | 'read'>): boolean {
  // Without a row the rollout is over or was small. Updates now heal drift and have the lowest limit.
  const rollout = ledger.read('rollout', commit) ?? { updates: 0 };
  if (ledger.index.failedUpdatesOf(commit).size < failuresMax(rollout)) return false;
  return ledger.read('approval', failuresDigest(commit)) === undefined;
}

/** Returns true if servers that depend on this one may continue. */
export function isUp(row: ServerRow | undefined): boolean {
  return row?.state === 'done' || row?.state === 'drifted';
}

/**
 * Returns when a lost action must have ended. An action that ends with the controller has ended if this process does
 * not run it; one that ends with its call, once its provider is certain. The executor measures the time of all others.
 */
function lostActionEnds(name: string, action: RunningAction, around: ContextSources): number {
  const provider = around.registry.byName(action.provider)?.provider;
  const ends = action.ends ?? provider?.lostActionEnds ?? 'after its deadline';
  if (ends === 'with the controller') return 0;
  const call = { resource: name, action: actionIdOf(name, action), deadline: action.deadline };
  if (ends === 'with its call' && provider?.hasEnded?.(call) === true) return 0;
  return around.now + around.executor.lostMsLeft(name, action);
}
