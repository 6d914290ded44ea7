// Watches what a controller gives to proxies and takes from them: nothing of other tags, nothing for a removed client, no
// action for two of them, no claim without its intent, and no report of what was given up.
import { createHash } from 'node:crypto';
import type { AgentAction, ClaimedAction } from '../../src/agents/agent.ts';
import type { Answer } from '../../src/model/call-result.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { isGone } from './edit-files.ts';
import type { World } from './world.ts';

/** How long after its deadline a controller waits for a report. */
const GRACE_MS = 10_000;

/** A proxy, as the controller knows it. */
interface Machine {
  readonly serial: string;
  readonly tags: readonly string[];
}

/** A claim that a controller has answered. */
interface Lease {
  readonly client: string;
  readonly id: string;
  readonly resource: string;
  readonly operation: AgentAction['operation'];
  /** The controller that gave it. */
  readonly core: unknown;
  /** Its claim is in no row. A check of a lost action has the id of that action. */
  readonly isCheck: boolean;
  /** In simulated time. */
  readonly deadline: number;
  /** The controller to which a report came in time: it answers repeats of that. */
  takenBy: unknown;
  /** A report was accepted. */
  isRecorded: boolean;
}

/** A request for a claim, as it was when it came. */
interface ClaimRequest {
  readonly id: string;
  /** By the clock on the wall. */
  readonly time: number;
  readonly row: ServerRow | undefined;
}

/** The names in a request of a proxy. */
export interface Named {
  readonly id: string;
  readonly lease: string;
}

