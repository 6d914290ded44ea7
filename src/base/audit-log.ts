// The audit log: one JSON object a line in a file of its own, which the usual tools rotate. It is written before the
// request that it describes is answered, and a disk that takes no lines stops nothing. ARCHITECTURE.md, "Audit log".
import { closeSync, constants, fchmodSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';
import { type LogOnceAMinute, logOnceAMinute } from './log-once-a-minute.ts';
import { momentOf, visible, whyUnusable } from './wording.ts';

/**
 * The kinds of which whoever reaches the listener can cause any number of lines. Each line of them is written once a
 * minute.
 */
type ThrottledKind = 'certificate' | 'permission';

/** The kind of a line. */
export type AuditKind = ThrottledKind | 'write' | 'operation' | 'approval' | 'delete' | 'replacement';

/**
 * A line, but for its time and the replica that writes it. Fields of which nothing is known are left out.
 * docs/operate.md, the audit log.
 */
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

/** Appends to the file of the audit log. */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #logOnce: Readonly<Record<ThrottledKind, LogOnceAMinute>>;
  #file: number | undefined;
  #failure: { readonly reason: string; readonly since: string } | undefined;

  /** Opens the file. If that fails, each line tries it again. */
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
   * One call of the system for each line: with O_APPEND no other writer comes in between, and a file that is cut
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
    const json = JSON.stringify({ time: momentOf(clock.now()), replica, ...fields }, (_key, value: unknown) =>
      typeof value === 'string' ? shortened(value) : (value ?? undefined),
    );
    return `${visible(json)}\n`;
  }

  #open(): number {
    const file = openToAppend(this.#options.file);
    this.#file = file;
    // The last line is half of one if the disk was full, or the machine lost its power.
    if (!endsWithLine(file)) writeSync(file, '\n');
    return file;
  }

  /** Notes whether it fails. Never throws. */
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
      this.#failure = { reason, since: this.#failure?.since ?? momentOf(clock.now()) };
      // The next line opens it again: it may be another file by then, and ends what is left of a line.
      this.close();
    }
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
