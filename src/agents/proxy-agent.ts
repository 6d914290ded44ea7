// The loop of a proxy: asks the controller for actions, claims those that it has a program and capacity for, and
// carries them out. It opens no port, and continues while the line is cut.
import { randomUUID } from 'node:crypto';
import { type ClockTimes, pause, readClocks, within } from '../base/clock.ts';
import { isMap, type JsonMap } from '../model/json.ts';
import type { ProviderEntry, ProviderRegistry } from '../providers/provider-registry.ts';
import type { AgentAction, ClaimedAction } from './agent.ts';
import { carryOut, retryable } from './claimed-run.ts';
import { NO_FILE } from './claimed-work.ts';
import { ControllerRefusal } from './controller-client.ts';
import { pauseMs, ReportDelivery, type ReportDeliveryOptions } from './report-delivery.ts';

const OPERATIONS: readonly unknown[] = ['check', 'create', 'update', 'delete'];
/** How long one request waits for actions. */
const WAIT_SECONDS = 30;
const LIMIT_MAX = 100;
/** So often a claim is asked for whose answer did not come. */
const CLAIM_TRIES = 4;
/** Servers of which it is logged that no entry matches. */
const UNMATCHED_MAX = 1_000;
/** How long the last reports may take when the proxy stops. */
const LAST_REPORTS_MS = 5_000;

/** The parts and limits of a proxy. */
export interface ProxyAgentOptions extends ReportDeliveryOptions {
  readonly registry: ProviderRegistry;
  readonly concurrency: number;
  /** Returns true if nothing of a claimed action of an earlier run runs any more for certain. */
  readonly hasEnded: (action: string) => boolean;
  /** Returns in words, for an operator, why the controller could not be asked, and what to do. */
  readonly describe: (error: Error) => string;
}

/** A proxy: asks for actions, carries them out and reports them, until it is stopped. */
export class ProxyAgent {
  readonly #options: ProxyAgentOptions;
  readonly #reports: ReportDelivery;
  /** No more claims. */
  readonly #draining = new AbortController();
  /** Ends running programs. */
  readonly #ending = new AbortController();
  readonly #runs = new Map<Promise<void>, string>();
  #polls: Promise<void> = Promise.resolve();
  /** Servers that match no entry and were logged. */
  readonly #unmatched = new Set<string>();

  constructor(options: ProxyAgentOptions) {
    this.#options = options;
    this.#reports = new ReportDelivery(options);
  }

  /** Reports what an earlier run has left, and begins to ask for actions. */
  async start(): Promise<void> {
    const { work, log, hasEnded } = this.#options;
    for (const kept of work.list()) {
      if (kept.answer !== null) this.#reports.deliver(kept);
      else if (hasEnded(kept.id)) {
        log.warn({ action: kept.id }, 'the proxy was ended while this ran; it is reported as to be tried again');
        this.#reports.deliver(await work.end(kept, retryable('the proxy was ended while it ran')));
      } else {
        // Something of it may still run: the controller waits for its deadline, and checks.
        work.forget(kept);
      }
    }
    this.#polls = this.#poll();
  }

