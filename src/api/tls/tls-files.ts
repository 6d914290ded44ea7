// Polls the files of a listener: it uses new content soon after a change, but never invalid content. Files change one
// after another, so it reads all of them and accepts only a consistent set. See docs/install.md, certificates.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { WokenLoop } from '../../base/woken-loop.ts';
import { reasonOf, toRfc3339, whyUnusable } from '../../base/wording.ts';
import type { Outage } from '../../service/answers.ts';
import { dueFrom, type EndingCertificate } from '../../service/progress/clients-seen.ts';
import { type CheckedTls, checkTls, type TlsFault, type TlsPart } from './check-tls.ts';
import type { TlsMaterial } from './tls-material.ts';

/** How often the files are read. */
const POLL_MS = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;
const PARTS: readonly TlsPart[] = ['key', 'cert', 'ca', 'crl'];

/** Absolute paths; symbolic links are followed. */
export interface TlsPaths {
  readonly key: string;
  readonly cert: string;
  /** The authorities of clients. */
  readonly clientCa: string;
  /** Null: no certificate is revoked. */
  readonly crl: string | null;
}

interface ReadTlsFiles {
  /** An empty text for a file that cannot be read. */
  readonly material: TlsMaterial;
  /** The faults of unreadable files. */
  readonly faults: readonly TlsFault[];
}

/** The files cannot be used. The message has each invalid file and its fault. */
export class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError';
}

interface TlsFilesOptions {
  readonly paths: TlsPaths;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns the content of the files. */
export async function readTlsFiles(paths: TlsPaths): Promise<ReadTlsFiles> {
  const faults: TlsFault[] = [];
  async function read(part: TlsPart): Promise<string> {
    try {
      return await readFile(pathOf(paths, part), 'utf8');
    } catch (error) {
      faults.push({ part, message: whyUnusable(error), isBroken: true });
      return '';
    }
  }
  const [key, cert, ca, crl] = await Promise.all([
    read('key'),
    read('cert'),
    read('ca'),
    paths.crl === null ? undefined : read('crl'),
  ]);
  return { material: { key, cert, ca, crl }, faults };
}

/** Throws if there is no file of that part. */
function pathOf({ key, cert, clientCa, crl }: TlsPaths, part: TlsPart): string {
  const path = { key, cert, ca: clientCa, crl }[part];
  if (path === null) throw new Error('no revocation lists are configured');
  return path;
}

/**
 * Returns the files. Throws TlsFilesError if they cannot be used or would never accept a client. Files that lock out
 * clients for now, such as an expired revocation list, are used and logged: the controller works without clients.
 */
export async function openTlsFiles(options: TlsFilesOptions): Promise<TlsFiles> {
  const { paths, clock, log } = options;
  const { material, faults } = await readTlsFiles(paths);
  const checked = faults.length > 0 ? { faults, ends: [] } : checkTls(material, clock.now());
  const problems = problemsOf(paths, checked.faults);
  if (checked.faults.some(({ isBroken }) => isBroken)) {
    throw new TlsFilesError(`The files of api.tls cannot be used:\n${problems.join('\n')}`);
  }
  if (problems.length > 0) log.error({ problems }, 'the TLS files are used, but lock out clients');
  return new TlsFiles(options, material, checked);
}

/** The TLS files of a listener. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #clock: Clock;
  readonly #log: Logger;
  #material: TlsMaterial;
  #ends: readonly EndingCertificate[];
  #reload: (material: TlsMaterial) => void = () => undefined;
  #loop: WokenLoop | undefined;
  /** Why the files cannot be used, and since when; undefined if they are valid. */
  failure: Outage | undefined;
  /** The day of the last warnings, in days since 1970. */
  #warnedOn = 0;

  constructor({ paths, clock, log }: TlsFilesOptions, material: TlsMaterial, { ends }: CheckedTls) {
    this.#paths = paths;
    this.#clock = clock;
    this.#log = log;
    this.#material = material;
    this.#ends = ends;
    this.#warn();
  }

  /** The material in force. */
  get material(): TlsMaterial {
    return this.#material;
  }

  /** When the material expires. */
  get ends(): readonly EndingCertificate[] {
    return this.#ends;
  }

  /**
   * Calls `reload` with the new material after each change. `reload` may throw to refuse it. Call this method once.
   */
  follow(reload: (material: TlsMaterial) => void): void {
    this.#reload = reload;
    this.#loop = new WokenLoop({ clock: this.#clock, everyMs: POLL_MS, work: () => this.#check() });
  }

  /** Stops following. */
  async close(): Promise<void> {
    await this.#loop?.close();
  }

  /** Never throws: it catches the errors of `reload`. */
  async #check(): Promise<false> {
    try {
      const { material, faults } = await readTlsFiles(this.#paths);
      const changed = PARTS.filter((part) => material[part] !== this.#material[part]);
      if (faults.length > 0) this.#complain(problemsOf(this.#paths, faults));
      else if (changed.length > 0) this.#consider(material, changed);
      else this.#makeUp();
    } catch (error) {
      this.#complain([reasonOf(error)]);
    }
    this.#warn();
    return false;
  }

  #consider(material: TlsMaterial, changed: readonly TlsPart[]): void {
    const now = this.#clock.now();
    const { faults, ends } = checkTls(material, now);
    // Material that locks out clients is replaced even by other such material: an expired list must not delay a new
    // certificate.
    const known = problemsOf(this.#paths, checkTls(this.#material, now).faults);
    const problems = problemsOf(this.#paths, faults).filter((problem) => !known.includes(problem));
    if (problems.length > 0) {
      this.#complain(problems);
      return;
    }
    this.#reload(material);
    this.#material = material;
    this.#ends = ends;
    this.failure = undefined;
    this.#log.info({ files: changed.map((part) => pathOf(this.#paths, part)) }, 'TLS files reloaded');
  }

  /** Logs problems once until they change. */
  #complain(problems: readonly string[]): void {
    const reason = problems.join('; ');
    if (reason === this.failure?.reason) return;
    this.failure = { reason, since: this.failure?.since ?? toRfc3339(this.#clock.now()) };
    this.#log.error({ problems }, 'the new TLS files cannot be used; the earlier ones stay in force');
  }

  #makeUp(): void {
    if (this.failure !== undefined) this.#log.info('the TLS files match those in force again');
    this.failure = undefined;
  }

  /** Warns once a day about material that ends soon. On the leader, this is also a cause. */
  #warn(): void {
    const now = this.#clock.now();
    const day = Math.floor(now / DAY_MS);
    const due = this.#ends.filter((end) => now >= dueFrom(end));
    if (due.length === 0 || day === this.#warnedOn) return;
    this.#warnedOn = day;
    for (const { name, ends } of due) {
      const words = now < ends ? 'expires soon' : 'has expired';
      this.#log.warn({ expires: toRfc3339(ends) }, `${name} ${words}: replace it`);
    }
  }
}

function problemsOf(paths: TlsPaths, faults: readonly TlsFault[]): string[] {
  return faults.map(({ part, message }) => `${pathOf(paths, part)}: ${message}`);
}
