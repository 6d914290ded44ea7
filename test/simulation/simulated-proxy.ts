// A machine at a remote site with a real proxy agent on it. The line to the controller is simulated: slow, cut, with answers
// that are lost and requests that come twice. The disk of the machine outlives the agent; its programs do not.
import { createHash } from 'node:crypto';
import { PROXIED } from '../../src/model/names.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import type { KeptClaim, KeptClaims } from '../../src/proxy/claimed-work.ts';
import { ControllerRefusal, type SentRequest } from '../../src/proxy/controller-client.ts';
import { ProxyAgent, type ProxyAgentOptions } from '../../src/proxy/proxy-agent.ts';
import type { Agent } from '../../src/service/agent.ts';
import type { ProviderSettings } from '../../src/settings.ts';
import { drawn } from './chance.ts';
import type { Life } from './scheduler.ts';
import { clockOf } from './simulated-clock.ts';
import { logOf } from './simulated-controller.ts';
import type { SimulatedSite } from './simulated-site.ts';
import type { World } from './world.ts';

type Answered = Awaited<ReturnType<ProxyAgentOptions['client']['send']>>;

const STATUS: Readonly<Partial<Record<string, number>>> = { conflict: 409, not_found: 404, too_many_requests: 429 };
/** How long a request waits for an answer, beyond what it asks the controller to wait. */
const SILENCE_MS = 20_000;
const NEVER = new AbortController().signal;

/** A claim that a controller has answered. */
interface Lease {
  readonly id: string;
  readonly resource: string;
  /** The controller that gave it. */
  readonly core: unknown;
  /** Its claim is in no row. A check of a lost action has the id of that action. */
  readonly isCheck: boolean;
  isReported: boolean;
}

export interface SimulatedProxyOptions {
  readonly serial: string;
  readonly tags: readonly string[];
  readonly seed: number;
  readonly site: SimulatedSite;
  readonly entry: ProviderSettings;
}

export class SimulatedProxy {
  readonly options: SimulatedProxyOptions;
  readonly #world: World;
  readonly #kept = new Map<string, KeptClaim>();
  readonly #leases = new Map<string, Lease>();
  #life: Life = { isOver: true };
  #isCut = false;
  #count = 0;

  constructor(world: World, options: SimulatedProxyOptions) {
    this.#world = world;
    this.options = options;
  }

