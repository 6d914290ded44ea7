// Reads objects of a repository through one `git cat-file --batch`, started on demand: starting a process costs more
// than reading a thousand objects.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isCommitId } from '../model/names.ts';
import { type GitObject, type ObjectType, parseCommit } from './git-object.ts';
import { ContentError, endGroup, type Git, GitError, type RunningGit, startFailure } from './run-git.ts';
import type { Commit } from './source.ts';

/** The repository refers to an object that is missing or invalid. */
export class DamagedObjectError extends GitError {}

/** An object, or only its type and size if it is too large. */
interface Answer {
  readonly oid: string;
  readonly type: ObjectType;
  readonly size: number;
  readonly bytes: Buffer | null;
}

interface Question {
  readonly name: string;
  readonly resolve: (answer: Answer | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Larger than any commit, any tree of 100,000 files and any file that is read. */
const OBJECT_BYTES_MAX = 32 * 1024 * 1024;
/** The time limit of git's silence while requests are open. */
const SILENCE_MS = 60_000;
const NEWLINE = 0x0a;
const LINE_LENGTH_MAX = 8192;
const COMPLAINT_BYTES_MAX = 4096;

/** Reads the objects of one repository. A missing repository has no objects. */
export class ObjectReader {
  readonly git: Git;
  readonly #explain: (error: DamagedObjectError) => GitError;
  #process: CatFile | undefined;

  /** `explain` returns the error that is thrown for damage. */
  constructor(git: Git, explain: (error: DamagedObjectError) => GitError) {
    this.git = git;
    this.#explain = explain;
  }

  /**
   * Returns an object by its id or another name without a newline, such as a ref or `COMMIT:PATH`; undefined if there
   * is none. Throws DamagedObjectError if git cannot read it, ContentError if it is too large.
   */
  async find(name: string): Promise<GitObject | undefined> {
    const answer = await this.#ask(name);
    if (answer === undefined) return undefined;
    const { oid, type, size, bytes } = answer;
    if (bytes === null) throw new ContentError(`object ${oid} is too large to be read: it has ${size} bytes`);
    return { oid, type, bytes };
  }

  /** Returns the metadata of a commit by its id or ref; undefined if there is none. Throws like {@link find}. */
  async findCommit(name: string): Promise<Commit | undefined> {
    const object = await this.find(name);
    return object?.type === 'commit' ? parseCommit(object) : undefined;
  }

  /** Returns true if a commit exists. The id may come from an untrusted client. */
  async hasCommit(oid: string): Promise<boolean> {
    return isCommitId(oid) && (await this.#ask(oid))?.type === 'commit';
  }

  /** Ends the process after its open requests. Later requests start another. */
  close(): void {
    this.#process?.end();
    this.#process = undefined;
  }

  /** Returns the error for a missing or invalid object. */
  damage(message: string, cause?: unknown): GitError {
    return this.#explain(new DamagedObjectError(message, { cause }));
  }

  async #ask(name: string): Promise<Answer | undefined> {
    const { directory = '.' } = this.git;
    if (!existsSync(join(directory, 'HEAD'))) return undefined;
    if (this.#process === undefined || this.#process.isOver) this.#process = new CatFile(this.git);
    return await this.#process.ask(name).catch((error: unknown) => {
      throw error instanceof DamagedObjectError ? this.#explain(error) : error;
    });
  }
}

/** One git process. It answers in the order of the requests. */
class CatFile {
  readonly #child: RunningGit;
  readonly #questions: Question[] = [];
  readonly #timer: NodeJS.Timeout;
  #complaint = '';
  #line = '';
  /** The object whose content is being read, and the number of bytes read, including the newline at the end. */
  #open: { readonly answer: Answer; consumed: number } | undefined;
  isOver = false;

  constructor(git: Git) {
    this.#child = git.start(['cat-file', '--batch']);
    this.#timer = setTimeout(() => this.#checkLiveness(), SILENCE_MS).unref();
    const { stdin, stdout, stderr } = this.#child;
    stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    stderr.on('data', (chunk: Buffer) => {
      this.#complaint = `${this.#complaint}${chunk}`.slice(0, COMPLAINT_BYTES_MAX);
    });
    // The exit code and the messages show the cause.
    stdin.on('error', () => stdin.destroy());
    this.#child.on('error', (error) => this.#fail(startFailure(error)));
    this.#child.on('close', (code) => {
      const text = `git could not read ${this.#questions[0]?.name}: ${this.#complaint.trim()}`;
      this.#fail(code === null ? new GitError(text) : new DamagedObjectError(text));
    });
  }

  ask(name: string): Promise<Answer | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
    if (this.#questions.length === 0) this.#timer.refresh();
    this.#questions.push({ name, resolve, reject });
    this.#child.stdin.write(`${name}\n`);
    return promise;
  }

  end(): void {
    this.isOver = true;
    this.#child.stdin.end();
  }

  #take(chunk: Buffer): void {
    this.#timer.refresh();
    let at = 0;
    while (at < chunk.length) at = this.#open === undefined ? this.#takeLine(chunk, at) : this.#takeBytes(chunk, at);
  }

  /** Reads a header, or the part of it in this chunk, and returns its end. */
  #takeLine(chunk: Buffer, at: number): number {
    const end = chunk.indexOf(NEWLINE, at);
    this.#line += chunk.toString('latin1', at, end < 0 ? chunk.length : end);
    if (this.#line.length > LINE_LENGTH_MAX) this.#fail(new GitError('git cat-file printed no header'));
    if (end < 0) return chunk.length;
    const [, oid = '', type, size = ''] = /^([0-9a-f]+) (commit|tree|blob|tag) (\d+)$/.exec(this.#line) ?? [];
    this.#line = '';
    if (type === undefined) {
      this.#questions.shift()?.resolve(undefined);
    } else {
      const bytes = Number(size) <= OBJECT_BYTES_MAX ? Buffer.allocUnsafe(Number(size)) : null;
      this.#open = { answer: { oid, type: type as ObjectType, size: Number(size), bytes }, consumed: 0 };
    }
    return end + 1;
  }

  #takeBytes(chunk: Buffer, at: number): number {
    if (this.#open === undefined) return at;
    const { answer, consumed } = this.#open;
    const end = Math.min(chunk.length, at + answer.size + 1 - consumed);
    // The byte after the content is a newline.
    answer.bytes?.set(chunk.subarray(at, Math.min(end, at + answer.size - consumed)), consumed);
    this.#open.consumed += end - at;
    if (this.#open.consumed > answer.size) {
      this.#open = undefined;
      this.#questions.shift()?.resolve(answer);
    }
    return end;
  }

  #checkLiveness(): void {
    if (this.#questions.length > 0) this.#fail(new GitError(`git did not answer within ${SILENCE_MS / 1000} s`));
  }

  #fail(error: unknown): void {
    this.isOver = true;
    clearTimeout(this.#timer);
    for (const { reject } of this.#questions.splice(0)) reject(error);
    endGroup(this.#child);
  }
}
