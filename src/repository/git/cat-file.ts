// Runs one `git cat-file` for many requests: starting a process costs more than reading a thousand objects. It ends
// after an idle time, and is started again on demand.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningProgram } from '../../programs/spawn-program.ts';
import { AnswerReader, type ObjectAnswer } from './cat-file-answers.ts';
import { OFFLINE_ENVIRONMENT } from './git-environment.ts';
import { COMPLAINT_BYTES_MAX, GitError, startFailure, startGit } from './git-process.ts';
import { BOUNDED, BOUNDED_ENVIRONMENT } from './index-pack.ts';

interface CatFileOptions {
  readonly gitDirectory: string;
  /** With contents, or with types and sizes only. */
  readonly mode: '--batch' | '--batch-check';
  /** The content of a larger object is omitted. */
  readonly bytesMax: number;
}

interface Question {
  readonly resolve: (answer: ObjectAnswer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Git ended before it had answered. */
export class CatFileFailure extends GitError {}

const IDLE_MS = 10_000;
/** A process that was started ahead may wait for as long as a start takes. */
const PREPARED_IDLE_MS = 60_000;
/** How long git may be silent while requests are open. */
const SILENCE_MS = 60_000;

/** A `git cat-file` that is started on demand. */
export class CatFile {
  readonly #options: CatFileOptions;
  #process: CatFileProcess | undefined;
  #startedCount = 0;

  constructor(options: CatFileOptions) {
    this.#options = options;
  }

  /** Number of processes started. */
  get startedCount(): number {
    return this.#startedCount;
  }

  /**
   * Returns an object, undefined if it is missing: a missing repository has no objects. Throws CatFileFailure if git
   * cannot read it, another GitError if git cannot be started or does not answer.
   */
  async read(oid: string): Promise<ObjectAnswer | undefined> {
    this.#start(IDLE_MS);
    return await this.#process?.read(oid);
  }

  /** Starts the process, so that the first request does not wait for that. */
  prepare(): void {
    this.#start(PREPARED_IDLE_MS);
  }

  /** Ends the process after its open requests. */
  close(): void {
    this.#process?.end();
  }

  /** A missing repository needs no process. */
  #start(idleMs: number): void {
    if (this.#process !== undefined || !existsSync(join(this.#options.gitDirectory, 'HEAD'))) return;
    this.#startedCount += 1;
    const started: CatFileProcess = new CatFileProcess({ ...this.#options, idleMs }, () => {
      if (this.#process === started) this.#process = undefined;
    });
    this.#process = started;
  }
}

class CatFileProcess {
  readonly #child: RunningProgram;
  readonly #options: CatFileOptions;
  /** Called when the process accepts no more requests. */
  readonly #ended: () => void;
  /** In order of the requests, which is that of the answers. */
  readonly #questions: Question[] = [];
  readonly #timer: NodeJS.Timeout;
  #complaint = '';
  #isEnding = false;
  #silentSince = performance.now();

  constructor(options: CatFileOptions & { readonly idleMs: number }, ended: () => void) {
    const { gitDirectory, mode, bytesMax, idleMs } = options;
    this.#options = options;
    this.#ended = ended;
    this.#child = startGit([`--git-dir=${gitDirectory}`, ...BOUNDED, 'cat-file', mode], {
      ...BOUNDED_ENVIRONMENT,
      ...OFFLINE_ENVIRONMENT,
    });
    this.#timer = setTimeout(() => this.#checkLiveness(), idleMs);
    const { stdin, stdout, stderr } = this.#child;
    const reader = new AnswerReader({ hasContents: mode === '--batch', bytesMax });
    stdout.on('data', (chunk: Buffer) => this.#deliver(() => reader.push(chunk)));
    stdout.on('error', (error) => this.#fail(error));
    stderr.on('data', (chunk: Buffer) => {
      this.#complaint = `${this.#complaint}${chunk}`.slice(0, COMPLAINT_BYTES_MAX);
    });
    // Its exit code and its messages show what happened.
    stdin.on('error', () => stdin.destroy());
    this.#child.on('error', (error) => this.#fail(startFailure(gitDirectory, error)));
    this.#child.on('close', (code, signal) => this.#fail(this.#endingOf(code ?? signal)));
  }

  read(oid: string): Promise<ObjectAnswer | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<ObjectAnswer | undefined>();
    if (this.#questions.length === 0) this.#silentSince = performance.now();
    this.#questions.push({ resolve, reject });
    this.#child.stdin.write(`${oid}\n`);
    this.#timer.refresh();
    return promise;
  }

  end(): void {
    this.#ended();
    this.#isEnding = true;
    this.#child.stdin.end();
    this.#timer.refresh();
  }

  #deliver(read: () => readonly (ObjectAnswer | undefined)[]): void {
    try {
      for (const answer of read()) this.#questions.shift()?.resolve(answer);
      this.#silentSince = performance.now();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the process if it is idle, or silent although requests are open. Kills it if it does not end. */
  #checkLiveness(): void {
    const isIdle = this.#questions.length === 0;
    if (isIdle && !this.#isEnding) this.end();
    else if (isIdle) this.#fail(new GitError(`git did not end at ${this.#options.gitDirectory}`));
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
    this.#child.end('SIGKILL');
  }
}
