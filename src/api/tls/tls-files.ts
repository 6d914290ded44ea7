// Follows the files of a listener: it uses new content soon after a change, and never content that is wrong. Two files
// cannot change at one moment, so it reads them together and accepts only a set that fits together. See
// docs/operations.md, certificates.
import type { Clock } from '../../base/clock.ts';
import { type FileWatch, watchFiles } from '../../base/file-watch.ts';
import type { Logger } from '../../base/log.ts';
import { WokenLoop } from '../../base/woken-loop.ts';
import { reasonOf } from '../../base/wording.ts';
import { type CheckedTls, checkTls, type Expiry, type TlsFault, type TlsPart } from './check-tls.ts';
import { ExpiryWarnings } from './expiry-warnings.ts';
import { pathOf, readTlsFiles, type TlsPaths } from './read-tls-files.ts';
import type { TlsMaterial } from './tls-material.ts';

/** Related files change within so much time. */
const SETTLE_MS = 200;
const POLL_MS = 60_000;
const PARTS: readonly TlsPart[] = ['key', 'cert', 'ca', 'crl'];

/** The files cannot be used. The message names each wrong file and its fault. */
export class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError';
}

interface TlsFilesOptions {
  readonly paths: TlsPaths;
  readonly clock: Clock;
  readonly log: Logger;
}

interface TlsFiles {
  /** The material in force. */
  readonly material: TlsMaterial;
  /** When that ends. */
  readonly expiries: readonly Expiry[];
  /** Hands over what to serve with, from now on, whenever it changes. `reload` may throw for what it refuses. Called once. */
  follow(reload: (material: TlsMaterial) => void): void;
  /** Stops following. */
  close(): Promise<void>;
}

/**
 * Returns the files as they are. Throws TlsFilesError where nothing can be served with them. Files that only lock clients
 * out, such as an expired revocation list, are used, and the log says so: the controller does its work without clients.
 */
export async function openTlsFiles(options: TlsFilesOptions): Promise<TlsFiles> {
  const { paths, clock, log } = options;
  const { material, faults } = await readTlsFiles(paths);
  const checked = faults.length > 0 ? { faults, expiries: [] } : checkTls(material, clock.now());
  const problems = problemsOf(paths, checked.faults);
  if (checked.faults.some(({ isBroken }) => isBroken)) {
    throw new TlsFilesError(`The files of api.tls cannot be used:\n${problems.join('\n')}`);
  }
  if (problems.length > 0) log.error({ problems }, 'the TLS files are used as they are, but lock clients out');
  return new FollowedTlsFiles(options, material, checked);
}

class FollowedTlsFiles implements TlsFiles {
  readonly #paths: TlsPaths;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #warnings: ExpiryWarnings;
  #material: TlsMaterial;
  #expiries: readonly Expiry[];
  #reload: (material: TlsMaterial) => void = () => undefined;
  #loop: WokenLoop | undefined;
  #watch: FileWatch | undefined;
  /** The last complaint about the files; empty: they are right. */
  #complaint = '';

  constructor({ paths, clock, log }: TlsFilesOptions, material: TlsMaterial, { expiries }: CheckedTls) {
    this.#paths = paths;
    this.#clock = clock;
    this.#log = log;
    this.#warnings = new ExpiryWarnings({ log, fileOf: (part) => pathOf(paths, part) });
    this.#material = material;
    this.#expiries = expiries;
    this.#warn();
  }

  get material(): TlsMaterial {
    return this.#material;
  }

  get expiries(): readonly Expiry[] {
    return this.#expiries;
  }

  follow(reload: (material: TlsMaterial) => void): void {
    this.#reload = reload;
    const loop = new WokenLoop({ clock: this.#clock, everyMs: POLL_MS, work: () => this.#check() });
    const sign = (): void => loop.wakeWithin(SETTLE_MS);
    const files = PARTS.filter((part) => this.#material[part] !== undefined).map((part) => pathOf(this.#paths, part));
    this.#loop = loop;
    this.#watch = watchFiles(files, {
      changed: sign,
      failed: (error) => this.#log.warn({ err: error }, 'the TLS files cannot be watched, but are read every minute'),
    });
    // Changes between the first read and the start of the watch are found here.
    void this.#watch.ready.then(sign);
  }

  async close(): Promise<void> {
    await this.#watch?.close();
    await this.#loop?.close();
  }

  /** Never throws: the one place where a reload that failed is caught. */
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
    const { faults, expiries } = checkTls(material, now);
    // Material that locks clients out now is replaced at once: an expired list must not delay a new certificate.
    const known = problemsOf(this.#paths, checkTls(this.#material, now).faults);
    const problems = problemsOf(this.#paths, faults).filter((problem) => !known.includes(problem));
    if (problems.length > 0) {
      this.#complain(problems);
      return;
    }
    this.#reload(material);
    this.#material = material;
    this.#expiries = expiries;
    this.#complaint = '';
    this.#log.info({ files: changed.map((part) => pathOf(this.#paths, part)) }, 'TLS files reloaded');
  }

  /** Says a problem once, however often it is seen. */
  #complain(problems: readonly string[]): void {
    const complaint = problems.join('\n');
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    this.#log.error({ problems }, 'the TLS files cannot be used; those of before stay in force');
  }

  #makeUp(): void {
    if (this.#complaint !== '') this.#log.info('the TLS files are those in force again');
    this.#complaint = '';
  }

  #warn(): void {
    this.#warnings.announce(this.#expiries, this.#clock.now());
  }
}

function problemsOf(paths: TlsPaths, faults: readonly TlsFault[]): string[] {
  return faults.map(({ part, message }) => `${pathOf(paths, part)}: ${message}`);
}
