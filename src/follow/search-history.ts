// Finds the desired state where the rows are lost: it follows the history again, from the last commit in which everything was
// valid that is not valid now. Versions are activated in the order of their commits, so only compatible ones are joined.

import type { Breathe } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import { type Stray, straysIn, straysLeft } from '../catalog/strays.ts';
import type { Derivation, Reusable } from '../derive.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { isValidUnit, type Unit } from '../desired/unit.ts';
import { orContentError } from '../model/snapshot.ts';
import type { WantedServer } from '../model/spec.ts';
import type { Source } from '../repository/source.ts';
import { COMMITS_MAX, firstParents } from './first-parents.ts';
import { deriveAt, proposeAt } from './read-commit.ts';

/** How many commits are searched for servers that the branch made once, and how long at most. */
const FORMER_COMMITS_MAX = 300;
const FORMER_MS = 30_000;

/** Reads commits. */
type CommitReader = Pick<Source, 'snapshot' | 'describe'>;

/**
 * Returns the desired state of the newest commit that can be followed, as if every commit from an earlier one on had been followed;
 * undefined where none can be followed.
 */
export async function searchHistory(
  source: CommitReader,
  commit: string,
  breathe?: Breathe,
): Promise<DesiredState | undefined> {
  const search = new Search(source, breathe);
  const { commits, known } = await commitsToFollow(search, commit, source);
  // Where it is the newest commit itself, no older version is in force beside it, so it is not derived once more.
  if (search.whole?.commit === commit) return search.whole;
  let desired: DesiredState | undefined;
  for (const next of commits) {
    const baseline = desired ?? known;
    const before = { baseline, earlier: desired, isAccepted: true, breathe };
    const derivation: Derivation = await deriveAt(source, next, before);
    if (derivation.isFollowed) desired = derivation.desired;
  }
  return desired;
}

/** Returns the commits from the oldest in which something was found to the newest, along first parents. */
async function commitsToFollow(
  search: Search,
  commit: string,
  source: Pick<CommitReader, 'describe'>,
): Promise<{ commits: readonly string[]; known: Baseline }> {
  const commits: string[] = [];
  let found = 0;
  for await (const next of firstParents(source, commit, COMMITS_MAX)) {
    commits.push(next);
    if (await search.visit(next)) found = commits.length;
    if (search.isOver) break;
  }
  return { commits: commits.slice(0, found).reverse(), known: search.known };
}

/** The former servers, and how far they were looked for. */
export interface FormerServers {
  /** Each instance as its newest version was that made one of them, with all of them that it made, and no others. */
  readonly baseline: Baseline;
  readonly commitsRead: number;
}

/** What the search for former servers reads. */
interface FormerParts {
  readonly source: CommitReader;
  readonly breathe: Breathe;
  readonly clock: Clock;
}

/**
 * Returns the servers that versions before the desired state made, along first parents, and that it does not make. Whether a
 * version was ever active, the rows would know. A commit is read as far as it differs from the one after it.
 */
export async function formerServers(
  desired: DesiredState,
  { source, breathe, clock }: FormerParts,
): Promise<FormerServers> {
  const units = new Map<string, Unit>();
  const owners = new Map<string, string>();
  const until = clock.now() + FORMER_MS;
  let commitsRead = 0;
  let earlier: Reusable = desired;
  for await (const next of firstParents(source, desired.commit, FORMER_COMMITS_MAX + 1)) {
    if (next === desired.commit) continue;
    if (clock.now() >= until) break;
    const proposed = await proposeAt(source, next, { earlier, breathe });
    commitsRead += 1;
    // A commit that can never be read was never active.
    if (proposed !== undefined) {
      addFormer({ units, owners }, { proposed, after: earlier, desired });
      earlier = proposed;
    }
  }
  return { baseline: { ...EMPTY_BASELINE, units, owners }, commitsRead };
}

interface OlderVersions {
  readonly proposed: Reusable;
  /** What was read of the commit after it. */
  readonly after: Reusable;
  readonly desired: DesiredState;
}

/** Adds what an older commit makes in another version than the one after it. */
function addFormer(
  found: { readonly units: Map<string, Unit>; readonly owners: Map<string, string> },
  { proposed, after, desired }: OlderVersions,
): void {
  for (const [key, unit] of proposed.candidates) {
    if (unit.type !== 'stack-instance' || after.candidates.get(key) === unit || !isValidUnit(unit)) continue;
    const servers = new Map<string, WantedServer>();
    for (const [name, server] of unit.servers) {
      if (!desired.owners.has(name) && !found.owners.has(name)) servers.set(name, server);
    }
    if (servers.size === 0) continue;
    for (const name of servers.keys()) found.owners.set(name, key);
    const newest = found.units.get(key) ?? { ...unit, servers: NONE, nodes: NO_NODES };
    const nodes = new Map([...newest.nodes, ...[...unit.nodes].filter(([name]) => servers.has(name))]);
    found.units.set(key, { ...newest, servers: new Map([...newest.servers, ...servers]), nodes });
  }
}

