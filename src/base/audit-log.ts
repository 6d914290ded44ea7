// Writes the audit log: one JSON object per line in a separate file, which the usual tools can rotate. A line is
// written before its request is answered, and a full disk does not stop the controller. ARCHITECTURE.md, "Audit log".
import { closeSync, constants, fchmodSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';
import { type LogOnceAMinute, logOnceAMinute } from './log-once-a-minute.ts';
import { toRfc3339, visible, whyUnusable } from './wording.ts';

/** Kinds of lines that anyone who reaches the listener can cause. The same line is written at most once a minute. */
type ThrottledKind = 'certificate' | 'permission';

/** The kind of a line. */
export type AuditKind = ThrottledKind | 'write' | 'operation' | 'approval' | 'delete' | 'replacement';

/** A line without its time and replica. Unknown fields are omitted. docs/operate.md, the audit log. */
export interface AuditEntry {
  readonly kind: AuditKind;
  /** `unknown`: the request began, and its outcome is not known. */
  readonly decision: 'allowed' | 'refused' | 'unknown' | 'begun';
  readonly request?: string | undefined;
  /** The serial, description and role of the client. */
  readonly serial?: string | null | undefined;
  readonly name?: string | undefined;
  readonly role?: string | undefined;
  /** The remote address of the connection. */
  readonly remote?: string | undefined;
  /** The replica that forwarded the request. */
  readonly from?: string | undefined;
  readonly method?: string | undefined;
  /** Without the query. */
  readonly path?: string | undefined;
  readonly operation?: string | undefined;
  readonly object?: string | undefined;
  readonly instance?: string | undefined;
  readonly server?: string | undefined;
  readonly commit?: string | null | undefined;
  /** The branch that proposes a write. */
  readonly branch?: string | null | undefined;
  readonly code?: string | undefined;
  /** Why it is refused, if the reason does not quote a body. */
  readonly reason?: string | undefined;
  /** The reason that the client gave. */
  readonly comment?: string | undefined;
  /** The digest of the approval that was used. */
  readonly approval?: string | undefined;
  readonly approved?: boolean | undefined;
  /** The id of an action. */
  readonly action?: string | undefined;
  /** The serial of the proxy that carries out the action. */
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

/** Appends to the file of the audit log. */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #logOnce: Readonly<Record<ThrottledKind, LogOnceAMinute>>;
  #file: number | undefined;
  #failure: { readonly reason: string; readonly since: string } | undefined;

  /** Opens the file. If that fails, each line tries again. */
  constructor(options: AuditLogOptions) {
    this.#options = options;
    const { clock } = options;
    this.#logOnce = { certificate: logOnceAMinute(clock), permission: logOnceAMinute(clock) };
    this.reopen();
  }

  /** Returns why lines are lost; undefined while they are written. */
  get failure(): { readonly reason: string; readonly since: string } | undefined {
    return this.#failure;
  }

  /** Writes a line, which the operating system has on return. Never throws. */
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
    this.close();
    this.#attempt(() => this.#open());
  }

  /** Closes the file. */
  close(): void {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) closeSync(file);
  }

  /**
   * Uses one system call for each line: with O_APPEND, lines of several writers do not mix, and a truncated file
   * continues at its start.
   */
  #append(entry: AuditEntry & { readonly repeated?: number | undefined }): void {
    const bytes = Buffer.from(this.#lineOf(entry));
    this.#attempt(() => {
      const written = writeSync(this.#file ?? this.#open(), bytes);
      if (written < bytes.length)
        throw new Error(`only ${written} of the ${bytes.length} bytes of a line were written`);
    });
  }

  #lineOf(fields: object): string {
    const { replica, clock } = this.#options;
    const json = JSON.stringify({ time: toRfc3339(clock.now()), replica, ...fields }, (_key, value: unknown) =>
      typeof value === 'string' ? shortened(value) : (value ?? undefined),
    );
    return `${visible(json)}\n`;
  }

  #open(): number {
    const file = openToAppend(this.#options.file);
    this.#file = file;
    // The last line may be incomplete after a full disk or a power cut.
    if (!endsWithLine(file)) writeSync(file, '\n');
    return file;
  }

  /** Runs `work` and records whether it fails. Never throws. */
  #attempt(work: () => void): void {
    const { file, clock, log } = this.#options;
    try {
      work();
      if (this.#failure !== undefined)
        log.warn({ file, since: this.#failure.since }, 'the audit log can be written again');
      this.#failure = undefined;
    } catch (error) {
      const reason = `${file} cannot be written: ${whyUnusable(error)}`;
      if (this.#failure === undefined) log.error({ reason }, 'the audit log cannot be written, and loses lines');
      this.#failure = { reason, since: this.#failure?.since ?? toRfc3339(clock.now()) };
      // The next line opens the file again, because it may be another file by then, and ends an incomplete line.
      this.close();
    }
  }
}

/** Returns the open file. A new file is readable by the group, regardless of the umask. */
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
  throw new Error('it is not a file');
}

function endsWithLine(file: number): boolean {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size === 0 || readSync(file, last, 0, 1, size - 1) === 0 || last.toString() === '\n';
}

function shortened(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX - 1).toWellFormed()}…`;
}
