// Watches the deletes: none that nobody meant, and no more of those that nobody approved than the budget leaves.
import type { Answer } from '../../src/model/call-result.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Call } from '../../src/providers/provider.ts';
import type { Followed } from './followed.ts';
import { whyNotDeleted } from './judge-delete.ts';
import type { CreateWatch } from './watch-creates.ts';
import type { World } from './world.ts';

const HOUR_MS = 3_600_000;
/** How many deletes and replacements need no approval, as the simulated settings say. */
export const BUDGET = 2;

/** How long after it was decided on and claimed a call may begin: a proxy's program begins before its deadline. */
const BEGINS_MS = 120_000;

interface Removal {
  readonly name: string;
  /** `<server>/<incarnation>`; undefined where no row was left. */
  readonly building: string | undefined;
  /** In time that passed for anybody: simulated time, and what clocks were set forward. */
  readonly time: number;
}

/** What was followed, and what an operator had asked for, when a proxy claimed a delete. */
interface ClaimedDelete extends Pick<Followed, 'all' | 'last'> {
  readonly isReplaceable: boolean;
  readonly isApproved: boolean;
}

export class DeleteWatch {
  readonly #world: World;
  readonly #followed: Followed;
  readonly #creates: CreateWatch;
  /** What decided when a proxy claimed a delete, by its id: it may begin later, on what somebody built by then. */
  readonly #claimed = new Map<string, ClaimedDelete>();
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
  /** Servers whose site said last that it failed to create them: they do not count, though something may be there. */
  readonly #unmade = new Set<string>();
  /** Buildings, `<server>/<incarnation>`, whose delete began with an approval that the controller had noted, or got one while it ran. */
  readonly approvedDeletes = new Set<string>();

  constructor(world: World, followed: Followed, creates: CreateWatch) {
    this.#world = world;
    this.#followed = followed;
    this.#creates = creates;
  }

  /** Notes that a proxy has claimed a delete: what was followed and asked for by then decides whether it is right. */
  claimed({ id, resource }: { readonly id: string; readonly resource: string }): void {
    const all = [...this.#followed.all];
    const isApproved = this.#world.approved.has(resource);
    this.#claimed.set(id, { all, last: all.at(-1), isReplaceable: this.#isReplaceable(resource), isApproved });
  }

  #isReplaceable(name: string): boolean {
    return this.#replaceable.has(name) || this.#world.asked.replaced.has(name);
  }

  /** Looks at a delete that begins. */
  began(site: string, { resource, action }: Call): void {
    const server = this.#world.sites.find((one) => one.options.name === site)?.find(resource);
    if (server === undefined) return;
    const row = this.#world.core?.ledger.server(resource);
    const building = row === undefined ? undefined : `${resource}/${row.incarnation}`;
    const isMistaken = this.#creates.isMistaken(server);
    // A delete whose outcome was lost is repeated on what a stranger built meanwhile: it is the same delete.
    const isRepeated = isMistaken && building !== undefined && this.#counted.has(building);
    const isReplaceable =
      this.#isReplaceable(resource) ||
      this.#claimed.get(action)?.isReplaceable === true ||
      (isRepeated && this.#replaced.has(building));
    if (this.#world.asked.retained.has(resource))
      this.#world.fail('no server is deleted that an operator had forgotten', resource);
    const isUnmade = this.#unmade.has(resource) && row?.applied === null;
    const deletion = { server, resource, isReplaceable, isUnmade, isMistaken, decidedAt: this.#decidedAt(row) };
    // What a proxy has claimed has begun, though its program begins later.
    const followed = this.#claimed.get(action) ?? this.#followed;
    const why = whyNotDeleted(this.#world, followed, deletion);
    if (why !== undefined) this.#world.fail(why.promise, why.facts);
    if (row?.approved && this.#world.approved.has(resource)) this.approvedDeletes.add(`${resource}/${row.incarnation}`);
    if (!isRepeated && this.#claimed.get(action)?.isApproved !== true) this.#count(resource, building);
    if (building === undefined) return;
    this.#counted.add(building);
    if (isReplaceable) this.#replaced.add(building);
  }

  /** Returns when the running action of a server was decided on; undefined where the clock may have been set since. */
  #decidedAt(row: ServerRow | undefined): number | undefined {
    const { scheduler, wall } = this.#world;
    const since = Math.min(this.#followed.last?.since ?? 0, scheduler.now - BEGINS_MS);
    if (row?.action == null || wall.setAt > since) return undefined;
    return scheduler.now - (wall.now() - Date.parse(row.action.started));
  }

  /** Every incarnation counts once, from the start of its first delete, for an hour. */
  #count(name: string, building: string | undefined): void {
    if (this.#going.has(name)) return;
    this.#going.add(name);
    if (this.#world.approved.has(name) || (building !== undefined && this.approvedDeletes.has(building))) return;
    if (this.#unmade.has(name) && this.#world.core?.ledger.server(name)?.applied === null) return;
    const now = this.#world.scheduler.now + this.#world.wall.forwardMs;
    this.#removals = this.#removals.filter(({ time }) => time > now - HOUR_MS);
    this.#removals.push({ name, building, time: now });
    const counted = this.#removals.filter((one) => !this.#world.approved.has(one.name));
    if (counted.length <= BUDGET) return;
    const names = counted.map((one) => one.name).join(', ');
    this.#world.fail(
      'no more unapproved deletes in any hour than the budget',
      `${counted.length} of ${BUDGET}: ${names}`,
    );
  }

  /** Notes how a call has ended. */
  ended({ resource, operation }: Pick<Call, 'resource' | 'operation'>, outcome: Answer['outcome'] | undefined): void {
    if (operation === 'check') return;
    const isRefused = outcome === 'retryable' || outcome === 'failed';
    if (operation === 'create' && isRefused) this.#unmade.add(resource);
    else if (operation !== 'delete') this.#unmade.delete(resource);
    if (operation === 'update' && outcome === 'replace') this.#replaceable.add(resource);
  }

  /** Notes that a server is gone. */
  gone(name: string): void {
    // One that was approved after it had begun does not count any more.
    if (this.#world.approved.has(name)) this.#removals = this.#removals.filter((one) => one.name !== name);
    this.#replaceable.delete(name);
    this.#unmade.delete(name);
    this.#going.delete(name);
  }

  /** The store is lost, and what counted with it. */
  forget(): void {
    this.#removals = [];
  }

  /** Forgets that the delete of an incarnation began with an approval. */
  forgetApproval(server: string, incarnation: number): void {
    if (this.approvedDeletes.size > 0) this.approvedDeletes.delete(`${server}/${incarnation}`);
  }
}
