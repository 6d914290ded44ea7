// Switches a replica between its roles: it leads or stands by. One role at a time: the next is built once the one
// before has stopped. Knows neither the lease that decides nor what a role is made of.
import { type Clock, pause } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { reasonOf } from '../base/wording.ts';

/** What a replica does. */
export type RoleName = 'leader' | 'standby';

/** The parts of a role. */
export interface BuiltRole {
  /** Ends all of them. A leader also ends what it runs. */
  stop(): Promise<void>;
}

interface RolesOptions<Part extends BuiltRole> {
  /** Builds a role. What it throws is told, and it is tried again, unless another role is wanted by then. */
  readonly make: Readonly<Record<RoleName, () => Promise<Part>>>;
  /** Called with a role once it is there, and with undefined before it stops. Must not throw. */
  readonly show: (role: Part | undefined) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A role that is wanted. Each is another one: who loses the lead and takes it again leads anew. */
interface Wish {
  readonly name: RoleName;
  /** Resolves once nothing of the role before is left. */
  readonly cleared: PromiseWithResolvers<void>;
}

const PAUSE_MS = { first: 1_000, max: 30_000 };

/** The roles of one replica, one after the other. */
export class Roles<Part extends BuiltRole> {
  readonly #options: RolesOptions<Part>;
  #wish: Wish;
  /** The one that is there, with the wish that it fulfils. */
  #present: { readonly wish: Wish; readonly role: Part } | undefined;
  #switching: Promise<void> | undefined;
  /** Fires when another role is wanted, or none. */
  #changed = new AbortController();
  #isStopped = false;

  private constructor(options: RolesOptions<Part>, name: RoleName) {
    this.#options = options;
    this.#wish = wishFor(name);
  }

  /** Returns the roles with the first one there. Throws what building it throws. */
  static async begin<Part extends BuiltRole>(options: RolesOptions<Part>, name: RoleName): Promise<Roles<Part>> {
    const roles = new Roles(options, name);
    await roles.#build(roles.#wish);
    return roles;
  }

  /**
   * Has the replica take a role, also one that it has: then that is built anew. Resolves once the role before has
   * stopped; never rejects.
   */
  async switchTo(name: RoleName): Promise<void> {
    if (this.#isStopped) return;
    const { cleared } = this.#wish;
    this.#wish = wishFor(name);
    void this.#wish.cleared.promise.then(cleared.resolve);
    this.#changed.abort();
    this.#switching ??= this.#switch();
    await this.#wish.cleared.promise;
  }

  /** Ends the role that is there, or being built. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#changed.abort();
    await this.#switching;
    await this.#end();
    this.#wish.cleared.resolve();
  }

  /** Never rejects. */
  async #switch(): Promise<void> {
    let pauseMs = PAUSE_MS.first;
    while (!this.#isStopped && this.#present?.wish !== this.#wish) {
      const wish = this.#wish;
      this.#changed = new AbortController();
      await this.#end();
      wish.cleared.resolve();
      if (await this.#tryToBuild(wish)) continue;
      await pause(this.#options.clock, pauseMs, this.#changed.signal);
      pauseMs = wish === this.#wish ? Math.min(2 * pauseMs, PAUSE_MS.max) : PAUSE_MS.first;
    }
    this.#switching = undefined;
  }

  async #tryToBuild(wish: Wish): Promise<boolean> {
    try {
      await this.#build(wish);
      return true;
    } catch (error) {
      const { log } = this.#options;
      log.error({ err: error, role: wish.name }, `this replica cannot become the ${wish.name}: ${reasonOf(error)}`);
      return false;
    }
  }

  async #build(wish: Wish): Promise<void> {
    const role = await this.#options.make[wish.name]();
    this.#present = { wish, role };
    // What is not wanted any more ends before anybody sees it.
    if (wish === this.#wish) this.#options.show(role);
  }

  async #end(): Promise<void> {
    const ending = this.#present;
    if (ending === undefined) return;
    this.#present = undefined;
    this.#options.show(undefined);
    try {
      await ending.role.stop();
    } catch (error) {
      this.#options.log.error({ err: error, role: ending.wish.name }, 'a role did not stop in order');
    }
  }
}

function wishFor(name: RoleName): Wish {
  return { name, cleared: Promise.withResolvers() };
}
