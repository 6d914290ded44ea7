// Watches every call to a site: never two for one server, and no two servers of one name. It tells the watchers of creates,
// deletes and drift of each call.

import type { AgentAction } from '../../src/agents/agent.ts';
import type { Answer } from '../../src/model/call-result.ts';
import type { Call } from '../../src/providers/provider.ts';
import type { Store } from '../../src/store/store.ts';
import type { Followed } from './followed.ts';
import type { SiteServer, SiteWatch } from './simulated-site.ts';
import { CreateWatch } from './watch-creates.ts';
import { DeleteWatch } from './watch-deletes.ts';
import type { DriftWatch } from './watch-drift.ts';
import type { World } from './world.ts';

interface Running {
  readonly operation: string;
  readonly site: string;
  /** When it was decided on, by the clock on the wall: its recorded deadline counts from then. */
  readonly since: number;
  readonly life: unknown;
  /** Begun by a controller whose store is lost. */
  isUnknown?: boolean;
}

export class CallWatch implements SiteWatch {
  readonly #world: World;
  readonly #followed: Followed;
  readonly #running = new Map<string, Running>();
  readonly #creates: CreateWatch;
  readonly deletes: DeleteWatch;
  readonly #drift: DriftWatch;
  /** Every server of which it asked a delete, or would have where its site told how the last action ended. */
  readonly condemned = new Set<string>();
  count = 0;

  constructor(world: World, followed: Followed, drift: DriftWatch) {
    this.#world = world;
    this.#drift = drift;
    this.#followed = followed;
    this.#creates = new CreateWatch(world);
    this.deletes = new DeleteWatch(world, followed, this.#creates);
  }

  /** How many calls are under way. */
  get running(): number {
    return this.#running.size;
  }

  /** Notes that a proxy has claimed an action: of a delete, what was followed by then decides whether that was right. */
  claimed({ operation, resource, id }: Pick<AgentAction, 'operation' | 'resource' | 'id'>): void {
    if (operation === 'create') this.#creates.claimed(resource, id);
    if (operation !== 'delete') return;
    // The proxy may die before it begins; the controller knows of the claim only.
    this.#creates.deleteBegan(resource);
    this.deletes.claimed({ id, resource });
  }

  /** Notes that the report of a proxy is recorded. */
  reported(call: Pick<Call, 'resource' | 'operation'>, answer: Answer): void {
    this.#creates.ended(call, answer);
    // Of a create that was not begun, the site knows nothing.
    if (call.operation === 'create') this.deletes.ended(call, answer.outcome);
  }

  began(site: string, call: Call): void {
    const { resource, operation } = call;
    this.#followed.note();
    this.count += 1;
    this.#world.tell(site, () => `${operation} ${resource} begins (${call.action})`);
    const { core } = this.#world;
    if (core !== undefined && core.current.get() === undefined)
      this.#world.fail('no call begins while no commit is active', `${operation} ${resource}`);
    const other = this.#running.get(resource);
    // One controller knows what it began itself, whatever the clock says.
    const isCertain = other?.life === this.#world.core || this.#world.wall.setAt < (other?.since ?? 0);
    // A check changes nothing, so one that a controller before this one began may still run.
    const isCheck = other?.operation === 'check';
    // An action that does not end is over, for the controller, at its deadline plus grace.
    const isOverdue = core?.ledger.server(resource)?.state === 'unknown';
    const isLook = operation === 'check' && (other?.isUnknown === true || isOverdue);
    if (other !== undefined && !isLook && (isCheck ? other.life === this.#world.core : isCertain)) {
      this.#world.fail(
        'no call overlaps another for one server',
        `${operation} ${resource} began during its ${other.operation}`,
      );
    }
    this.#drift.began(site, call);
    if (!isLook || isCheck)
      this.#running.set(resource, { operation, site, since: this.#decidedAt(call), life: this.#world.core });
    if (operation === 'create') this.#creates.began(site, call);
    if (operation === 'delete') {
      this.condemned.add(resource);
      this.#creates.deleteBegan(resource);
      this.deletes.began(site, call);
    }
  }

  /** Where the clock was set forward since, this is before it was set; where it was set back, the deadline is later too. */
  #decidedAt({ resource, action }: Call): number {
    const { core, scheduler, wall } = this.#world;
    const running = core?.ledger.server(resource)?.action;
    const isKnown = running != null && action === `${resource}.${running.id}`;
    return isKnown ? scheduler.now - (wall.now() - Date.parse(running.started)) : scheduler.now;
  }

