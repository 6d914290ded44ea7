// The audit log: one JSON object a line in a file of its own, which the usual tools rotate. It is written before what it tells of is answered,
// and a disk that takes no lines stops nothing. ARCHITECTURE.md, "Audit log".
import {
  closeSync,
  constants,
  fchmodSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';
import { type LogOnceAMinute, logOnceAMinute } from './log-once-a-minute.ts';
import { momentOf, visible, whyUnusable } from './wording.ts';

/** The kinds of which whoever reaches the listener can cause any number of lines. Each line of them is written once a minute. */
type ThrottledKind = 'certificate' | 'permission';

/** The kind of a line. */
export type AuditKind = ThrottledKind | 'write' | 'operation' | 'approval' | 'delete' | 'replacement';

/** A line, but for its time and the replica that writes it. Fields of which nothing is known are left out. docs/operations.md, the audit log. */
export interface AuditEntry {
  readonly kind: AuditKind;
  /** `unknown`: it was begun, and nobody knows what became of it. */
  readonly decision: 'allowed' | 'refused' | 'unknown' | 'begun';
  readonly request?: string | undefined;
  /** The client: its serial, what its file calls it, and its role. */
  readonly serial?: string | null | undefined;
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  /** The address that a connection came from. */
  readonly remote?: string | undefined;
  /** The replica that has forwarded a request. */
  readonly from?: string | undefined;
  readonly method?: string | undefined;
  /** Without its query. */
  readonly path?: string | undefined;
  readonly operation?: string | undefined;
  readonly object?: string | undefined;
  readonly instance?: string | undefined;
  readonly server?: string | undefined;
  readonly commit?: string | null | undefined;
  /** The branch that proposes a write. */
  readonly branch?: string | null | undefined;
  readonly code?: string | undefined;
  /** Why it is refused, where that says nothing of a body. */
  readonly reason?: string | undefined;
  /** What the client gave as its reason. */
  readonly comment?: string | undefined;
  /** The digest of the approval that was used. */
  readonly approval?: string | undefined;
  readonly approved?: boolean | undefined;
  /** The id of an action. */
  readonly action?: string | undefined;
  /** The serial of the proxy that carries it out. */
  readonly proxy?: string | undefined;
}

interface AuditLogOptions {
  /** An absolute path. */
  readonly file: string;
  readonly replica: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const TEXT_MAX = 1_000;
const MODE = 0o640;
const FLAGS = constants.O_RDWR | constants.O_APPEND;
const SYNC_MS = 1_000;
const RETRY_MS = 5_000;

/** Appends to the file of the audit log. */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #logOnce: Readonly<Record<ThrottledKind, LogOnceAMinute>>;
  #file: number | undefined;
  /** Being written to the disk by another thread: it is closed only after that. */
  #syncing: number | undefined;
  #checkedAt = 0;
  #cancelSync: (() => void) | undefined;
  #cancelRetry: (() => void) | undefined;
  #failure: { readonly reason: string; readonly since: string } | undefined;
  /** Lines that were not written since the last one that was. */
  #lostCount = 0;

  /** Opens the file. Where that fails, it is tried again with each line, and every few seconds. */
  constructor(options: AuditLogOptions) {
    this.#options = options;
    const { clock } = options;
    this.#logOnce = { certificate: logOnceAMinute(clock), permission: logOnceAMinute(clock) };
    this.reopen();
  }

  /** Returns why lines are lost; undefined while they are written. */
  get failure(): { readonly reason: string; readonly since: string } | undefined {
    if (this.#failure === undefined) return undefined;
    const { reason, since } = this.#failure;
    return { reason: `${reason}; lines that are lost: ${this.#lostCount}`, since };
  }

  /** Writes a line; it is with the operating system on return. Never throws. */
  record(entry: AuditEntry): void {
    const { kind, request: _, ...rest } = entry;
    if (kind !== 'certificate' && kind !== 'permission') {
      this.#append(entry);
      return;
    }
    const repeats = this.#logOnce[kind](JSON.stringify(rest));
    if (repeats) this.#append({ ...entry, ...repeats });
  }

  /** Closes the file and opens the one that has its name now. */
  reopen(): void {
    try {
      this.#closeFile();
      this.#open();
      if (this.#lostCount === 0) this.#worksAgain();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Has everything on the disk, and closes the file. */
  close(): void {
    this.#cancelSync?.();
    this.#cancelRetry?.();
    try {
      this.#closeFile();
    } catch (error) {
      this.#failed(error);
      this.#cancelRetry?.();
    }
  }

  #append(entry: AuditEntry & { readonly repeated?: number | undefined }): void {
    const line = this.#lineOf(entry);
    try {
      this.#write(this.#lostCount === 0 ? line : `${this.#lostLine()}${line}`);
    } catch (error) {
      this.#lostCount += 1;
      this.#failed(error);
    }
  }

  #lostLine(): string {
    return this.#lineOf({ kind: 'lost', since: this.#failure?.since, count: this.#lostCount });
  }

  #lineOf(fields: object): string {
    const { replica, clock } = this.#options;
    const json = JSON.stringify({ time: momentOf(clock.now()), replica, ...fields }, (_key, value: unknown) =>
      typeof value === 'string' ? shortened(value) : (value ?? undefined),
    );
    return `${visible(json)}\n`;
  }

  /** One call of the system for each line: with O_APPEND no other writer comes in between, and a file that is cut goes on at its start. */
  #write(text: string): void {
    const now = this.#options.clock.monotonic();
    if (this.#file !== undefined && now - this.#checkedAt >= SYNC_MS && !this.#hasItsName(this.#file))
      this.#closeFile();
    const file = this.#file ?? this.#open();
    const bytes = Buffer.from(text);
    const written = writeSync(file, bytes);
    if (written < bytes.length) throw new Error(`only ${written} of the ${bytes.length} bytes of a line were written`);
    this.#cancelSync ??= this.#options.clock.after(SYNC_MS, () => this.#sync());
    this.#worksAgain();
  }

  #open(): number {
    const file = openToAppend(this.#options.file);
    this.#file = file;
    this.#checkedAt = this.#options.clock.monotonic();
    // The last line is half of one where the disk was full, or the machine lost its power.
    if (!endsWithLine(file)) writeSync(file, '\n');
    return file;
  }

  /** Also without a signal, a file that was renamed or removed gets no more lines after a second. */
  #hasItsName(file: number): boolean {
    this.#checkedAt = this.#options.clock.monotonic();
    const [open, named] = [fstatSync(file), statSync(this.#options.file, { throwIfNoEntry: false })];
    return named !== undefined && named.ino === open.ino && named.dev === open.dev;
  }

  #sync(): void {
    this.#cancelSync = undefined;
    const file = this.#file;
    if (file === undefined) return;
    if (this.#syncing !== undefined) {
      this.#cancelSync = this.#options.clock.after(SYNC_MS, () => this.#sync());
      return;
    }
    this.#syncing = file;
    fdatasync(file, (error) => {
      this.#syncing = undefined;
      if (this.#file !== file) closeSync(file);
      if (error !== null) this.#failed(error);
    });
  }

  #closeFile(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    try {
      fdatasyncSync(file);
    } finally {
      if (file !== this.#syncing) closeSync(file);
    }
  }

  #failed(error: unknown): void {
    const { file, clock, log } = this.#options;
    const reason = `${file} cannot be written: ${whyUnusable(error)}`;
    if (this.#failure === undefined) log.error({ reason }, 'the audit log cannot be written, and loses lines');
    this.#failure = { reason, since: this.#failure?.since ?? momentOf(clock.now()) };
    this.#cancelRetry ??= clock.after(RETRY_MS, () => this.#retry());
    // The next line opens it again: it may be another file by then, and looks at what is left of a line.
    const broken = this.#file;
    this.#file = undefined;
    if (broken !== undefined && broken !== this.#syncing) closeSync(broken);
  }

  #retry(): void {
    this.#cancelRetry = undefined;
    if (this.#failure === undefined) return;
    if (this.#lostCount === 0) this.reopen();
    else {
      try {
        this.#write(this.#lostLine());
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  #worksAgain(): void {
    if (this.#failure === undefined) return;
    const { file, log } = this.#options;
    log.warn({ file, lost: this.#lostCount, since: this.#failure.since }, 'the audit log can be written again');
    this.#failure = undefined;
    this.#lostCount = 0;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }
}

/** Returns the file, which the group may read where it is new, whatever the umask. */
function openToAppend(path: string): number {
  let file: number;
  try {
    file = openSync(path, FLAGS);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    file = openSync(path, FLAGS | constants.O_CREAT, MODE);
    fchmodSync(file, MODE);
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error('it is no file');
}

function endsWithLine(file: number): boolean {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size === 0 || readSync(file, last, 0, 1, size - 1) === 0 || last.toString() === '\n';
}

function shortened(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX - 1).toWellFormed()}…`;
}
