// Enqueues the servers that may continue because a row was written or a call ended. Waits are not stored: a pass
// decides again whether its server waits.

import { isIdle } from '../../machine/drift.ts';
import { awayMax, groupOf } from '../../machine/rollout.ts';
import { EVERY_INSTANCE } from '../../machine/suspension.ts';
import type { Change, ServerRow } from '../../model/rows.ts';
import type { Ledger } from '../ledger.ts';
import { isUp, updatesAreHeld } from '../passes/decision-context.ts';
import { neededBy } from '../row-index.ts';

interface WakeUpsOptions {
  readonly ledger: Ledger;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
  /**
   * Returns whether a group member that waits for its update may start now or after the pause of its group; undefined
   * if it waits for something else.
   */
  readonly hasSlot: (server: string) => boolean | undefined;
}

/** Finds the servers that may continue. */
export class WakeUps {
  readonly #options: WakeUpsOptions;

  constructor(options: WakeUpsOptions) {
    this.#options = options;
    options.ledger.watch((change) => this.#onChange(change));
  }

  /** Enqueues as many waiting members of a group as may start now. */
  wakeGroup(group: string): void {
    const { ledger, wake, hasSlot } = this.#options;
    const { index } = ledger;
    // Members that are already away need no slot.
    for (const server of index.awayOf(group)) if (hasSlot(server)) wake(server);
    let left: number | undefined;
    for (const server of index.queuedOf(group)) {
      const row = ledger.server(server);
      if (row === undefined) continue;
      left ??= awayMax(row.policy.maxUnavailable, index.groupViewOf(server, row).size) - index.awayOf(group).size;
      const isFree = left > 0 && hasSlot(server);
      if (isFree === false) return;
      if (isFree === undefined) continue;
      wake(server);
      left -= 1;
    }
  }

  #onChange(change: Change): void {
    const { ledger, wake } = this.#options;
    if (change.kind === 'server') this.#onServer(change);
    else if (change.kind === 'held' || change.kind === 'suspension' || change.kind === 'recovery') {
      const isEvery = change.name === EVERY_INSTANCE || change.kind === 'recovery';
      const servers = isEvery ? ledger.list('server').keys() : ledger.index.serversOf(change.name);
      for (const server of servers) if (!isResting(ledger.server(server))) wake(server);
    } else if (change.kind === 'rollout' || change.kind === 'approval') {
      for (const commit of ledger.index.openUpdates().keys()) this.#wakeUpdates(commit);
    }
  }

  #onServer({ name, expected: before, value }: Extract<Change, { kind: 'server' }>): void {
    const after = value ?? undefined;
    const isReported = before?.outputs !== after?.outputs;
    if (isUp(after) || isReported) this.#wakeUsers(name, isReported);
    if (before !== undefined) this.#wakeNeeded(before, after);
    const [from, to] = [before && groupOf(before), after && groupOf(after)];
    if (from !== undefined) this.wakeGroup(from);
    if (to !== undefined && to !== from) this.wakeGroup(to);
    if (before?.gaveUp) this.#wakeUpdates(before.commit);
  }

  /** Enqueues the servers that use outputs of this one, and those whose last missing dependency it was. */
  #wakeUsers(server: string, isReported: boolean): void {
    const { ledger, wake } = this.#options;
    for (const name of ledger.index.usersOf(server)) {
      const row = ledger.server(name);
      if (row === undefined || (row.state !== 'pending' && !isReported)) continue;
      // A server that does not exist waits for all its dependencies. A server to be adopted may exist.
      const isToCome = row.applied === null && !row.adopting && !row.policy.adopt;
      if (!isToCome || row.wanted?.dependsOn.every((other) => isUp(ledger.server(other)))) wake(name);
    }
  }

  /** Enqueues the unwanted servers that this one no longer needs. */
  #wakeNeeded(before: ServerRow, after: ServerRow | undefined): void {
    const { ledger, wake } = this.#options;
    const isForgotten = before.wanted !== null && after?.wanted == null;
    const needed = neededBy(before);
    for (const name of isForgotten ? needed : needed.difference(neededBy(after))) {
      if (ledger.server(name)?.wanted === null) wake(name);
    }
  }

  #wakeUpdates(commit: string): void {
    const { ledger, wake } = this.#options;
    if (updatesAreHeld(commit, ledger)) return;
    for (const server of ledger.index.openUpdates().get(commit) ?? []) wake(server);
  }
}

function isResting(row: ServerRow | undefined): boolean {
  return row !== undefined && isIdle(row);
}
