// Watches every call to a site: never two for one server, no delete that nobody meant, and not too many.
import type { Answer } from '../../src/model/call-result.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Call } from '../../src/providers/provider.ts';
import type { AgentAction } from '../../src/service/agent.ts';
import type { Facts } from './facts.ts';
import type { Followed } from './followed.ts';
import { whyNotDeleted } from './judge-delete.ts';
import type { SiteServer, SiteWatch } from './simulated-site.ts';
import { CreateWatch } from './watch-creates.ts';
import type { DriftWatch } from './watch-drift.ts';
import { RateWatch } from './watch-rates.ts';

const HOUR_MS = 3_600_000;
/** How many deletes and replacements need no approval, as the simulated settings say. */
export const BUDGET = 2;

/** How long after it was decided on and claimed a call may begin: a proxy's program begins before its deadline. */
const BEGINS_MS = 120_000;

interface Running {
  readonly operation: string;
  readonly site: string;
  readonly began: number;
  readonly life: unknown;
}

interface Removal {
  readonly name: string;
  /** In time that passed for anybody: simulated time, and what clocks were set forward. */
  readonly time: number;
}

export class CallWatch implements SiteWatch {
  readonly #facts: Facts;
  readonly #followed: Followed;
  /** The commits that were followed when a proxy claimed an action, by its id. */
  readonly #claimed = new Map<string, Pick<Followed, 'all' | 'last'>>();
  readonly #running = new Map<string, Running>();
  readonly #creates: CreateWatch;
  readonly #drift: DriftWatch;
  readonly #rates: RateWatch;
  /** Servers whose site said that they can only be replaced. */
  readonly #replaceable = new Set<string>();
  /** Deletes that began and nobody approved, one for each incarnation of a server. */
  #removals: Removal[] = [];
  /** Servers of which a delete has begun. */
  readonly #going = new Set<string>();
  /** Incarnations of servers of which a delete began. */
  readonly #counted = new Set<string>();
  /** Those that began in order to make the server anew. */
  readonly #replaced = new Set<string>();
  readonly #unmade = new Set<string>();
  /** Every server that a controller ever asked a site to make. */
  readonly made = new Set<string>();
  /** Buildings, `<server>/<incarnation>`, whose delete began with an approval that the controller had noted. */
  readonly approvedDeletes = new Set<string>();
  count = 0;

  constructor(facts: Facts, followed: Followed, drift: DriftWatch) {
    this.#facts = facts;
    this.#drift = drift;
    this.#followed = followed;
    this.#creates = new CreateWatch(facts);
    this.#rates = new RateWatch(facts);
  }

  /** How many calls are under way. */
  get running(): number {
    return this.#running.size;
  }

