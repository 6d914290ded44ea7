// One `git cat-file` that answers for as long as it is asked: beginning a process costs more than reading a thousand
// objects. It ends when it has had nothing to do for a while, and is begun again when it is needed.
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AnswerReader, type ObjectAnswer } from './cat-file-answers.ts';
import { COMPLAINT_BYTES_MAX, GitError, startFailure, startGit } from './git-process.ts';
import { BOUNDED, BOUNDED_ENVIRONMENT } from './index-pack.ts';

export interface CatFileOptions {
  readonly gitDirectory: string;
  /** With contents, or with types and sizes alone. */
  readonly mode: '--batch' | '--batch-check';
  /** The content of a larger object is left out. */
  readonly bytesMax: number;
}

interface Question {
  readonly resolve: (answer: ObjectAnswer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Git ended before it had answered. */
export class CatFileFailure extends GitError {}

const IDLE_MS = 10_000;
/** In which git has to say something where it is asked. */
const SILENCE_MS = 60_000;

export class CatFile {
  readonly #options: CatFileOptions;
  #process: CatFileProcess | undefined;
  #startedCount = 0;

  constructor(options: CatFileOptions) {
    this.#options = options;
  }

  /** How many processes were begun. */
  get startedCount(): number {
    return this.#startedCount;
  }

  /**
   * Returns what an object is, undefined where it is not there: a repository that is not there has no objects. Throws
   * CatFileFailure where git cannot read it, another GitError where git cannot be started or does not answer.
   */
  async ask(oid: string): Promise<ObjectAnswer | undefined> {
    if (this.#process === undefined) {
      if (!existsSync(join(this.#options.gitDirectory, 'HEAD'))) return undefined;
      this.#startedCount += 1;
      const started: CatFileProcess = new CatFileProcess(this.#options, () => {
        if (this.#process === started) this.#process = undefined;
      });
      this.#process = started;
    }
    return await this.#process.ask(oid);
  }

  /** Ends the process once it has answered what it was asked. */
  close(): void {
    this.#process?.end();
  }
}

class CatFileProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #options: CatFileOptions;
  /** Called once nothing more can be asked. */
  readonly #ended: () => void;
  /** In the order in which they were asked, which is that of the answers. */
  readonly #questions: Question[] = [];
  readonly #timer: NodeJS.Timeout;
  #complaint = '';
  #silentSince = performance.now();

  constructor(options: CatFileOptions, ended: () => void) {
    const { gitDirectory, mode, bytesMax } = options;
    this.#options = options;
    this.#ended = ended;
    this.#child = startGit([`--git-dir=${gitDirectory}`, ...BOUNDED, 'cat-file', mode], BOUNDED_ENVIRONMENT);
    this.#timer = setTimeout(() => this.#lookUp(), IDLE_MS);
    const { stdin, stdout, stderr } = this.#child;
    const reader = new AnswerReader({ hasContents: mode === '--batch', bytesMax });
    stdout.on('data', (chunk: Buffer) => this.#take(() => reader.push(chunk)));
    stdout.on('error', (error) => this.#fail(error));
    stderr.on('data', (chunk: Buffer) => {
      this.#complaint = `${this.#complaint}${chunk}`.slice(0, COMPLAINT_BYTES_MAX);
    });
    // Its exit code and its words tell what happened.
    stdin.on('error', () => stdin.destroy());
    this.#child.on('error', (error) => this.#fail(startFailure(gitDirectory, error)));
    this.#child.on('close', (code, signal) => this.#fail(this.#endingOf(code ?? signal)));
  }

  ask(oid: string): Promise<ObjectAnswer | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<ObjectAnswer | undefined>();
    if (this.#questions.length === 0) this.#silentSince = performance.now();
    this.#questions.push({ resolve, reject });
    this.#child.stdin.write(`${oid}\n`);
    this.#timer.refresh();
    return promise;
  }

  end(): void {
    this.#ended();
    this.#child.stdin.end();
  }

  #take(read: () => readonly (ObjectAnswer | undefined)[]): void {
    try {
      for (const answer of read()) this.#questions.shift()?.resolve(answer);
      this.#silentSince = performance.now();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends it where it has nothing to do, or says nothing although it is asked. */
  #lookUp(): void {
    if (this.#questions.length === 0) this.end();
    else if (performance.now() - this.#silentSince < SILENCE_MS) this.#timer.refresh();
    else this.#fail(new GitError(`git did not answer within ${SILENCE_MS / 1000} s of ${this.#options.gitDirectory}`));
  }

  #endingOf(ending: number | NodeJS.Signals | null): GitError {
    const words = `git ended with ${ending} at ${this.#options.gitDirectory}: ${this.#complaint.trim()}`;
    return typeof ending === 'number' ? new CatFileFailure(words) : new GitError(words);
  }

  #fail(error: unknown): void {
    this.#ended();
    clearTimeout(this.#timer);
    for (const { reject } of this.#questions.splice(0)) reject(error);
    this.#child.kill('SIGKILL');
  }
}
