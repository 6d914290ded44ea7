// The loop of a proxy: requests actions from the controller, claims those for which it has a program and capacity, and
// carries them out. It opens no port, and keeps working without a connection.
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
/** The number of attempts to get the answer to a claim. */
const CLAIM_TRIES = 4;
/** The limit of servers for which a missing entry is logged. */
const UNMATCHED_MAX = 1_000;
/** How long the last reports may take when the proxy stops. */
const LAST_REPORTS_MS = 5_000;

/** The parts and limits of a proxy. */
export interface ProxyAgentOptions extends ReportDeliveryOptions {
  readonly registry: ProviderRegistry;
  readonly concurrency: number;
  /** Returns true if certainly no process of a claimed action of an earlier run still runs. */
  readonly hasEnded: (action: string) => boolean;
  /** Returns a sentence for an operator: why a request to the controller failed, and what to do. */
  readonly describe: (error: Error) => string;
}

/** A proxy: requests actions, carries them out and reports them, until it is stopped. */
export class ProxyAgent {
  readonly #options: ProxyAgentOptions;
  readonly #reports: ReportDelivery;
  /** Aborted when the proxy may claim no more actions. */
  readonly #draining = new AbortController();
  /** Aborted to end running programs. */
  readonly #ending = new AbortController();
  readonly #runs = new Map<Promise<void>, string>();
  #polls: Promise<void> = Promise.resolve();
  /** The servers without a matching entry that were logged. */
  readonly #unmatched = new Set<string>();

  constructor(options: ProxyAgentOptions) {
    this.#options = options;
    this.#reports = new ReportDelivery(options);
  }

  /** Reports the claims of an earlier run, and begins to request actions. */
  async start(): Promise<void> {
    const { work, log, hasEnded } = this.#options;
    for (const kept of work.list()) {
      if (kept.answer !== null) this.#reports.deliver(kept);
      else if (hasEnded(kept.id)) {
        log.warn({ action: kept.id }, 'the proxy stopped while this action ran; it is reported for a retry');
        this.#reports.deliver(await work.end(kept, retryable('the proxy stopped while it ran')));
      } else {
        // A process of it may still run: the controller waits for its deadline, then checks.
        work.forget(kept);
      }
    }
    this.#polls = this.#poll();
  }

  /** Stops claiming, waits up to `ms` for running actions, ends the others, and sends the reports. */
  async stop(ms: number): Promise<void> {
    const { clock, log } = this.#options;
    this.#draining.abort();
    await this.#polls;
    if (this.#runs.size > 0) log.info({ actions: this.#runs.size, seconds: ms / 1000 }, 'waiting for running actions');
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
        // No offer could be taken. Without this pause, the controller would repeat the offers immediately.
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

  /** Resolves with false if the proxy cannot take any offer now. */
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
    log.warn({ server: resource }, 'no entry under providers matches this server; it is ignored');
  }

  async #run(
    claim: Promise<ClaimedAction | undefined>,
    { entry, asked }: { readonly entry: ProviderEntry; readonly asked: ClockTimes },
  ): Promise<void> {
    const claimed = await claim;
    if (claimed === undefined) return;
    const { id, resource } = claimed.action;
    // A commit may have changed the server since the offer. The next attempt is offered and matched again.
    if (this.#options.registry.match(claimed.action)?.name !== entry.name) {
      const answer = retryable(
        `${resource} has changed, and the entry ${entry.name} of this proxy no longer matches it`,
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

  /** Repeats the request if its answer is lost: the controller gives the same answer to the same request. */
  async #claim(id: string): Promise<ClaimedAction | undefined> {
    const { client, clock, log } = this.#options;
    const path = `/agent/actions/${encodeURIComponent(id)}/claim`;
    const body = { request: randomUUID() };
    for (let failures = 0; ; failures += 1) {
      try {
        return readClaimed(await client.send({ path, body }));
      } catch (error) {
        const isRefused = error instanceof ControllerRefusal;
        // Another proxy was faster, or the action is no longer due.
        if (isRefused && error.status < 500) log.debug({ action: id, err: error }, 'not claimed');
        else log.warn({ action: id, err: error }, 'a claim was not answered');
        if ((isRefused && error.status < 500) || failures + 1 >= CLAIM_TRIES) return undefined;
        await pause(clock, pauseMs(failures, this.#options.random), this.#draining.signal);
        if (this.#draining.signal.aborted) return undefined;
      }
    }
  }
}

/** Returns the offered actions. Throws for another form of answer. */
function readOffered({ actions }: JsonMap): readonly AgentAction[] {
  if (!Array.isArray(actions)) throw otherForm('offers no list of actions');
  return actions.map(readAction);
}

/** Returns the claimed action. Throws for another form of answer. */
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
