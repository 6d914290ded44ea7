// Notes what comes onto the branch, by people and by writes over REST: which deletes a commit approves, which layers it
// removes. Hints most pushes to the controller.
import { drawn } from './chance.ts';
import type { Followed } from './followed.ts';
import type { GitCommit } from './simulated-git.ts';
import { type ModelFile, pathOf, serversOf } from './stacks.ts';
import { INSTANCES } from './themes/theme.ts';
import type { World } from './world.ts';

/** How likely a push is followed by a hint. */
const HINT_LIKELIHOOD = 0.85;

export class Pushes {
  readonly #world: World;
  readonly #seed: number;
  readonly #requests = new Map<string, ModelFile | undefined>();
  #hints = 0;

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#seed = seed;
  }

  /** Notes a commit that came onto the branch. */
  pushed(words: string, commit: string): void {
    const world = this.#world;
    world.tell('people', () => `commit ${commit}: ${words}`);
    this.#hintSoon();
  }

  /** Notes that the branch was set back. */
  rewritten(words: string): void {
    const world = this.#world;
    world.tell('people', () => words);
    world.git.acknowledged.clear();
    this.#hintSoon();
  }

  /** Notes the push of a controller: what a client has written over REST. */
  written(commit: GitCommit): void {
    this.#approveDeleted(commit);
    this.pushed(`REST: ${commit.words}`, commit.oid);
  }

  /** Returns the id of a request whose file means this. */
  request(file: ModelFile | undefined): string {
    const id = `request-${this.#requests.size}`;
    this.#requests.set(id, file);
    return id;
  }

  /** Returns the file of the request that a commit's message names. */
  meaningOf(message: string): ModelFile | undefined {
    const id = /^Treeline-Request-Id: (.*)$/m.exec(message)?.[1] ?? '';
    return this.#requests.get(id);
  }

  /** A commit may say how many deletes are all right; whatever goes with it is approved, if it is no more than that. */
  followed({ last, before }: Followed): void {
    const { core, git, approved } = this.#world;
    if (last === undefined || core === undefined) return;
    const old: ReadonlySet<string> = before === undefined ? new Set() : git.historyOf(before.commit);
    const messages = [...git.historyOf(last.commit)].filter((one) => !old.has(one)).map((one) => git.at(one).message);
    const most = Math.max(
      0,
      ...messages.map((text) => Number(/^Treeline-Approve-Deletes: (\d+)$/m.exec(text)?.[1] ?? 0)),
    );
    if (most === 0) return;
    for (const [name, row] of core.ledger.list('server')) {
      if (row.wanted === null || row.replacing) approved.add(name);
    }
  }

  /** A delete over REST covers what the instance has in the commit before it, also what came after the request. */
  #approveDeleted({ parents, files }: GitCommit): void {
    const { git, approved } = this.#world;
    const [parent] = parents;
    if (parent === undefined) return;
    const before = git.at(parent).files;
    for (const instance of INSTANCES) {
      const shape = before.get(pathOf(instance))?.shape;
      if (shape === undefined || files.has(pathOf(instance))) continue;
      for (const server of serversOf(shape)) approved.add(server);
    }
  }

  #hintSoon(): void {
    const { scheduler, controller } = this.#world;
    const luck = drawn(this.#seed, `hint ${this.#hints++}`);
    if (luck < HINT_LIKELIHOOD) scheduler.after(luck ** 5 * 3_000, null, () => controller.hint());
  }
}
