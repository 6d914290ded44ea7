// Reads the files of a listener again and again: it uses new content soon after a change, and never content that is wrong.
// Two files cannot change at the same time, so it reads them together and accepts only a set that fits together. See
// docs/install.md, certificates.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { WokenLoop } from '../../base/woken-loop.ts';
import { momentOf, reasonOf, whyUnusable } from '../../base/wording.ts';
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
  /** Of a file that cannot be read, an empty text. */
  readonly material: TlsMaterial;
  /** The faults of files that cannot be read. */
  readonly faults: readonly TlsFault[];
}

/** The files cannot be used. The message names each wrong file and its fault. */
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
 * Returns the files as they are. Throws TlsFilesError if they cannot be served, or would let nobody in. Files that lock
 * clients out for now, such as an expired revocation list, are used, and the log says so: the controller does its work
 * without clients.
 */
export async function openTlsFiles(options: TlsFilesOptions): Promise<TlsFiles> {
  const { paths, clock, log } = options;
  const { material, faults } = await readTlsFiles(paths);
  const checked = faults.length > 0 ? { faults, ends: [] } : checkTls(material, clock.now());
  const problems = problemsOf(paths, checked.faults);
  if (checked.faults.some(({ isBroken }) => isBroken)) {
    throw new TlsFilesError(`The files of api.tls cannot be used:\n${problems.join('\n')}`);
  }
  if (problems.length > 0) log.error({ problems }, 'the TLS files are used as they are, but lock clients out');
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
  /** Why the files cannot be used, and since when; undefined: they are right. */
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

  /** When that expires. */
  get ends(): readonly EndingCertificate[] {
    return this.#ends;
  }

  /**
   * Calls `reload` with what to serve with, from now on, whenever it changes. It may throw for what it refuses. Called
   * once.
   */
  follow(reload: (material: TlsMaterial) => void): void {
    this.#reload = reload;
    this.#loop = new WokenLoop({ clock: this.#clock, everyMs: POLL_MS, work: () => this.#check() });
  }

  /** Stops following. */
  async close(): Promise<void> {
    await this.#loop?.close();
  }

  /** Never throws: the one place that catches a reload that failed. */
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
    // Material that locks clients out now is replaced at once: an expired list must not delay a new certificate.
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

  /** Logs a problem once, however often it is seen. */
  #complain(problems: readonly string[]): void {
    const reason = problems.join('; ');
    if (reason === this.failure?.reason) return;
    this.failure = { reason, since: this.failure?.since ?? momentOf(this.#clock.now()) };
    this.#log.error({ problems }, 'the TLS files cannot be used; those of before stay in force');
  }

  #makeUp(): void {
    if (this.failure !== undefined) this.#log.info('the TLS files are those in force again');
    this.failure = undefined;
  }

  /** Warns once a day of what ends soon. What the leader serves with is also a cause. */
  #warn(): void {
    const now = this.#clock.now();
    const day = Math.floor(now / DAY_MS);
    const due = this.#ends.filter((end) => now >= dueFrom(end));
    if (due.length === 0 || day === this.#warnedOn) return;
    this.#warnedOn = day;
    for (const { name, ends } of due) {
      const words = now < ends ? 'expires soon' : 'has expired';
      this.#log.warn({ expires: momentOf(ends) }, `${name} ${words}: replace it`);
    }
  }
}

function problemsOf(paths: TlsPaths, faults: readonly TlsFault[]): string[] {
  return faults.map(({ part, message }) => `${pathOf(paths, part)}: ${message}`);
}
