// Keeps the active desired state, and the newest commit if it is not followed. Only the follower sets them, once they
// are durable; on a standby, the standby follower. Also provides records, secrets and registered proxies for
// reconciling.
import { toRfc3339 } from '../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { nodeAtMoment } from '../desired/node-records.ts';
import { compileSecrets, type Secrets } from '../hiera/secrets.ts';
import { isValidEntry } from '../model/entry.ts';
import type { Json } from '../model/json.ts';
import { isWorking } from '../model/least-rights.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { RegisteredProxy } from '../reconcile/waits/proxy-presence.ts';

/** The desired state that readers see. */
export class CurrentState {
  #desired: DesiredState | undefined;
  #version = 0;
  #refused: RefusedCommit | undefined;
  #invalid: ReadonlyMap<string, string> = new Map();
  #watchers: (() => void)[] = [];

  /** Returns the active desired state, or undefined before the first valid commit. */
  get(): DesiredState | undefined {
    return this.#desired;
  }

  /** Increases with every shown desired state. */
  get version(): number {
    return this.#version;
  }

  /** Calls `watcher` after each change of the desired state or the newest commit. `watcher` must not throw. */
  watch(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  /** Removes the watchers, because this process no longer leads. The shown state stays. */
  forgetWatchers(): void {
    this.#watchers = [];
  }

  /** The newest commit, if it is not followed. */
  get refused(): RefusedCommit | undefined {
    return this.#refused;
  }

  /**
   * Returns since when this process has known an instance's newest version as invalid, RFC 3339; undefined if it is
   * valid.
   */
  invalidSince(instance: string): string | undefined {
    return this.#invalid.get(instance);
  }

  /**
   * Sets the active desired state. If its commit is unchanged, because it was judged again, a refused newer commit
   * stays refused.
   */
  set(desired: DesiredState, now: number): void {
    this.#invalid = new Map([...desired.invalid].map((name) => [name, this.#invalid.get(name) ?? toRfc3339(now)]));
    if (desired.commit !== this.#desired?.commit) this.#refused = undefined;
    this.#desired = desired;
    this.#version += 1;
    this.#notify();
  }

  /** Shows nothing, as at a start, because the shown state is not the recorded one. */
  forget(): void {
    if (this.#desired === undefined) return;
    this.#desired = undefined;
    this.#version += 1;
    this.#notify();
  }

  /** Records that the newest commit is followed. */
  catchUp(): void {
    if (this.#refused === undefined) return;
    this.#refused = undefined;
    this.#notify();
  }

  /** Records that a commit is not followed. If it was refused before with the same kind of hold, `since` stays. */
  refuse(refused: RefusedCommit): void {
    const last = this.#refused;
    const isKnown = last?.commit === refused.commit && last.hold?.kind === refused.hold?.kind;
    this.#refused = isKnown ? { ...refused, since: last.since } : refused;
    this.#notify();
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

/**
 * Returns a function that returns the record of a server. It throws if nothing is active or the server has no record.
 */
export function activeRecords(current: CurrentState, rows: Ledger): (server: string) => NodeRecord {
  return (server) => {
    const desired = current.get();
    const node = desired && nodeAtMoment({ desired, rows }, server);
    if (node === undefined) throw new Error(`no active unit has the server "${server}"`);
    return node.record();
  };
}

/** Returns a function that returns whether a key is for a secret: true for every key if nothing is active. */
export function activeSecrets(current: CurrentState): (key: string) => boolean {
  return (key) => secretRulesOf(current.get())?.isSecret(key) ?? true;
}

/**
 * Returns a function that returns whether a value is a reference to a secret: true for every value if nothing is
 * active.
 */
export function activeReferences(current: CurrentState): (value: Json) => boolean {
  return (value) => secretRulesOf(current.get())?.isReference(value) ?? true;
}

/** Returns the rules for secrets of a desired state; undefined if its hierarchy is not known. */
export function secretRulesOf(desired: Partial<Pick<DesiredState, 'catalog'>> | undefined): Secrets | undefined {
  const hierarchy = desired?.catalog?.hierarchy;
  return hierarchy !== undefined && isValidEntry(hierarchy) ? compileSecrets(hierarchy.object) : undefined;
}

type Clients = DesiredState['clients'];

/**
 * Returns a function that returns the registered proxies, as the same array for the same clients; undefined if nothing
 * is active.
 */
export function registeredProxies(current: CurrentState): () => readonly RegisteredProxy[] | undefined {
  const known = new WeakMap<Clients, readonly RegisteredProxy[]>();
  return () => {
    const clients = current.get()?.clients;
    if (clients === undefined) return undefined;
    const proxies = known.get(clients) ?? proxiesIn(clients);
    known.set(clients, proxies);
    return proxies;
  };
}

function proxiesIn(clients: Clients): readonly RegisteredProxy[] {
  return [...clients].flatMap(
    ([
      serial,
      {
        entry: { object },
      },
    ]) => (isWorking(object) ? [{ serial, tags: object.tags ?? [] }] : []),
  );
}