const NONE: Unit['servers'] = new Map();
const NO_NODES: Unit['nodes'] = new Map();

/** Goes back from the newest commit that can be followed, until nothing is missing. */
class Search {
  readonly #source: CommitReader;
  readonly #breathe: Breathe | undefined;
  #earlier: DesiredState | undefined;
  /** Units and objects that are wrong in all commits so far. */
  #missing: ReadonlySet<string> = new Set();
  /** All units and objects that the newest commit has, wrong ones too. */
  #newest: ReadonlySet<string> = new Set();
  #strays: readonly Stray[] = [];
  #known: Baseline = EMPTY_BASELINE;
  #whole: DesiredState | undefined;

  constructor(source: CommitReader, breathe: Breathe | undefined) {
    this.#source = source;
    this.#breathe = breathe;
  }

  /** The objects of the commits visited so far: an older commit with a link or a folder in place of one has it unreadable. */
  get known(): Baseline {
    return this.#known;
  }

  /** The desired state of the newest commit that can be followed, if nothing is missing in it. */
  get whole(): DesiredState | undefined {
    return this.#whole;
  }

  get isOver(): boolean {
    return this.#earlier !== undefined && this.#missing.size === 0 && this.#strays.length === 0;
  }

  /** Returns true where the commit has something that was missing; also for the newest one that can be followed. */
  async visit(commit: string): Promise<boolean> {
    const isFirst = this.#earlier === undefined;
    const { left, isFound } = await this.#straysAt(commit);
    if (!isFirst && this.#missing.size === 0 && !isFound && left.length === this.#strays.length) return false;
    const before = { baseline: this.#known, earlier: this.#earlier, breathe: this.#breathe };
    const derivation: Derivation = await deriveAt(this.#source, commit, before);
    // A commit that is not followed was never active, so it says nothing of what was.
    if (!derivation.isFollowed) return false;
    const { desired } = derivation;
    this.#earlier = desired;
    this.#strays = left;
    const wrong = wrongIn(desired);
    const hasValid = [...this.#missing].some((key) => isValidIn(desired, key));
    if (isFirst) this.#strays = straysIn(desired.catalog);
    if (isFirst) this.#newest = keysIn(desired);
    this.#known = { ...EMPTY_BASELINE, objects: new Map([...desired.objects, ...this.#known.objects]) };
    // The version found may be a wrong one of what a stray stands for now.
    const found = isFound ? wrong.difference(this.#newest) : new Set<string>();
    this.#missing = isFirst ? wrong : this.#missing.intersection(wrong).union(found);
    if (isFirst && this.isOver) this.#whole = desired;
    return isFirst || isFound || hasValid;
  }

  /** Reads which files there are, and none of them. */
  async #straysAt(commit: string): Promise<ReturnType<typeof straysLeft>> {
    if (this.#strays.length === 0) return { left: [], isFound: false };
    const snapshot = await orContentError(this.#source.snapshot(commit, () => false));
    // It is not followed either, so that it says nothing.
    if (snapshot instanceof Error) return { left: this.#strays, isFound: false };
    return straysLeft(this.#strays, snapshot.files);
  }
}

function isValidIn({ candidates, objects }: DesiredState, key: string): boolean {
  const unit = candidates.get(key);
  return (unit !== undefined && isValidUnit(unit)) || objects.has(key);
}

function keysIn({ candidates, catalog }: DesiredState): ReadonlySet<string> {
  return new Set([...candidates.keys(), ...addressesIn(catalog)]);
}

function addressesIn({ templates, objects }: DesiredState['catalog']): readonly string[] {
  return [...[...templates.keys()].map((name) => `stack-template/${name}`), ...objects.keys()];
}

/** Returns the addresses of units and objects whose newest version is not active. */
function wrongIn({ candidates, units, objects, catalog }: DesiredState): ReadonlySet<string> {
  const wrong = new Set([...candidates].filter(([key, unit]) => units.get(key) !== unit).map(([key]) => key));
  for (const address of addressesIn(catalog)) if (!objects.has(address)) wrong.add(address);
  return wrong;
}
