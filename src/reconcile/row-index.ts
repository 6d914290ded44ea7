// Indexes the rows by dependency, group and instance. Updated row by row, so that a question about one server does not
// walk over all of them.

import { attentionKeyOf } from '../machine/attention.ts';
import { isHealQueued, mayCountAsGone } from '../machine/drift.ts';
import { isBeingRemoved, isMade } from '../machine/existence.ts';
import { specsInUse } from '../machine/holders.ts';
import { placeKeys } from '../machine/place.ts';
import { siteKeyOfRow } from '../machine/responsibility.ts';
import { type GroupView, groupOf, openUpdateOf } from '../machine/rollout.ts';
import { compareNames, PROXIED } from '../model/names.ts';
import { allServersRead } from '../model/outputs.ts';
import type { ServerRow } from '../model/rows.ts';
import { GroupCounts } from './group-counts.ts';

type OptionalRow = ServerRow | undefined;

/** The index over the rows of all servers. */
export class RowIndex {
  /** By server, the names of the servers that depend on it or list it, by their applied spec or a running action's. */
  readonly #dependents = new NameSets();
  /** By server, the names of the servers that depend on it or take outputs of it, by their wanted spec. */
  readonly #users = new NameSets();
  readonly #counts = new GroupCounts();
  readonly #instances = new NameSets();
  /** By followed commit, the names of the servers that gave up on its update. */
  readonly #failedUpdates = new NameSets();
  /** By site, the names of its servers, and of those that may count as gone. */
  readonly #sites = new NameSets();
  readonly #gone = new NameSets();
  /** By key of a place, the names of the servers that were found there. */
  readonly #places = new NameSets();
  /** Names of the servers that are to be deleted or replaced without approval, by instance. */
  readonly #removals = new NameSets();
  /** By instance, names of the servers that no commit wants. */
  readonly #unwanted = new NameSets();
  /** By cause, the names of the servers that need a person. */
  readonly #attention = new NameSets();
  #madeCount = 0;
  /** By commit, names of the servers that wait for its update or are in it, and of those that it heals. */
  readonly #openUpdates = new NameSets();
  readonly #queuedHeals = new NameSets();