  effect(site: string, { resource, operation }: Call): void {
    this.#world.tell(site, () => `${operation} ${resource} has its effect`);
    if (operation === 'delete') {
      this.#gone(resource);
      this.#creates.deleted(resource);
    }
    const isGone = this.#world.sites.find(({ options }) => options.name === site)?.find(resource) === undefined;
    if (!isGone) this.#world.goneUnasked.delete(resource);
    else if (this.#running.get(resource)?.isUnknown) this.#world.goneUnasked.add(resource);
    const makers = this.#world.sites.filter((one) => one.find(resource)?.maker === 'controller');
    // A site that ignores case has it under the spelling in which it was made.
    const spellings = makers.map((one) => one.find(resource)?.name ?? resource);
    if (operation === 'create' && makers.length > 1 && ![resource, ...spellings].some((name) => this.#isLost(name))) {
      this.#world.fail(
        'no two servers of one name at once',
        `${resource} is at ${makers.map((one) => one.options.name).join(' and ')}`,
      );
    }
  }

  ended(site: string, call: Call, answer: Answer | undefined): void {
    const { resource, operation } = call;
    const words = answer === undefined ? 'ends without an answer' : `answers ${answer.outcome}`;
    this.#world.tell(site, () => `${operation} ${resource} ${words}`);
    if (this.#running.get(resource)?.operation === operation) this.#running.delete(resource);
    if (operation === 'check') {
      this.#creates.checked(site, call, answer);
      // Of a check by a proxy the controller knows what its report says.
      if (!this.#isRemote(site)) this.#drift.checked(resource, answer);
    } else if (answer?.outcome === 'absent' && !this.#isRemote(site)) {
      // An update that does not find its server says as much as a check.
      this.#drift.checked(resource, answer);
    }
    // What a proxy's program answered is known once its report is recorded.
    if (operation !== 'check') this.#creates.ended(call, this.#isRemote(site) ? undefined : answer);
    // A proxy reports a program that ended without an answer as one to be tried again.
    this.deletes.ended(call, answer === undefined && this.#isRemote(site) ? 'retryable' : answer?.outcome);
  }

  #isRemote(site: string): boolean {
    return this.#world.sites.some(({ options }) => options.name === site && options.isRemote === true);
  }

  /** Returns the servers of which no store knows any more what runs for them. */
  forget({ isWaitedFor }: { readonly isWaitedFor: boolean }): readonly string[] {
    const names = [...this.#running.keys()];
    if (!isWaitedFor) this.#running.clear();
    for (const call of this.#running.values()) call.isUnknown = true;
    this.#creates.forget(names);
    this.#drift.forget();
    this.deletes.forget();
    return names;
  }

  /** A backup is restored, and its servers have their new incarnations. */
  restored(store: Pick<Store, 'list'>): void {
    this.#creates.restored(store);
  }

  vanished(server: SiteServer): void {
    this.#creates.vanished(server);
    // A request to replace it goes on, whatever is there by then.
    if (this.#world.core?.ledger.server(server.name)?.replacing !== true) this.#gone(server.name);
  }

  /** Who lost the store, or was told to retain a server, may have lost sight of one that is somewhere else since. */
  #isLost(name: string): boolean {
    return this.#world.orphans.has(name) || this.#followed.everRetained;
  }

  #gone(name: string): void {
    this.deletes.gone(name);
    this.#world.approved.delete(name);
    this.#world.asked.replaced.delete(name);
    this.#world.asked.uncounted.delete(name);
  }
}