  /** Starts the agent, unless it runs. */
  start(): void {
    if (!this.#life.isOver) return;
    const life: Life = { isOver: false };
    this.#life = life;
    const { scheduler, wall } = this.#world;
    const { site, entry } = this.options;
    this.#tell('starts');
    const agent = new ProxyAgent({
      client: { send: (request) => this.#send(request, life) },
      work: this.#disk(),
      registry: createProviderRegistry([entry], () => site.provider(life)),
      concurrency: 2,
      clock: clockOf(scheduler, wall, life),
      log: logOf(this.#world),
      describe: String,
      random: () => this.#drawn('random'),
    });
    void agent.start();
  }

  /** The agent dies, its programs with it, and it starts again after a while. */
  stop(downMs: number): void {
    if (this.#life.isOver) return;
    this.#tell('is killed');
    this.#life.isOver = true;
    this.options.site.end(this.#life);
    this.#world.scheduler.after(downMs, null, () => this.start());
  }

  /** Cuts the line for a while. */
  cut(ms: number): void {
    this.#isCut = true;
    this.#tell('loses its line');
    this.#world.scheduler.after(ms, null, () => this.mend());
  }

  /** Mends the line. */
  mend(): void {
    if (this.#isCut) this.#tell('has its line again');
    this.#isCut = false;
  }

  async #send(request: SentRequest, life: Life): Promise<Answered> {
    const { scheduler } = this.#world;
    await scheduler.pause(1 + this.#drawn('there') ** 6 * 3_000, life);
    const answer = Promise.withResolvers<Answered>();
    const waitMs = (request.waitMs ?? 0) + SILENCE_MS;
    const cancel = scheduler.after(waitMs, life, () => answer.reject(new Error('no answer')));
    const luck = this.#drawn('luck');
    if (!this.#isCut && luck > 0.04) {
      this.#serve(request).then(
        (served) => {
          // The answer is lost on the way back.
          if (!this.#isCut && luck > 0.08) scheduler.after(1, life, () => answer.resolve(served));
        },
        (error: unknown) => scheduler.after(1, life, () => answer.reject(error)),
      );
    }
    // A request that was given up comes once more, long after.
    if (request.path.endsWith('/report') && luck < 0.3) {
      scheduler.after(1_000 + luck * 600_000, null, () => void this.#serve(request).catch(() => undefined));
    }
    try {
      return await answer.promise;
    } finally {
      cancel();
    }
  }

  async #serve({ path, body = {}, waitMs = 0 }: SentRequest): Promise<Answered> {
    const { core, agent } = this.#world.controller;
    const by = core?.current.get() === undefined ? undefined : core.reader.registered(this.options.serial);
    if (core === undefined || agent === undefined || by === undefined) throw new ControllerRefusal('not ready', 503);
    const [, , id = '', verb = ''] = /^\/agent\/(actions)(?:\/([^/]+)\/(\w+))?/.exec(path) ?? [];
    const action = decodeURIComponent(id);
    try {
      if (verb === '') {
        await agent.wait(by, waitMs, NEVER);
        const actions = agent.actions(by, 2);
        for (const { resource, record } of actions) this.#watchOffer(resource, record.ProxyTag);
        return { actions } as unknown as Answered;
      }
      if (verb === 'claim') return await this.#claim(agent, action, String(body.request));
      if (verb === 'report') await this.#report(agent, action, body);
      else agent.heartbeat(by, action, String(body.lease));
      return {};
    } catch (error) {
      if (error instanceof ServiceError) throw new ControllerRefusal(error.message, STATUS[error.code] ?? 503);
      throw error;
    }
  }

  async #claim(agent: Agent, id: string, request: string): Promise<Answered> {
    const { core } = this.#world;
    const by = core?.reader.registered(this.options.serial);
    if (by === undefined) throw new ControllerRefusal('not registered', 403);
    const claimed = await agent.claim(by, id, request);
    const { lease, action } = claimed;
    this.#watchOffer(action.resource, action.record.ProxyTag);
    if (!this.#leases.has(lease)) this.#tell(`claims ${action.id}`);
    const given = {
      id: action.id,
      resource: action.resource,
      core,
      isCheck: action.operation === 'check',
      isReported: false,
    };
    if (!this.#leases.has(lease)) this.#leases.set(lease, given);
    return claimed as unknown as Answered;
  }

  /** A report counts until its action is given up, and once. */
  async #report(agent: Agent, id: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    const { core } = this.#world;
    const by = core?.reader.registered(this.options.serial);
    if (by === undefined) throw new ControllerRefusal('not registered', 403);
    const { lease, ...answer } = body as { lease: string };
    const given = this.#leases.get(lease);
    const isOpen = given !== undefined && this.#isOpen(given, lease);
    const words = `reports ${id}: ${String((body as { outcome?: unknown }).outcome)}`;
    await agent.report(by, id, { lease, answer: answer as never });
    this.#tell(words);
    if (given === undefined || given.isReported) return;
    given.isReported = true;
    if (!isOpen)
      this.#world.fail('a late report of what was given up changes nothing', `${this.options.serial} ${words}`);
  }

  #isOpen({ id, resource, core, isCheck }: Lease, lease: string): boolean {
    if (isCheck) return core === this.#world.core;
    const row = this.#world.core?.ledger.server(resource);
    if (row?.action == null || row.state === 'unknown' || `${resource}.${row.action.id}` !== id) return false;
    return row.action.claim?.lease === createHash('sha256').update(lease).digest('hex');
  }

  #watchOffer(resource: string, tag: unknown): void {
    if (this.options.tags.includes(String(tag ?? ''))) return;
    const words = `${resource} with the tag ${String(tag)} to ${this.options.serial}`;
    this.#world.fail('no server is offered to a proxy without its tag', words);
  }

  #disk(): KeptClaims {
    const kept = this.#kept;
    const put = async (claim: KeptClaim): Promise<KeptClaim> => {
      kept.set(claim.file, claim);
      return claim;
    };
    return {
      list: () => [...kept.values()],
      begin: (claim) => put({ ...claim, answer: null, file: `${this.#count++}` }),
      end: (claim, answer) => put({ ...claim, answer }),
      forget: ({ file }) => void kept.delete(file),
    };
  }

  #drawn(what: string): number {
    return drawn(this.options.seed, `${this.options.serial} ${what} ${this.#count++}`);
  }

  #tell(words: string): void {
    this.#world.tell(this.options.serial, () => words);
  }
}

/** Returns the name of the site that a provider entry stands for. */
export function siteOfEntry(name: string): string {
  return name === PROXIED ? 'east' : name;
}
