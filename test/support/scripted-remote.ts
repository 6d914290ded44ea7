// A branch in memory that a write queue writes to: derived commit by commit as the follower does it, and pushed to by a
// script, so that every answer of a remote can be had at will.
import type { DesiredState } from '../../src/desired/desired-state.ts';
import type { NewCommit, PreparedCommits, Publisher, PushOutcome } from '../../src/repository/publisher.ts';
import type { Commit } from '../../src/repository/source.ts';
import { type TextChanges, TextRepository } from './text-repository.ts';

/** The outcome of a push. `lose`: it is taken and the answer lost; `drop`: nothing is answered, and it is not there. */
export type PushStep =
  | 'take'
  | 'lose'
  | 'drop'
  | 'refuse'
  | 'fail'
  | ((push: PreparedCommits) => Promise<PushOutcome | boolean> | PushOutcome | boolean);

interface Entry {
  readonly commit: string;
  readonly desired: DesiredState;
  /** Null: an outsider's. */
  readonly made: NewCommit | null;
}

const LOST: PushOutcome = { is: 'unknown', reason: 'the connection broke off' };

export class ScriptedRemote implements Publisher {
  readonly #texts = new TextRepository();
  readonly #history: Entry[] = [];
  readonly #prepared = new Map<string, NewCommit>();
  /** The outcomes of the next pushes; then all are taken. */
  readonly steps: PushStep[] = [];
  /** Every push, as the commits that were sent. */
  readonly pushes: (readonly string[])[] = [];
  readonly proposals = new Map<string, readonly NewCommit[]>();
  /** Returns what is followed here without a look, which may be old; undefined: there is always a look. */
  known: (() => DesiredState) | undefined;
  looks = 0;
  /** Called at every look at the branch; may throw. */
  onPoll: () => void | Promise<void> = () => undefined;
  /** Called when a commit is waited for; may throw. */
  onArrival: () => void | Promise<void> = () => undefined;

  constructor(files: TextChanges) {
    this.outside(files);
  }

  /** The subjects of what was written here, oldest first. */
  get written(): readonly string[] {
    return this.#history.flatMap(({ made }) => (made === null ? [] : [made.message.split('\n')[0] ?? '']));
  }

  get head(): DesiredState {
    const desired = this.#history.at(-1)?.desired;
    if (desired === undefined) throw new Error('there is no commit');
    return desired;
  }

  get followed(): DesiredState | undefined {
    return this.known?.();
  }

  async newest(): Promise<DesiredState> {
    this.looks += 1;
    await this.onPoll();
    return this.head;
  }

  async desiredAt(commit: string): Promise<DesiredState> {
    await this.onArrival();
    if (!this.#has(commit)) throw new Error(`${commit} is not on the branch`);
    return this.head;
  }

  announce(): void {
    // Nobody asks here who wrote what.
  }

  async fetch(): Promise<Commit> {
    return { oid: this.head.commit } as Commit;
  }

  async isAncestor(ancestor: string): Promise<boolean> {
    return this.#has(ancestor);
  }

  /** Somebody else pushes. */
  outside(changes: TextChanges): void {
    this.#add(`outside-${this.#history.length}`, changes, null);
  }

  async prepare(base: string, commits: readonly NewCommit[]): Promise<PreparedCommits> {
    const names = commits.map((commit) => {
      const name = `write-${this.#prepared.size + 1}`;
      this.#prepared.set(name, commit);
      return name;
    });
    return { is: 'prepared', base, commits: names };
  }

  async push(prepared: PreparedCommits, proposal?: string): Promise<PushOutcome> {
    this.pushes.push(prepared.commits);
    const step = this.steps.shift() ?? 'take';
    if (typeof step === 'function') return outcomeOf(await step(prepared));
    switch (step) {
      case 'refuse':
        return { is: 'refused', reason: 'the hook says no' };
      case 'fail':
        return { is: 'not sent', reason: 'nothing listens there' };
      case 'take':
        return outcomeOf(this.take(prepared, proposal));
      case 'lose':
        this.take(prepared, proposal);
        return LOST;
      case 'drop':
        return LOST;
    }
  }

  /** Takes a push as git would. */
  take({ base, commits }: PreparedCommits, proposal?: string): boolean {
    const made = commits.map((commit) => this.made(commit));
    if (proposal !== undefined) {
      this.proposals.set(proposal, made);
      return true;
    }
    if (this.head.commit === commits.at(-1)) return true;
    if (this.head.commit !== base) return false;
    commits.forEach((commit, index) => {
      const edits = made[index]?.edits ?? [];
      this.#add(commit, Object.fromEntries(edits.map(({ path, text }) => [path, text])), made[index] ?? null);
    });
    return true;
  }

  /** Returns what was to be committed under that name. */
  made(commit: string): NewCommit {
    const made = this.#prepared.get(commit);
    if (made === undefined) throw new Error(`${commit} was never prepared`);
    return made;
  }

  #has(commit: string): boolean {
    return this.#history.some((entry) => entry.commit === commit);
  }

  #add(commit: string, changes: TextChanges, made: NewCommit | null): void {
    this.#history.push({ commit, desired: { ...this.#texts.commit(changes), commit }, made });
  }
}

function outcomeOf(result: PushOutcome | boolean): PushOutcome {
  if (typeof result !== 'boolean') return result;
  return { is: result ? 'pushed' : 'moved' };
}