  /** Notes that a proxy has claimed an action: of a delete, what was followed by then decides whether that was right. */
  claimed({ operation, resource, id }: Pick<AgentAction, 'operation' | 'resource' | 'id'>): void {
    if (operation === 'create') this.made.add(resource);
    if (operation !== 'delete') return;
    // The proxy may die before it begins; the controller knows of the claim only.
    this.#creates.deleteBegan(resource);
    const all = [...this.#followed.all];
    this.#claimed.set(id, { all, last: all.at(-1) });
  }

  /** Notes that the report of a proxy is recorded. */
  reported(call: Pick<Call, 'resource' | 'operation'>, answer: Answer): void {
    this.#creates.ended(call, answer);
  }

  began(site: string, call: Call): void {
    const { resource, operation } = call;
    const { scheduler } = this.#facts;
    this.#followed.note();
    this.count += 1;
    this.#facts.tell(site, () => `${operation} ${resource} begins (${call.action})`);
    const { core } = this.#facts;
    if (core !== undefined && core.current.get() === undefined)
      this.#facts.fail('no call begins while no commit is active', `${operation} ${resource}`);
    const other = this.#running.get(resource);
    // One controller knows what it began itself, whatever the clock says.
    const isCertain = other?.life === this.#facts.core || this.#facts.wall.setAt < (other?.began ?? 0);
    // A check changes nothing, so one that a controller before this one began may still run.
    const isCheck = other?.operation === 'check';
    if (other !== undefined && (isCheck ? other.life === this.#facts.core : isCertain)) {
      this.#facts.fail(
        'no call overlaps another for one server',
        `${operation} ${resource} began during its ${other.operation}`,
      );
    }
    this.#drift.began(site, call, this.#operations());
    this.#running.set(resource, { operation, site, began: scheduler.now, life: this.#facts.core });
    if (operation === 'create') {
      this.made.add(resource);
      this.#creates.began(site, call);
    }
    if (operation === 'delete') {
      this.#creates.deleteBegan(resource);
      this.#watchDelete(site, call);
    }
    this.#rates.began(call);
  }

  effect(site: string, { resource, operation }: Call): void {
    this.#facts.tell(site, () => `${operation} ${resource} has its effect`);
    if (operation === 'delete') {
      this.#gone(resource);
      this.#creates.deleted(resource);
    }
    const real = this.#facts.sites.filter(({ options }) => options.isPretending !== true);
    const makers = real.filter((one) => one.find(resource)?.maker === 'controller');
    // A site that ignores case has it under the spelling in which it was made.
    const spellings = makers.map((one) => one.find(resource)?.name ?? resource);
    if (operation === 'create' && makers.length > 1 && ![resource, ...spellings].some((name) => this.#isLost(name))) {
      this.#facts.fail(
        'no two servers of one name at once',
        `${resource} is at ${makers.map((one) => one.options.name).join(' and ')}`,
      );
    }
  }

  ended(site: string, call: Call, answer: Answer | undefined): void {
    const { resource, operation } = call;
    const words = answer === undefined ? 'ends without an answer' : `answers ${answer.outcome}`;
    this.#facts.tell(site, () => `${operation} ${resource} ${words}`);
    if (this.#running.get(resource)?.operation === operation) this.#running.delete(resource);
    if (operation === 'check') {
      this.#creates.checked(call, answer);
      // Of a check by a proxy the controller knows what its report says.
      if (!this.#isRemote(site)) this.#drift.checked(resource, answer);
    }
    // What a proxy's program answered is known once its report is recorded.
    if (operation !== 'check') this.#creates.ended(call, this.#isRemote(site) ? undefined : answer);
    if (operation !== 'check') this.#noteUnmade(site, call, answer);
    if (operation === 'update' && answer?.outcome === 'replace') this.#replaceable.add(resource);
  }

  /** Forgets that the delete of an incarnation began with an approval. */
  forgetApproval(server: string, incarnation: number): void {
    if (this.approvedDeletes.size > 0) this.approvedDeletes.delete(`${server}/${incarnation}`);
  }

  #isRemote(site: string): boolean {
    return this.#facts.sites.some(({ options }) => options.name === site && options.isRemote === true);
  }

  *#operations(): Generator<readonly [string, string]> {
    for (const [name, { operation, life }] of this.#running) if (life === this.#facts.core) yield [name, operation];
  }

  /** What a site said that it failed to create does not count against the budget, though something may be there. */
  #noteUnmade(site: string, { resource, operation }: Call, answer: Answer | undefined): void {
    // A proxy reports a program that ended without an answer as one to be tried again.
    const outcome = answer === undefined && this.#isRemote(site) ? 'retryable' : answer?.outcome;
    const isRefused = outcome === 'retryable' || outcome === 'failed';
    if (operation === 'create' && isRefused) this.#unmade.add(resource);
    else if (operation !== 'delete') this.#unmade.delete(resource);
  }

  /** Returns the servers of which nobody can know any more what runs for them: the store is lost. */
  forget(): readonly string[] {
    const names = [...this.#running.keys()];
    this.#running.clear();
    this.#creates.forget(names);
    this.#drift.forget();
    // What counted is forgotten with it.
    this.#removals = [];
    return names;
  }

  vanished(server: SiteServer): void {
    this.#creates.vanished(server);
    this.#gone(server.name);
  }

  /** Who lost the store, or was told to retain a server, may have lost sight of one that is somewhere else since. */
  #isLost(name: string): boolean {
    return this.#facts.orphans.has(name) || this.#followed.everRetained;
  }

  #gone(name: string): void {
    // One that was approved after it had begun does not count any more.
    if (this.#facts.approved.has(name)) this.#removals = this.#removals.filter((one) => one.name !== name);
    this.#facts.approved.delete(name);
    this.#replaceable.delete(name);
    this.#facts.asked.replaced.delete(name);
    this.#facts.asked.uncounted.delete(name);
    this.#unmade.delete(name);
    this.#going.delete(name);
  }

  #watchDelete(site: string, { resource, action }: Call): void {
    const server = this.#facts.sites.find((one) => one.options.name === site)?.find(resource);
    if (server === undefined) return;
    const row = this.#facts.core?.ledger.server(resource);
    const building = row === undefined ? undefined : `${resource}/${row.incarnation}`;
    const isMistaken = this.#creates.isMistaken(server);
    // A delete whose outcome was lost is repeated on what a stranger built meanwhile: it is the same delete.
    const isRepeated = isMistaken && building !== undefined && this.#counted.has(building);
    const isReplaceable =
      this.#replaceable.has(resource) ||
      this.#facts.asked.replaced.has(resource) ||
      (isRepeated && this.#replaced.has(building));
    if (this.#facts.asked.retained.has(resource))
      this.#facts.fail('no server is deleted that a person had forgotten', resource);
    const isUnmade = this.#unmade.has(resource) && row?.applied === null;
    const deletion = { server, resource, isReplaceable, isUnmade, isMistaken, decidedAt: this.#decidedAt(row) };
    // What a proxy has claimed has begun, though its program begins later.
    const followed = this.#claimed.get(action) ?? this.#followed;
    const why = whyNotDeleted(this.#facts, followed, deletion);
    if (why !== undefined) this.#facts.fail(why.promise, why.facts);
    if (row?.approved && this.#facts.approved.has(resource)) this.approvedDeletes.add(`${resource}/${row.incarnation}`);
    if (!isRepeated) this.#count(resource);
    if (building === undefined) return;
    this.#counted.add(building);
    if (isReplaceable) this.#replaced.add(building);
  }

  /** Returns when the running action of a server was decided on; undefined where the clock may have been set since. */
  #decidedAt(row: ServerRow | undefined): number | undefined {
    const { scheduler, wall } = this.#facts;
    const since = Math.min(this.#followed.last?.since ?? 0, scheduler.now - BEGINS_MS);
    if (row?.action == null || wall.setAt > since) return undefined;
    return scheduler.now - (wall.now() - Date.parse(row.action.started));
  }

  /** Every incarnation counts once, from the begin of its first delete, for an hour. */
  #count(name: string): void {
    if (this.#going.has(name)) return;
    this.#going.add(name);
    if (this.#facts.approved.has(name)) return;
    if (this.#unmade.has(name) && this.#facts.core?.ledger.server(name)?.applied === null) return;
    const now = this.#facts.scheduler.now + this.#facts.wall.forwardMs;
    this.#removals = this.#removals.filter(({ time }) => time > now - HOUR_MS);
    this.#removals.push({ name, time: now });
    const counted = this.#removals.filter((one) => !this.#facts.approved.has(one.name));
    if (counted.length <= BUDGET) return;
    const names = counted.map((one) => one.name).join(', ');
    this.#facts.fail(
      'no more unapproved deletes in any hour than the budget',
      `${counted.length} of ${BUDGET}: ${names}`,
    );
  }
}