  /** Updates the index for one row; undefined if there is none. */
  follow(name: string, before: OptionalRow, after: OptionalRow): void {
    this.#madeCount += countOfMade(after) - countOfMade(before);
    this.#failedUpdates.move(name, keysOf(before, failedUpdateOf), keysOf(after, failedUpdateOf));
    this.#removals.move(name, keysOf(before, removalOf), keysOf(after, removalOf));
    this.#sites.moveOne(name, before && siteKeyOfRow(before), after && siteKeyOfRow(after));
    this.#gone.moveOne(name, before && goneOf(before), after && goneOf(after));
    if (before?.place !== after?.place || before?.proxyTags !== after?.proxyTags) {
      this.#places.move(
        name,
        before === undefined ? [] : placeKeys(before),
        after === undefined ? [] : placeKeys(after),
      );
    }
    this.#unwanted.moveOne(name, before && unwantedOf(before), after && unwantedOf(after));
    this.#openUpdates.moveOne(name, before && openUpdateOf(before), after && openUpdateOf(after));
    this.#queuedHeals.moveOne(name, before && queuedHealOf(before), after && queuedHealOf(after));
    this.#attention.moveOne(name, before && attentionKeyOf(before), after && attentionKeyOf(after));
    this.#counts.follow(name, after, after === undefined ? '' : groupOf(after));
    if (before?.applied !== after?.applied || before?.action !== after?.action) {
      const [needed, needs] = [neededBy(before), neededBy(after)];
      this.#dependents.move(name, needed.difference(needs), needs.difference(needed));
    }
    if (before?.wanted !== after?.wanted) {
      const [old, now] = [usedBy(before), usedBy(after)];
      this.#users.move(name, old.difference(now), now.difference(old));
    }
    if (before?.instance !== after?.instance) {
      this.#instances.move(
        name,
        keysOf(before, (row) => row.instance),
        keysOf(after, (row) => row.instance),
      );
    }
  }

  /** How many servers were made or adopted, or may be made by an action under way. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /**
   * Returns the names of the servers that depend on `server` or list it, by their applied spec or a running action's.
   */
  dependentsOf(server: string): Iterable<string> {
    return this.#dependents.of(server);
  }

  /** Returns the names of the servers that depend on `server` or take outputs of it, by their wanted spec. */
  usersOf(server: string): ReadonlySet<string> {
    return this.#users.of(server);
  }

  /** Notes whether a call for a server is claimed: its group counts it as away. */
  setInFlight(server: string, isInFlight: boolean): void {
    this.#counts.setInFlight(server, isInFlight);
  }

  /** Notes that no call is claimed any more. */
  forgetCalls(): void {
    this.#counts.forgetCalls();
  }

  /** Returns the group of `row`, the row of the server `name`, as that server sees it. */
  groupViewOf(name: string, row: ServerRow): GroupView {
    return this.#counts.besides(name, groupOf(row));
  }

  /** Returns the names of the members that occupy the slots of a group: they do not serve, or may not. */
  awayOf(group: string): ReadonlySet<string> {
    return this.#counts.awayOf(group);
  }

  /** Returns the members of a group that are there and wait for an update, those that wait longest first. */
  queuedOf(group: string): ReadonlySet<string> {
    return this.#counts.queuedOf(group);
  }

  /** Returns the names of the servers that gave up on the update of a commit, and have not succeeded since. */
  failedUpdatesOf(commit: string): ReadonlySet<string> {
    return this.#failedUpdates.of(commit);
  }

  /** Returns the names of the servers that are to be deleted or replaced without approval, by instance. */
  openRemovals(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#removals.all();
  }

  /** Returns the names of the servers that no commit wants, by instance. */
  unwanted(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#unwanted.all();
  }

  /** Returns the names of the servers that wait for the update of a commit or are in it, by commit. */
  openUpdates(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#openUpdates.all();
  }

  /** Returns the names of the servers that wait for an update that heals them, by the commit that last changed them. */
  queuedHeals(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#queuedHeals.all();
  }

  /** Returns the names of the servers that need a person, by cause: copies of the present moment. See {@link attentionKeyOf}. */
  needingPerson(): ReadonlyMap<string, readonly string[]> {
    return new Map([...this.#attention.all()].map(([cause, names]) => [cause, [...names]]));
  }

  /**
   * Returns the names of the servers that these provider entries have made, or were asked to, by entry: copies of the
   * present moment.
   */
  serversOfEntries(isMeant: (entry: string) => boolean): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const [site, names] of this.#sites.all()) {
      const entry = String(JSON.parse(site)[0]);
      if (isMeant(entry)) found.set(entry, [...(found.get(entry) ?? []), ...names]);
    }
    return found;
  }

  /**
   * Returns the tags of servers that proxies have made, or were asked to, with the names of those servers: copies of
   * the present moment.
   */
  serversOfProxies(isMeant: (tags: readonly string[]) => boolean): ReadonlyMap<readonly string[], readonly string[]> {
    const found = new Map<readonly string[], readonly string[]>();
    for (const [site, names] of this.#sites.all()) {
      const [entry, tags] = JSON.parse(site) as readonly [string, readonly string[]];
      if (entry === PROXIED && isMeant(tags)) found.set(tags, [...names]);
    }
    return found;
  }

  /** Returns the names of the instances that have recorded servers. */
  instances(): Iterable<string> {
    return this.#instances.all().keys();
  }

  /** Returns the names of the servers of a site, and of those that may count as gone. */
  serversAt(site: string): { readonly servers: ReadonlySet<string>; readonly gone: ReadonlySet<string> } {
    return { servers: this.#sites.of(site), gone: this.#gone.of(site) };
  }

  /** Returns the names of the servers under a key of a place; see {@link placeKeys}. */
  foundAt(key: string): ReadonlySet<string> {
    return this.#places.of(key);
  }

  /** Returns true if a recorded server belongs to an instance. */
  hasServers(instance: string): boolean {
    return this.#instances.has(instance);
  }

  /** Returns the names of the recorded servers of an instance, sorted. Walks over all of them. */
  serversOf(instance: string): readonly string[] {
    return [...this.#instances.of(instance)].sort(compareNames);
  }
}

const NO_SERVERS: ReadonlySet<string> = new Set();

/** Sets of names by key; empty sets are removed. */
class NameSets {
  readonly #sets = new Map<string, Set<string>>();

  of(key: string): ReadonlySet<string> {
    return this.#sets.get(key) ?? NO_SERVERS;
  }

  has(key: string): boolean {
    return this.#sets.has(key);
  }

  all(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#sets;
  }

  /** A set that keeps a name is not touched: walking over one whose names come and go again takes longer each time. */
  moveOne(name: string, from: string | undefined, to: string | undefined): void {
    if (from !== to) this.move(name, from === undefined ? [] : [from], to === undefined ? [] : [to]);
  }

  move(name: string, from: Iterable<string>, to: Iterable<string>): void {
    for (const key of from) {
      const names = this.#sets.get(key);
      names?.delete(name);
      if (names?.size === 0) this.#sets.delete(key);
    }
    for (const key of to) this.#sets.set(key, (this.#sets.get(key) ?? new Set()).add(name));
  }
}

function keysOf(row: OptionalRow, key: (row: ServerRow) => string | undefined): readonly string[] {
  const found = row === undefined ? undefined : key(row);
  return found === undefined ? [] : [found];
}

function countOfMade(row: OptionalRow): number {
  return row !== undefined && isMade(row) ? 1 : 0;
}

function failedUpdateOf({ gaveUp, wanted, applied, commit }: ServerRow): string | undefined {
  return gaveUp && wanted !== null && applied !== null ? commit : undefined;
}

function goneOf(row: ServerRow): string | undefined {
  return mayCountAsGone(row) ? siteKeyOfRow(row) : undefined;
}

function removalOf(row: ServerRow): string | undefined {
  const isApproved = row.approved || row.action?.isApproved === true;
  return isBeingRemoved(row) && !isApproved ? row.instance : undefined;
}

function unwantedOf({ instance, wanted }: ServerRow): string | undefined {
  return wanted === null ? instance : undefined;
}

function queuedHealOf(row: ServerRow): string | undefined {
  return isHealQueued(row) ? row.commit : undefined;
}

function usedBy(row: OptionalRow): Set<string> {
  const wanted = row?.wanted;
  return allServersRead(wanted?.reads).union(new Set(wanted?.dependsOn));
}

/** Returns the names of the servers that a row depends on or lists, by its applied spec or a running action's. */
export function neededBy(row: OptionalRow): Set<string> {
  const specs = row === undefined ? [] : specsInUse(row);
  return new Set(specs.flatMap(({ dependsOn, lists }) => [...dependsOn, ...lists]));
}
