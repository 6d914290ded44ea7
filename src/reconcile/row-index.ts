// Indexes the rows by dependency, group and instance. Updated with each row, so that a lookup for one server does not
// walk over all rows.

import { attentionKeyOf } from '../machine/attention.ts';
import { isToBeConfirmed, mayCountAsGone } from '../machine/drift.ts';
import { isBeingRemoved, isMade } from '../machine/existence.ts';
import { specsInUse } from '../machine/holders.ts';
import { placeKeys } from '../machine/place.ts';
import { siteKeyOfRow } from '../machine/responsibility.ts';
import { type GroupView, groupOf, openUpdateOf } from '../machine/rollout.ts';
import { compareNames, PROXIED } from '../model/names.ts';
import { allServersRead } from '../model/outputs.ts';
import type { ServerRow } from '../model/rows.ts';

type OptionalRow = ServerRow | undefined;

/** The key of a row in each index; undefined if the index does not include the row. */
const KEYS = {
  instance: ({ instance }) => instance,
  /** The site that created the server, or was asked to. */
  site: siteKeyOfRow,
  /** The site, if the server may count as gone. */
  gone: (row) => (mayCountAsGone(row) ? siteKeyOfRow(row) : undefined),
  /** The commit whose update of the server was given up. */
  failedUpdate: ({ gaveUp, wanted, applied, commit }) =>
    gaveUp && wanted !== null && applied !== null ? commit : undefined,
  /** The commit whose update the server waits for or carries out. */
  openUpdate: openUpdateOf,
  /** The instance, if the server is to be deleted or replaced without approval. */
  removal: (row) => {
    const isApproved = row.approved || row.action?.isApproved === true;
    return isBeingRemoved(row) && !isApproved ? row.instance : undefined;
  },
  /** The cause for which the server needs an operator. */
  attention: attentionKeyOf,
  /** One key for all created servers, and one for all unwanted servers. */
  made: (row) => (isMade(row) ? ALL : undefined),
  unwanted: ({ wanted }) => (wanted === null ? ALL : undefined),
} satisfies Readonly<Record<string, (row: ServerRow) => string | undefined>>;

type Key = keyof typeof KEYS;

const ALL = '';

/** The index over the rows of all servers. */
export class RowIndex {
  /** By server: the servers that depend on it or list it, by their applied spec or the spec of a running action. */
  readonly #dependents = new NameSets();
  /** By server: the servers that depend on it or use its outputs, by their wanted spec. */
  readonly #users = new NameSets();
  /** By key of a place: the servers that were found there. */
  readonly #places = new NameSets();
  /** By kind and group: the members of that kind. */
  readonly #groups = new NameSets();
  readonly #members = new Map<string, Member>();
  /** Servers with a claimed call, started or not. */
  readonly #inFlight = new Set<string>();
  readonly #by = Object.fromEntries(Object.keys(KEYS).map((key) => [key, new NameSets()])) as Record<Key, NameSets>;

  /** Updates the index for one row; undefined if there is none. */
  follow(name: string, before: OptionalRow, after: OptionalRow): void {
    for (const key of Object.keys(KEYS) as Key[]) {
      this.#by[key].moveOne(name, before && KEYS[key](before), after && KEYS[key](after));
    }
    if (before?.place !== after?.place || before?.proxyTags !== after?.proxyTags) {
      this.#places.move(name, before ? placeKeys(before) : [], after ? placeKeys(after) : []);
    }
    this.#followMember(name, after);
    if (before?.applied !== after?.applied || before?.action !== after?.action) {
      const [needed, needs] = [neededBy(before), neededBy(after)];
      this.#dependents.move(name, needed.difference(needs), needs.difference(needed));
    }
    if (before?.wanted !== after?.wanted) {
      const [old, now] = [usedBy(before), usedBy(after)];
      this.#users.move(name, old.difference(now), now.difference(old));
    }
  }

  /** The number of servers that were created or adopted, or that a running action may create. */
  get madeCount(): number {
    return this.#by.made.of(ALL).size;
  }

  /** Returns the servers that depend on `server` or list it, by their applied spec or the spec of a running action. */
  dependentsOf(server: string): Iterable<string> {
    return this.#dependents.of(server);
  }

  /** Returns the servers that depend on `server` or use its outputs, by their wanted spec. */
  usersOf(server: string): ReadonlySet<string> {
    return this.#users.of(server);
  }

  #followMember(name: string, row: OptionalRow): void {
    const before = this.#members.get(name);
    const after = row && memberOf(row, this.#inFlight.has(name));
    if (after === undefined) this.#members.delete(name);
    else this.#members.set(name, after);
    this.#groups.move(name, before ? memberKeys(before) : [], after ? memberKeys(after) : []);
  }

  /** Records whether a call for a server is claimed, which makes it count as away in its group. */
  setInFlight(server: string, isInFlight: boolean): void {
    if (isInFlight) this.#inFlight.add(server);
    else this.#inFlight.delete(server);
    const member = this.#members.get(server);
    if (member !== undefined) this.#followMember(server, member.row);
  }