export class ProxyWatch {
  readonly #world: World;
  readonly #leases = new Map<string, Lease>();
  /** The last lease of each server. */
  readonly #last = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Looks at a request that is served: a client that a commit has removed gets no answer. */
  served({ serial }: Machine, words: string): void {
    this.#world.followed.note();
    if (this.#removedSince(serial) === undefined) return;
    this.#world.fail('no request of a removed client is served', `${serial} ${words}`);
  }

  /**
   * Looks at an action that a proxy is shown: the tags of its server are the proxy's. Those that made a server may also
   * tell whether it is there, and delete it.
   */
  offered({ serial, tags }: Machine, { resource, operation, record }: AgentAction): void {
    const fits = (tag: unknown): boolean => tags.includes(String(tag ?? ''));
    if (fits(record.ProxyTag)) return;
    const { proxyTags = [] } = this.#world.core?.ledger.server(resource) ?? {};
    if ((operation === 'check' || operation === 'delete') && proxyTags.some(fits)) return;
    const words = `${operation} ${resource} with the tag ${String(record.ProxyTag)} to ${serial}`;
    this.#world.fail('no server is offered to a proxy without its tag', words);
  }

  /** Returns a request for a claim as it is now. */
  asks(id: string): ClaimRequest {
    const server = id.replace(/\.\d+\.[a-z]+(\.\d+)?$/, '');
    return { id, time: this.#world.wall.now(), row: this.#world.core?.ledger.server(server) };
  }

  /** Looks at the answer to a claim. Returns true if the proxy gets it for the first time. */
  claimed(machine: Machine, request: ClaimRequest, claimed: ClaimedAction): boolean {
    const { lease, action } = claimed;
    const known = this.#leases.get(lease);
    const words = `${machine.serial} claims ${request.id}`;
    if (known !== undefined && known.client !== machine.serial) {
      this.#world.fail('no two proxies carry out one action', `${words}, which is of ${known.client}`);
    }
    if (known !== undefined) return false;
    const { scheduler, wall, core } = this.#world;
    const offsetMs = scheduler.now - wall.now();
    const deadline = Date.parse(claimed.deadline) + offsetMs;
    const { id, resource, operation } = action;
    const isCheck = operation === 'check';
    const began = deadline - action.timeoutSeconds * 1000;
    const own: Lease = {
      client: machine.serial,
      id,
      resource,
      operation,
      core,
      isCheck,
      deadline,
      takenBy: undefined,
      isRecorded: false,
    };
    this.#leases.set(lease, own);
    this.#last.set(resource, lease);
    if (!isCheck) this.#world.calls.claimed(action);
    this.offered(machine, action);
    const removed = this.#removedSince(machine.serial);
    if (removed !== undefined && began >= removed && wall.setAt < removed) {
      this.#world.fail('no request of a removed client is served', `${words}, and gets ${id}`);
    }
    if (!isCheck && !this.#isOpen(own, lease)) {
      this.#world.fail('no claim is answered before its intent is durable', words);
    }
    if (id !== request.id && began - offsetMs === request.time && !this.#isChanged(request.row, resource)) {
      this.#world.fail('a claim gets the action that it names', `${words}, and gets ${id}`);
    }
    return true;
  }

  /** Looks at a report or heartbeat that comes. Returns true if it is in time. */
  comes({ lease }: Named, answer?: Answer): boolean {
    const given = this.#leases.get(lease);
    if (given === undefined || !this.#isOpen(given, lease)) return false;
    if (answer === undefined) return true;
    const isFirst = given.takenBy === undefined;
    given.takenBy = this.#world.core;
    // A report that is repeated, perhaps after later checks, says nothing new. An update may report a missing server too.
    if (isFirst && answer.outcome === 'absent') this.#world.drift.checked(given.resource, answer);
    return true;
  }

  /** Looks at a heartbeat that was accepted. */
  beaten({ serial }: Machine, { id }: Named, isInTime: boolean): void {
    if (!isInTime) this.#world.fail('no heartbeat of what was given up is accepted', `${serial} for ${id}`);
  }

  /** Looks at a report that was accepted: it came in time, or repeats one that did; and it is recorded. */
  taken({ serial }: Machine, { id, lease }: Named, answer: Answer): void {
    const given = this.#leases.get(lease);
    const words = `${serial} reports ${id}: ${answer.outcome}`;
    if (given === undefined || given.takenBy !== this.#world.core) {
      this.#world.fail('a late report of what was given up changes nothing', words);
    } else if (!given.isCheck && this.#isOpen(given, lease)) {
      this.#world.fail('no report is answered before it is recorded', words);
    } else if (!given.isRecorded) {
      given.isRecorded = true;
      if (!given.isCheck) this.#world.calls.reported(given, answer);
      else if (answer.outcome === 'done') this.#world.drift.checked(given.resource, answer);
    }
  }

  /** Looks at a report that was refused: what was done in time counts. */
  refused({ serial }: Machine, { id, lease }: Named, isInTime: boolean): void {
    const given = this.#leases.get(lease);
    const { scheduler, wall } = this.#world;
    if (!isInTime || given === undefined || given.isCheck || wall.setAt > 0) return;
    if (scheduler.now >= given.deadline || this.#world.core !== given.takenBy) return;
    this.#world.fail('a report that comes in time is taken', `${serial} reports ${id}`);
  }

  #isOpen({ id, resource, core, isCheck, deadline }: Lease, lease: string): boolean {
    if (isCheck) {
      const isLast = this.#last.get(resource) === lease;
      return isLast && core === this.#world.core && this.#world.scheduler.now <= deadline + GRACE_MS;
    }
    const row = this.#world.core?.ledger.server(resource);
    if (row?.action == null || row.state === 'unknown' || `${resource}.${row.action.id}` !== id) return false;
    return row.action.claim?.lease === createHash('sha256').update(lease).digest('hex');
  }

  /** Returns true if what the next action of a server follows from has changed since a claim was asked for. */
  #isChanged(before: ServerRow | undefined, resource: string): boolean {
    const now = this.#world.core?.ledger.server(resource);
    if (before === undefined || now === undefined) return true;
    const { wanted, policy, applied, generation, attempt, checked, replacing, adopting } = before;
    const isSame = wanted === now.wanted && policy === now.policy && applied === now.applied;
    const isSameTry = generation === now.generation && attempt === now.attempt && checked === now.checked;
    return !isSame || !isSameTry || replacing !== now.replacing || adopting !== now.adopting;
  }

  /** Returns since when the commits in force have no client of that serial, in simulated time; undefined if they have. */
  #removedSince(serial: string): number | undefined {
    const { all } = this.#world.followed;
    const isRemoved = ({ files }: (typeof all)[number]): boolean => isGone(files, `clients/${serial}.yaml`);
    const kept = all.findLastIndex((one) => !isRemoved(one));
    return all[kept + 1]?.since;
  }
}
