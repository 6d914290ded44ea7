// Holds the active desired state, and the newest commit where it is not followed. Only the follower sets them, the
// desired state once it is durable; beside a leader, the standby follower. The functions answer what reconciling asks of
// it: records, secrets, registered proxies.
import { momentOf } from '../base/wording.ts';
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

  /** Increases with every desired state that is shown. */
  get version(): number {
    return this.#version;
  }

  /** Calls `watcher` after each change of the desired state or of the newest commit. It must not throw. */
  watch(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  /** Forgets the watchers: this process does not lead any more, and what watched is stopped. What is shown stays. */
  forgetWatchers(): void {
    this.#watchers = [];
  }

  /** The newest commit, if it is not followed. */
  get refused(): RefusedCommit | undefined {
    return this.#refused;
  }

  /** Returns since when this process has seen the newest version of an instance invalid, RFC 3339; undefined: it is valid. */
  invalidSince(instance: string): string | undefined {
    return this.#invalid.get(instance);
  }

  /**
   * Sets the active desired state, at a time. That of the same commit, judged again, does not make a refused newer
   * commit valid.
   */
  set(desired: DesiredState, now: number): void {
    this.#invalid = new Map([...desired.invalid].map((name) => [name, this.#invalid.get(name) ?? momentOf(now)]));
    if (desired.commit !== this.#desired?.commit) this.#refused = undefined;
    this.#desired = desired;
    this.#version += 1;
    this.#notify();
  }

  /** Shows nothing, as at a start: what was shown is not what is recorded. */
  forget(): void {
    if (this.#desired === undefined) return;
    this.#desired = undefined;
    this.#version += 1;
    this.#notify();
  }

  /** Notes that the newest commit is followed. */
  catchUp(): void {
    if (this.#refused === undefined) return;
    this.#refused = undefined;
    this.#notify();
  }

  /** Notes that a commit is not followed; the time of a commit that was refused for the same before stays. */
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

/** Returns a function from a server to its record. It throws where nothing is active, or the server has none. */
export function activeRecords(current: CurrentState, rows: Ledger): (server: string) => NodeRecord {
  return (server) => {
    const desired = current.get();
    const node = desired && nodeAtMoment({ desired, rows }, server);
    if (node === undefined) throw new Error(`no active unit has the server "${server}"`);
    return node.record();
  };
}

/** Returns a function that returns whether a key is for a secret. Every key may be where nothing is active. */
export function activeSecrets(current: CurrentState): (key: string) => boolean {
  return (key) => secretRulesOf(current.get())?.isSecret(key) ?? true;
}

/**
 * Returns a function that returns whether a value is a reference to a secret. Every value may be where nothing is
 * active.
 */
export function activeReferences(current: CurrentState): (value: Json) => boolean {
  return (value) => secretRulesOf(current.get())?.isReference(value) ?? true;
}

/** Returns the rules of a desired state; undefined where its hierarchy is not known. */
export function secretRulesOf(desired: Partial<Pick<DesiredState, 'catalog'>> | undefined): Secrets | undefined {
  const hierarchy = desired?.catalog?.hierarchy;
  return hierarchy !== undefined && isValidEntry(hierarchy) ? compileSecrets(hierarchy.object) : undefined;
}

type Clients = DesiredState['clients'];

/**
 * Returns a function that returns the registered proxies, the same array for the same clients; undefined where nothing
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