  /** Records that no call is claimed any more. */
  forgetCalls(): void {
    for (const server of [...this.#inFlight]) this.setInFlight(server, false);
  }

  /** Returns the group of `row`, the row of the server `name`, as that server sees it. */
  groupViewOf(name: string, row: ServerRow): GroupView {
    const group = groupOf(row);
    const [members, back] = [this.#members, this.#groups.of(memberKey('done', group))];
    const countOthers = (kind: MemberKind): number => {
      const names = this.#groups.of(memberKey(kind, group));
      return names.size - (names.has(name) ? 1 : 0);
    };
    return {
      size: countOthers('any') + 1,
      hasFailed: countOthers('failed') > 0,
      away: countOthers('away'),
      get lastBack() {
        let last = 0;
        for (const other of back) if (other !== name) last = Math.max(last, members.get(other)?.since ?? 0);
        return last;
      },
    };
  }

  /** Returns the names of the members that occupy the slots of a group: they do not serve, or may not. */
  awayOf(group: string): ReadonlySet<string> {
    return this.#groups.of(memberKey('away', group));
  }

  /** Returns the existing members of a group that wait for an update, in the order in which they began to wait. */
  queuedOf(group: string): ReadonlySet<string> {
    return this.#groups.of(memberKey('queued', group));
  }

  /** Returns the names of the servers whose update to a commit was given up and has not succeeded since. */
  failedUpdatesOf(commit: string): ReadonlySet<string> {
    return this.#by.failedUpdate.of(commit);
  }

  /** Returns the names of the servers that are to be deleted or replaced without approval, by instance. */
  openRemovals(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#by.removal.all();
  }

  /** Returns the names of the servers that no commit wants. */
  unwanted(): ReadonlySet<string> {
    return this.#by.unwanted.of(ALL);
  }

  /** Returns the names of the servers that wait for or carry out the update of a commit, by commit. */
  openUpdates(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#by.openUpdate.all();
  }

  /** Returns copies of the names of the servers that need an operator, by cause. See {@link attentionKeyOf}. */
  needingOperator(): ReadonlyMap<string, readonly string[]> {
    return new Map([...this.#by.attention.all()].map(([cause, names]) => [cause, [...names]]));
  }

  /**
   * Returns copies of the names of the servers that these provider entries have created or were asked to create, by
   * entry.
   */
  serversOfEntries(isMeant: (entry: string) => boolean): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const [site, names] of this.#by.site.all()) {
      const entry = String(JSON.parse(site)[0]);
      if (isMeant(entry)) found.set(entry, [...(found.get(entry) ?? []), ...names]);
    }
    return found;
  }

  /** Returns copies of the names of the servers that proxies have created or were asked to create, by their tags. */
  serversOfProxies(isMeant: (tags: readonly string[]) => boolean): ReadonlyMap<readonly string[], readonly string[]> {
    const found = new Map<readonly string[], readonly string[]>();
    for (const [site, names] of this.#by.site.all()) {
      const [entry, tags] = JSON.parse(site) as readonly [string, readonly string[]];
      if (entry === PROXIED && isMeant(tags)) found.set(tags, [...names]);
    }
    return found;
  }

  /** Returns the names of the instances that have recorded servers. */
  instances(): Iterable<string> {
    return this.#by.instance.all().keys();
  }

  /** Returns the names of the servers of a site, and of its servers that may count as gone. */
  serversAt(site: string): { readonly servers: ReadonlySet<string>; readonly gone: ReadonlySet<string> } {
    return { servers: this.#by.site.of(site), gone: this.#by.gone.of(site) };
  }

  /** Returns the names of the servers under a key of a place; see {@link placeKeys}. */
  foundAt(key: string): ReadonlySet<string> {
    return this.#places.of(key);
  }

  /** Returns true if an instance has recorded servers. */
  hasServers(instance: string): boolean {
    return this.#by.instance.of(instance).size > 0;
  }

  /** Returns the names of the recorded servers of an instance, sorted. Takes time in proportion to their number. */
  serversOf(instance: string): readonly string[] {
    return [...this.#by.instance.of(instance)].sort(compareNames);
  }
}

/** A member of a group. */
interface Member {
  readonly row: ServerRow;
  readonly kind: MemberKind;
  /** Since when it has been in its state: milliseconds since 1970. */
  readonly since: number;
}

/** `any`: every member. The others exclude one another. */
type MemberKind = 'any' | 'new or unwanted' | 'failed' | 'away' | 'queued' | 'done' | 'there';

function memberOf(row: ServerRow, isInFlight: boolean): Member {
  return { row, kind: kindOf(row, isInFlight), since: Date.parse(row.since) };
}

function memberKeys({ row, kind }: Member): readonly string[] {
  const group = groupOf(row);
  return [memberKey('any', group), memberKey(kind, group)];
}

function memberKey(kind: MemberKind, group: string): string {
  return `${kind} ${group}`;
}

function kindOf(row: ServerRow, isInFlight: boolean): MemberKind {
  if (row.wanted === null || (row.applied === null && !row.replacing)) return 'new or unwanted';
  if (row.state === 'failed') return 'failed';
  // From the start of a change until the change succeeds or the member is created again, the member may not serve.
  if (isInFlight || row.dirty || row.applied === null || isToBeConfirmed(row)) return 'away';
  if (row.state === 'pending') return 'queued';
  return row.state === 'done' ? 'done' : 'there';
}

const NO_SERVERS: ReadonlySet<string> = new Set();

/** Sets of names by key; empty sets are removed. */
class NameSets {
  readonly #sets = new Map<string, Set<string>>();

  of(key: string): ReadonlySet<string> {
    return this.#sets.get(key) ?? NO_SERVERS;
  }

  all(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#sets;
  }

  /** Leaves a set alone if its name stays: removing and adding a name makes each later walk over the set slower. */
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

function usedBy(row: OptionalRow): Set<string> {
  const wanted = row?.wanted;
  return allServersRead(wanted?.reads).union(new Set(wanted?.dependsOn));
}

/** Returns the servers that a row depends on or lists, by its applied spec or the spec of a running action. */
export function neededBy(row: OptionalRow): Set<string> {
  const specs = row === undefined ? [] : specsInUse(row);
  return new Set(specs.flatMap(({ dependsOn, lists }) => [...dependsOn, ...lists]));
}
