// The loop of `treeline render`: waits for another record of its node, makes the files right by it, runs the commands
// of those that changed, and reports that to the controller. Without a new record it continues with the last one.
// docs/render.md; ARCHITECTURE.md, "Delivered and render".
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
/** The pause after an answer that came sooner, as from a controller that stops. */
const SOON_MS = 1_000;
/** How long a command may continue when this process stops, and then, asked to end. */
const STOP_MS = 20_000;
const GRACE_MS = 5_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;
const COMPLAINT_LENGTH_MAX = 1_000;
const MESSAGE_LENGTH_MAX = 300;
/**
 * A confirmation is repeated after this time: the controller loses it if a backup is restored or the server is created
 * anew.
 */
const CONFIRMED_MS = 300_000;
const SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What is kept on disk. */
interface Kept {
  readonly record: TaggedBody;
  /** Commands, as JSON, that have to run, since their files have changed or are about to. */
  readonly owed: readonly string[];
}

/** The end of one pass. Null: all is well. */
export interface PassEnd {
  /** Why the controller gave no record. */
  readonly unanswered: string | null;
  /** Why the files are not as they should be, or a command did not do its work. */
  readonly failed: string | null;
  /** There is no record, not even an earlier one. */
  readonly isIdle: boolean;
}

/** The parts of a renderer. */
export interface RendererOptions {
  readonly log: Logger;
  readonly clock: Clock;
  /** Returns in words, for an operator, why the controller could not be asked, and what to do. */
  readonly describe: (error: Error) => string;
}

/** Something that may fail for long: it is logged when that begins, changes or ends. */
const FAILURES = {
  unanswered: ['the controller gives no record; the files stay as they are', 'the controller gives the record again'],
  failed: ['the files are not as they should be; it is tried again', 'the files are as they should be again'],
} as const;

/** Makes the files of one node. */
export class Renderer {
  readonly #settings: RenderSettings;
  readonly #options: RendererOptions;
  readonly #client: ControllerClient;
  readonly #opened: AsyncDisposableStack;
  readonly #runner: ProgramRunner;
  /** No more requests and passes. */
  readonly #stopping = new AbortController();
  /** Ends running commands. */
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
   * Returns a renderer with what it kept. Throws StoreError if another process has its directory or others may enter
   * it, and LeftoverError if commands of an earlier one cannot be ended.
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

  /** Asks no more, waits for a command that runs, in the end by force, and lets the directory go. */
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
   * Waits for another record than the kept one, makes the files right, and reports that to the controller.
   * Never throws.
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

  /** Returns why no record came, null if one did, or it is the one that is kept. */
  async #fetch(waitSeconds: number): Promise<string | null> {
    const { node } = this.#settings;
    const known = this.#kept?.record.etag;
    const wait = known === undefined ? 0 : waitSeconds;
    const request = { path: `/hiera/${encodeURIComponent(node)}/?wait=${wait}`, waitMs: wait * 1000 };
    try {
      const record = await this.#client.read({ ...request, signal: this.#stopping.signal }, known);
      if (record === undefined) return null;
      await this.#keep({ record, owed: this.#kept?.owed ?? [] });
      this.#options.log.info({ etag: record.etag }, 'there is another record');
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

  /** Returns what is not right in the end, null if all is. Everything is rendered before the first file is written. */
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

  /** Records commands before their files are written: who is killed in between runs them at the next start. */
  async #owe(runs: readonly string[]): Promise<void> {
    if (runs.length === 0 || this.#kept === undefined) return;
    await this.#keep({ ...this.#kept, owed: [...new Set([...this.#kept.owed, ...runs])] });
  }

  /**
   * Runs what is owed, each command once, in the order of the settings. What these do not name any more is forgotten.
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

  /** Returns why a command did not do its work, without what it wrote; null if it did. */
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

  /** A confirmation is of no use to the files: where it fails, the next pass tries again. */
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
      // Another try would end the same.
      this.#confirmed = { body, at };
      this.#options.log.warn({ err: error }, 'the controller does not accept the confirmation');
    }
  }
}

/**
 * Returns the files that are not as a record says, with what they are to hold. Throws TemplateError with all of them,
 * and ManagedFileError.
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

/** Returns what an earlier process has kept of this node. What is not whole is as if it were not there. */
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
