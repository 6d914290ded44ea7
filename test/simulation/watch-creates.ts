// Watches that nothing is created on a guess: a check at the same site comes before each create, at most half a minute old.
import type { Answer } from '../../src/model/call-result.ts';
import type { Call } from '../../src/providers/provider.ts';
import type { Store } from '../../src/store/store.ts';
import { SLOW_MS } from './simulated-disk.ts';
import type { SiteServer } from './simulated-site.ts';
import type { World } from './world.ts';

/** Half a minute, and the time that a slow disk takes for the commit under way and for the intent. */
const CHECK_AGE_MS_MAX = 30_000 + 2 * SLOW_MS;
/** The answer of a proxy may come as late as its report: after the deadline and the grace. */
const REPORT_MS_MAX = 70_000;

/** A check, the create after it, and the check after that one may take so long together; nobody sees what is built meanwhile. */
const UNSEEN_MS_MAX = 90_000;

interface Check {
  readonly time: number;
  readonly isAbsent: boolean;
}

export class CreateWatch {
  readonly #world: World;
  /** The last check of each server, by site: what another site answers says nothing of this one. */
  readonly #checks = new Map<string, Map<string, Check>>();
  /** When each server was found absent last. */
  readonly #absences = new Map<string, number>();
  /** By server, the create that proxies have claimed last, and when: it may begin as late as its deadline. */
  readonly #claims = new Map<string, { readonly action: string; readonly time: number }>();
  /** The last create of each server: who repeats it may find what it left. */
  readonly #creates = new Map<string, string>();
  /** Servers that a create may have made, with its site where that is known: none has said so, and no check there has found them absent since. */
  readonly #unsure = new Map<string, string | undefined>();
  /** When the first check of such a server, since the last one that told, ended without telling whether it is there. */
  readonly #untold = new Map<string, number>();
  /** When a stranger built each server that a check found then, where no check before it could tell of it. */
  readonly #takenFor = new Map<string, number>();
  /** Servers of which a create runs: a check that finds them absent says nothing of what it is about to make. */
  readonly #making = new Set<string>();
  /** Servers of which a delete began after their last create; the next create bears another id. */
  readonly #deleting = new Set<string>();
  /** Servers that count as the controller's, vanished, and were not found absent since. */
  readonly #vanished = new Set<string>();
  /** Servers for which an action runs of which no row tells: it may make them after a check has found them absent. */
  readonly #lost = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  checked(site: string, { resource }: Call, answer: Answer | undefined): void {
    if (answer?.outcome !== 'absent' && answer?.outcome !== 'done') {
      if (this.#unsure.has(resource) && !this.#untold.has(resource))
        this.#untold.set(resource, this.#world.scheduler.now);
      return;
    }
    const isAbsent = answer.outcome === 'absent';
    if (isAbsent) {
      this.#absences.set(resource, this.#world.scheduler.now);
      // Whatever comes under the name of a server at rest that is gone is taken for it, as if it had come back.
      if (this.#world.core?.ledger.server(resource)?.applied == null) this.#vanished.delete(resource);
      // Who looks after another site cannot tell.
      if ((this.#unsure.get(resource) ?? site) === site && !this.#making.has(resource)) this.#unsure.delete(resource);
    }
    if (!isAbsent) this.#noteTaken(site, resource);
    this.#untold.delete(resource);
    const checks = this.#checks.get(resource) ?? new Map<string, Check>();
    this.#checks.set(resource, checks.set(site, { time: this.#world.scheduler.now, isAbsent }));
    // What is there later was made later.
    const isNowhere = this.#world.sites.every((one) => one.find(resource) === undefined);
    if (isAbsent && isNowhere && !this.#lost.has(resource)) this.#world.orphans.delete(resource);
  }

  /**
   * What a stranger built after a lost create, while the site answered no check, is taken for what that create has made; after a lost delete,
   * for what that has left.
   */
  #noteTaken(site: string, name: string): void {
    const since = this.#untold.get(name);
    const time = this.#world.sites.find(({ options }) => options.name === site)?.find(name)?.builtAt;
    if (time === undefined) return;
    const isTaken = this.#vanished.has(name) || (since !== undefined && since <= time);
    if (isTaken) this.#takenFor.set(name, time);
  }

  /** Notes that a server is gone though nobody was asked. */
  vanished(server: SiteServer): void {
    if (server.maker === 'controller' || this.isMistaken(server)) this.#vanished.add(server.name);
  }

  /** Notes that a proxy has claimed a create. */
  claimed(name: string, action: string): void {
    if (this.#claims.get(name)?.action === action) this.#creates.set(name, action);
    this.#claims.set(name, { action, time: this.#world.scheduler.now });
  }

  /** Notes that a delete begins. */
  deleteBegan(name: string): void {
    this.#deleting.add(name);
  }

  /** Notes that a delete took effect: until its answer comes, nobody can know that the server is gone. */
  deleted(name: string): void {
    this.#vanished.add(name);
  }

  /** Notes that an action ended; a delete that says so leaves nothing of the server. */
  ended({ resource, operation }: Pick<Call, 'resource' | 'operation'>, answer: Answer | undefined): void {
    this.#lost.delete(resource);
    if (operation === 'create') this.#making.delete(resource);
    if (operation === 'create' && answer?.outcome === 'done') this.#unsure.delete(resource);
    const isGone = answer?.outcome === 'done' || answer?.outcome === 'absent';
    if (operation !== 'delete' || !isGone) return;
    this.#vanished.delete(resource);
    this.#deleting.delete(resource);
    this.#unsure.delete(resource);
  }

  /** The store is lost: no row tells of a server that vanished, nor of the actions that run. */
  forget(running: Iterable<string>): void {
    this.#vanished.clear();
    this.#deleting.clear();
    this.#unsure.clear();
    this.#untold.clear();
    for (const name of running) this.#lost.add(name);
  }

  /**
   * A backup is restored. What a failed create may have left by then is the controller's own until a check finds it absent: that
   * create is repeated under the number of the new incarnation.
   */
  restored(store: Pick<Store, 'list'>): void {
    for (const [name, { applied, mayExist, action, incarnation, dirty }] of store.list('server')) {
      if (applied !== null || !mayExist || action !== null) continue;
      this.#creates.set(name, `${name}.${incarnation + (dirty ? 1 : 0)}.create`);
      this.#unsure.set(name, undefined);
    }
  }

  /**
   * Whether nobody can tell it from what the controller made: somebody built it between a check and the create that
   * followed, after that create while no check was answered, or in the place of one that is recorded as done, which is not
   * checked again.
   */
  isMistaken({ name, builtAt }: SiteServer): boolean {
    const untold = this.#untold.get(name);
    if (untold !== undefined && untold <= builtAt) return true;
    if (this.#vanished.has(name) || this.#takenFor.get(name) === builtAt) return true;
    const absence = this.#absences.get(name);
    // A create that a proxy has claimed may have begun: the controller cannot know that it has not.
    const isBegun = this.#creates.has(name) || this.#claims.has(name);
    return absence !== undefined && isBegun && builtAt - absence < UNSEEN_MS_MAX;
  }

  began(site: string, { resource, action, properties }: Call): void {
    if (properties.site !== site) {
      const words = `${resource} at ${site}, which is to be at ${String(properties.site)}`;
      this.#world.fail('a server is made where it is wanted', words);
    }
    const why = this.#whyNot(site, resource, action);
    this.#vanished.delete(resource);
    this.#creates.set(resource, action);
    this.#making.add(resource);
    this.#deleting.delete(resource);
    this.#unsure.set(resource, site);
    this.#untold.delete(resource);
    if (why !== undefined) this.#world.fail('no create without a check before it', `${resource} at ${site} ${why}`);
  }

  /** A create may find what an earlier create left after a lost delete, or a server that nobody can tell from that. */
  #isRest(site: string, name: string): boolean {
    const server = this.#world.sites.find(({ options }) => options.name === site)?.find(name);
    const isOwn = server?.maker === 'controller' && !this.#world.orphans.has(name);
    if (server !== undefined && this.isMistaken(server)) return true;
    return this.#deleting.has(name) && (server === undefined || isOwn);
  }

  #whyNot(site: string, resource: string, action: string): string | undefined {
    const check = this.#checks.get(resource)?.get(site);
    const { scheduler, wall } = this.#world;
    if (check === undefined) return 'was never checked there';
    const isRepeated = this.#creates.get(resource) === action && this.#unsure.has(resource);
    if (!check.isAbsent && !isRepeated && !this.#isRest(site, resource)) return 'was there when it was checked';
    const isRemote = this.#world.sites.some(({ options }) => options.name === site && options.isRemote === true);
    const claim = isRemote ? this.#claims.get(resource) : undefined;
    // A proxy may begin what it has claimed as late as its deadline; nobody calls it back.
    const age = (claim?.action === action ? claim.time : scheduler.now) - check.time;
    const ageMax = CHECK_AGE_MS_MAX + (isRemote ? REPORT_MS_MAX : 0);
    const isOld = age > ageMax && wall.setAt < check.time;
    return isOld ? `was checked ${Math.round(age / 1000)} s before` : undefined;
  }
}
