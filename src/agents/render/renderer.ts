// The loop of `treeline render`: waits for a new record of its node, updates the files, runs the commands of changed
// files, and reports the result to the controller. Without a controller it uses the last record. docs/render.md;
// ARCHITECTURE.md, "Delivered and render".
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, pause } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { reasonOf, whyUnusable } from '../../base/wording.ts';
import { FILE_BYTES_MAX } from '../../catalog/decode-text.ts';
import { isMap, isSame, type JsonMap, parseJson } from '../../model/json.ts';
import { ProgramRunner } from '../../programs/program-runner.ts';
import { plainText } from '../../providers/answer-json.ts';
import { makeDirectory } from '../../store/files.ts';
import { lockDirectory } from '../../store/lock.ts';
import { ControllerClient, ControllerRefusal, type TaggedBody } from '../controller-client.ts';
import { pauseMs } from '../report-delivery.ts';
import type { Command, RenderedFile, RenderSettings } from './load-render-settings.ts';
import { isAsWanted, ManagedFileError, writeManagedFile } from './managed-file.ts';
import { renderTemplate, TemplateError } from './render-template.ts';

const ONE_RENDERER = 'Two must not share it: stop the other one, or give this one a "directory" of its own.';
/** The minimum time between two requests, for example while a controller stops. */
const SOON_MS = 1_000;
/** How long a stop waits for a running command, and then for a terminated one. */
const STOP_MS = 20_000;
const GRACE_MS = 5_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;
const COMPLAINT_LENGTH_MAX = 1_000;
const MESSAGE_LENGTH_MAX = 300;
/**
 * The interval of repeating a confirmation. The controller loses it if a backup is restored or the server is created
 * again.
 */
const CONFIRMED_MS = 300_000;
const SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The state that is kept on disk. */
interface Kept {
  readonly record: TaggedBody;
  /** The commands to run, as JSON: their files have changed or are about to. */
  readonly owed: readonly string[];
}

/** The result of one pass. Null fields mean success. */
export interface PassEnd {
  /** Why the controller returned no record. */
  readonly unanswered: string | null;
  /** Why a file could not be updated, or a command failed. */
  readonly failed: string | null;
  /** True if there is no record, not even an earlier one. */
  readonly isIdle: boolean;
}

/** The parts of a renderer. */
export interface RendererOptions {
  readonly log: Logger;
  readonly clock: Clock;
  /** Returns in words, for an operator, why the controller could not be asked, and what to do. */
  readonly describe: (error: Error) => string;
}

/** The log lines of lasting failures, for their begin or change, and for their end. */
const FAILURES = {
  unanswered: ['the controller returns no record; the files stay unchanged', 'the controller returns the record again'],
  failed: ['the files could not be updated; it is tried again', 'the files are up to date again'],
} as const;

/** Keeps the files of one node up to date. */
export class Renderer {
  readonly #settings: RenderSettings;
  readonly #options: RendererOptions;
  readonly #client: ControllerClient;
  readonly #opened: AsyncDisposableStack;
  readonly #runner: ProgramRunner;
  /** Aborted to stop requests and passes. */
  readonly #stopping = new AbortController();
  /** Aborted to end running commands. */
  readonly #ending = new AbortController();
  readonly #failing = new Map<keyof typeof FAILURES, string | null>();
  #kept: Kept | undefined;
  /** The last confirmation, and when it was sent. */
  #confirmed: { readonly body: JsonMap; readonly at: number } | undefined;
  #loop: Promise<void> = Promise.resolve();

  private constructor(
    settings: RenderSettings,
    options: RendererOptions,
    { runner, opened }: { readonly runner: ProgramRunner; readonly opened: AsyncDisposableStack },
  ) {
    this.#settings = settings;
    this.#options = options;
    this.#runner = runner;
    this.#opened = opened;
    this.#client = opened.adopt(new ControllerClient(settings), (it) => it.close());
  }

  /**
   * Resolves with a renderer and its kept state. Throws StoreError if another process uses its directory or other users
   * may enter it, and LeftoverError if commands of an earlier process cannot be ended.
   */
  static async open(settings: RenderSettings, options: RendererOptions): Promise<Renderer> {
    const { directory } = settings;
    await using opened = new AsyncDisposableStack();
    await makeDirectory(directory);
    opened.use(lockDirectory(directory, ONE_RENDERER));
    const runner = await ProgramRunner.open(join(directory, 'running'), options.log);
    const made = new Renderer(settings, options, { runner, opened: opened.move() });
    made.#kept = await readKept(made.#file, settings);
    return made;
  }

