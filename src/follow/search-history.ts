// Finds the desired state where the rows are lost: it follows the history again, from the last commit in which everything was
// valid that is not valid now. Versions are activated in the order of their commits, so only compatible ones are joined.

import type { Breathe } from '../base/breathe.ts';
import { type Stray, straysIn, straysLeft } from '../catalog/strays.ts';
import type { Derivation } from '../derive.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { isValidUnit } from '../desired/unit.ts';
import { orContentError } from '../model/snapshot.ts';
import type { Source } from '../repository/source.ts';
import { COMMITS_MAX, firstParents } from './first-parents.ts';
import { deriveAt } from './read-commit.ts';

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