  /** Claims no more, waits up to `ms` for what runs, ends the rest, and sends the reports. */
  async stop(ms: number): Promise<void> {
    const { clock, log } = this.#options;
    this.#draining.abort();
    await this.#polls;
    if (this.#runs.size > 0)
      log.info({ actions: this.#runs.size, seconds: ms / 1000 }, 'waiting for the actions under way');
    await within(clock, ms, Promise.allSettled(this.#runs.keys()));
    this.#ending.abort(new Error('the proxy is stopping'));
    await Promise.allSettled(this.#runs.keys());
    await this.#reports.stop(LAST_REPORTS_MS);
  }

  async #poll(): Promise<void> {
    const { clock, log, describe } = this.#options;
    const { signal } = this.#draining;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const isBusy = !(await this.#takeSome());
        if (failures > 0) log.info('the controller answers again');
        failures = 0;
        // Nothing that was offered could be taken: it would be offered again at once.
        if (isBusy) await Promise.race([pause(clock, pauseMs(2, this.#options.random), signal), ...this.#runs.keys()]);
      } catch (error) {
        if (signal.aborted) return;
        const reason = error instanceof Error ? describe(error) : String(error);
        if (failures === 0) log.warn({ reason, err: error }, 'the controller does not answer; it is asked again');
        await pause(clock, pauseMs(failures, this.#options.random), signal);
        failures += 1;
      }
    }
  }

  /** Returns false if nothing can be taken at present. */
  async #takeSome(): Promise<boolean> {
    const { client, concurrency } = this.#options;
    const free = Math.min(LIMIT_MAX, concurrency - this.#runs.size);
    if (free <= 0) return false;
    const path = `/agent/actions?wait=${WAIT_SECONDS}&limit=${free}`;
    const answer = await client.send({ path, waitMs: WAIT_SECONDS * 1000, signal: this.#draining.signal });
    const offered = readOffered(answer);
    const claims = offered.flatMap((action) => this.#claimFor(action) ?? []);
    await Promise.all(claims);
    return offered.length === 0 || claims.length > 0;
  }

  /** Claims an action, and begins it in the background; undefined if this proxy has no program or capacity for it. */
  #claimFor(action: AgentAction): Promise<void> | undefined {
    const entry = this.#options.registry.match(action);
    if (entry === undefined) {
      this.#logUnmatched(action);
      return undefined;
    }
    const running = [...this.#runs.values()].filter((name) => name === entry.name).length;
    if (running >= entry.concurrency) return undefined;
    const asked = readClocks(this.#options.clock);
    const claim = this.#claim(action.id);
    const run = this.#run(claim, { entry, asked }).finally(() => this.#runs.delete(run));
    this.#runs.set(run, entry.name);
    return claim.then(() => undefined);
  }

  #logUnmatched({ resource }: AgentAction): void {
    if (this.#unmatched.has(resource) || this.#unmatched.size >= UNMATCHED_MAX) return;
    this.#unmatched.add(resource);
    const { log } = this.#options;
    log.warn({ server: resource }, 'no entry under providers matches this server; it is left alone');
  }

  async #run(
    claim: Promise<ClaimedAction | undefined>,
    { entry, asked }: { readonly entry: ProviderEntry; readonly asked: ClockTimes },
  ): Promise<void> {
    const claimed = await claim;
    if (claimed === undefined) return;
    const { id, resource } = claimed.action;
    // A commit may have changed the server since it was offered; its next try is offered, and matched, again.
    if (this.#options.registry.match(claimed.action)?.name !== entry.name) {
      const answer = retryable(
        `${resource} has changed, and is not looked after by ${entry.name} of this proxy any more`,
      );
      this.#reports.deliver({ id, lease: claimed.lease, answer, file: NO_FILE });
      return;
    }
    try {
      const kept = await carryOut({ claimed, entry, asked, signal: this.#ending.signal }, this.#options);
      if (kept !== undefined) this.#reports.deliver(kept);
    } catch (error) {
      this.#options.log.error({ action: id, err: error }, 'the action could not be carried out');
    }
  }

  /** Repeats a request whose answer did not come: the controller answers the same request in the same way. */
  async #claim(id: string): Promise<ClaimedAction | undefined> {
    const { client, clock, log } = this.#options;
    const path = `/agent/actions/${encodeURIComponent(id)}/claim`;
    const body = { request: randomUUID() };
    for (let failures = 0; ; failures += 1) {
      try {
        return readClaimed(await client.send({ path, body }));
      } catch (error) {
        const isRefused = error instanceof ControllerRefusal;
        // Another proxy was faster, or it is not to be done any more.
        if (isRefused && error.status < 500) log.debug({ action: id, err: error }, 'not claimed');
        else log.warn({ action: id, err: error }, 'a claim was not answered');
        if ((isRefused && error.status < 500) || failures + 1 >= CLAIM_TRIES) return undefined;
        await pause(clock, pauseMs(failures, this.#options.random), this.#draining.signal);
        if (this.#draining.signal.aborted) return undefined;
      }
    }
  }
}

/** Returns the offered actions. Throws if the answer has another form. */
function readOffered({ actions }: JsonMap): readonly AgentAction[] {
  if (!Array.isArray(actions)) throw otherForm('offers no list of actions');
  return actions.map(readAction);
}

/** Returns the claimed action. Throws if the answer has another form. */
function readClaimed({ lease, deadline, action }: JsonMap): ClaimedAction {
  if (typeof lease === 'string' && typeof deadline === 'string') return { lease, deadline, action: readAction(action) };
  throw otherForm('has answered a claim without a lease');
}

function readAction(value: unknown): AgentAction {
  const isAction =
    isMap(value) &&
    [value.id, value.resource, value.kind].every((text) => typeof text === 'string') &&
    OPERATIONS.includes(value.operation) &&
    isMap(value.properties) &&
    isMap(value.record) &&
    typeof value.timeoutSeconds === 'number' &&
    value.timeoutSeconds > 0;
  if (isAction) return value as JsonMap as unknown as AgentAction;
  throw otherForm('offers an action of another form');
}

function otherForm(what: string): Error {
  return new Error(`the controller ${what}; are the versions the same?`);
}