  /** Runs until it is stopped. */
  start(): void {
    const { server, node, files } = this.#settings;
    this.#options.log.info({ server, node, files: files.length }, 'render started');
    this.#loop = this.#run();
  }

  /** Stops requests, waits for a running command (at last, kills it), and releases the directory. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const cancel = this.#options.clock.after(STOP_MS, () =>
      this.#ending.abort(new Error('treeline render is stopping')),
    );
    await this.#loop;
    cancel();
    await this.#opened.disposeAsync();
  }

  /**
   * Waits for a record other than the kept one, updates the files, and reports the result to the controller. Never
   * throws.
   */
  async pass(waitSeconds: number): Promise<PassEnd> {
    const { signal } = this.#stopping;
    const unanswered = await this.#fetch(waitSeconds);
    if (signal.aborted) return { unanswered: null, failed: null, isIdle: this.#kept === undefined };
    const isIdle = this.#kept === undefined;
    this.#report('unanswered', unanswered);
    const failed = this.#kept === undefined ? null : await this.#apply(this.#kept);
    if (!signal.aborted) this.#report('failed', failed);
    if (this.#kept !== undefined && unanswered === null) await this.#confirm(this.#kept.record.etag, failed);
    return { unanswered, failed, isIdle };
  }

  get #file(): string {
    return join(this.#settings.directory, 'record.json');
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; ) {
      const begun = clock.monotonic();
      const { unanswered, failed } = await this.pass(failures > 0 ? 0 : this.#settings.checkSeconds);
      const isWell = unanswered === null && failed === null;
      failures = isWell ? 0 : failures + 1;
      const restMs = clock.monotonic() - begun < SOON_MS ? SOON_MS : 0;
      await pause(clock, isWell ? restMs : pauseMs(failures), signal);
    }
  }

  #report(failure: keyof typeof FAILURES, reason: string | null): void {
    if ((this.#failing.get(failure) ?? null) === reason) return;
    this.#failing.set(failure, reason);
    const [begun, ended] = FAILURES[failure];
    if (reason === null) this.#options.log.info({}, ended);
    else this.#options.log.warn({ reason }, begun);
  }

  /** Resolves with why there is no record; null if there is one, new or unchanged. */
  async #fetch(waitSeconds: number): Promise<string | null> {
    const { node } = this.#settings;
    const known = this.#kept?.record.etag;
    const wait = known === undefined ? 0 : waitSeconds;
    const request = { path: `/hiera/${encodeURIComponent(node)}/?wait=${wait}`, waitMs: wait * 1000 };
    try {
      const record = await this.#client.read({ ...request, signal: this.#stopping.signal }, known);
      if (record === undefined) return null;
      await this.#keep({ record, owed: this.#kept?.owed ?? [] });
      this.#options.log.info({ etag: record.etag }, 'there is a new record');
      return null;
    } catch (error) {
      if (error instanceof ManagedFileError || !(error instanceof Error)) return reasonOf(error);
      const isUnknown = error instanceof ControllerRefusal && error.status === 404;
      const advice = isUnknown ? ': "node" has to name a server of a stack, or a file in types/clientcert/' : '';
      return `${this.#options.describe(error)}${advice}`;
    }
  }

  async #keep(kept: Kept): Promise<void> {
    const text = JSON.stringify({ node: this.#settings.node, ...kept });
    await writeManagedFile({ path: this.#file, mode: 0o600, owner: null }, Buffer.from(text));
    this.#kept = kept;
  }

  /** Resolves with the failure, or null. Renders all files before it writes the first one. */
  async #apply({ record }: Kept): Promise<string | null> {
    try {
      const changed = await findChanges(this.#settings, record.body);
      await this.#owe(runsOf([...changed.keys()]));
      for (const [file, bytes] of changed) {
        await writeManagedFile(file, bytes);
        this.#options.log.info({ file: file.path }, 'written');
      }
      return await this.#runOwed(runsOf(this.#settings.files));
    } catch (error) {
      if (error instanceof TemplateError || error instanceof ManagedFileError) return error.message;
      throw error;
    }
  }

  /** Records commands before their files are written, so that a killed process runs them at its next start. */
  async #owe(runs: readonly string[]): Promise<void> {
    if (runs.length === 0 || this.#kept === undefined) return;
    await this.#keep({ ...this.#kept, owed: [...new Set([...this.#kept.owed, ...runs])] });
  }

  /**
   * Runs the owed commands once each, in the order of the settings. Forgets commands that are no longer in the
   * settings.
   */
  async #runOwed(known: readonly string[]): Promise<string | null> {
    if (this.#kept === undefined || this.#kept.owed.length === 0) return null;
    const { owed } = this.#kept;
    const failures = new Map<string, string>();
    for (const run of new Set(known)) {
      const isSkipped = !owed.includes(run);
      const failure = isSkipped ? null : await this.#runCommand(JSON.parse(run) as Command);
      if (failure !== null) failures.set(run, failure);
    }
    await this.#keep({ ...this.#kept, owed: [...failures.keys()] });
    return failures.size === 0 ? null : [...failures.values()].join('\n');
  }

  /** Resolves with why a command failed, without its output; null if it succeeded. */
  async #runCommand(command: Command): Promise<string | null> {
    const { base, node, timeoutSeconds } = this.#settings;
    const { log } = this.#options;
    if (this.#stopping.signal.aborted) return 'treeline render is stopping';
    const late = AbortSignal.timeout(timeoutSeconds * 1000);
    const order = {
      command,
      directory: base,
      input: '',
      outputBytesMax: OUTPUT_BYTES_MAX,
      graceMs: GRACE_MS,
      environment: { PATH: process.env.PATH ?? SEARCH_PATH, TREELINE_NODE: node },
      signal: AbortSignal.any([late, this.#ending.signal]),
      about: { program: command[0] },
    };
    try {
      const { exit, output, complaint } = await this.#runner.run(order);
      const written = plainText(complaint || output, COMPLAINT_LENGTH_MAX);
      log[exit === 0 ? 'info' : 'warn']({ command, exit, ...(exit === 0 ? {} : { written }) }, 'a command has run');
      return exit === 0 ? null : `${command[0]} ended with ${exit}`;
    } catch (error) {
      return `${command[0]}: ${late.aborted ? `it did not end within ${timeoutSeconds} s` : reasonOf(error)}`;
    }
  }

  /** Never throws: the next pass repeats a failed confirmation. */
  async #confirm(digest: string, failed: string | null): Promise<void> {
    const outcome = failed === null ? 'applied' : 'failed';
    const body: JsonMap = { digest, outcome, message: plainText(failed ?? '', MESSAGE_LENGTH_MAX) };
    const at = this.#options.clock.monotonic();
    if (this.#confirmed !== undefined && isSame(body, this.#confirmed.body) && at - this.#confirmed.at < CONFIRMED_MS)
      return;
    try {
      const path = `/hiera/${encodeURIComponent(this.#settings.node)}/applied`;
      await this.#client.send({ path, body, signal: this.#stopping.signal });
      this.#confirmed = { body, at };
    } catch (error) {
      const status = error instanceof ControllerRefusal ? error.status : 0;
      if (status < 400 || status >= 500 || status === 429) return;
      // A retry would fail in the same way.
      this.#confirmed = { body, at };
      this.#options.log.warn({ err: error }, 'the controller does not accept the confirmation');
    }
  }
}

/**
 * Resolves with the files to update and their new content. Throws one TemplateError for all wrong templates, or
 * ManagedFileError.
 */
export async function findChanges(settings: RenderSettings, record: JsonMap): Promise<Map<RenderedFile, Uint8Array>> {
  const changed = new Map<RenderedFile, Uint8Array>();
  const faults: string[] = [];
  for (const file of settings.files) {
    try {
      const bytes = await readTemplate(file.template);
      const made = Buffer.from(renderTemplate({ file: file.template, bytes, node: settings.node, record }));
      if (!(await isAsWanted(file, made))) changed.set(file, made);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      faults.push(error.message);
    }
  }
  if (faults.length > 0) throw new TemplateError(faults.join('\n'));
  return changed;
}

function runsOf(files: readonly RenderedFile[]): readonly string[] {
  return files.flatMap(({ run }) => (run === null ? [] : [JSON.stringify(run)]));
}

async function readTemplate(file: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(file);
    if (size > FILE_BYTES_MAX) throw new Error(`it has ${size} bytes, and ${FILE_BYTES_MAX} are allowed`);
    return await readFile(file);
  } catch (error) {
    throw new TemplateError(`${file} cannot be read: ${whyUnusable(error)}`, { cause: error });
  }
}

/** Resolves with the kept state of this node; undefined if there is none or it is incomplete. */
async function readKept(file: string, { node }: RenderSettings): Promise<Kept | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const kept = parseJson(text);
  if (!isMap(kept) || kept.node !== node || !isMap(kept.record) || !Array.isArray(kept.owed)) return undefined;
  const { etag, body } = kept.record;
  if (typeof etag !== 'string' || !isMap(body)) return undefined;
  return { record: { etag, body }, owed: kept.owed.map(String) };
}
