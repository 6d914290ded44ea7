// A machine at a remote site with a real proxy agent on it. The line to the controller is simulated: slow, cut, with answers
// that are lost and requests that come twice. The disk of the machine outlives the agent; its programs do not.

import type { Agent } from '../../src/agents/agent.ts';
import type { KeptClaim, KeptClaims } from '../../src/agents/claimed-work.ts';
import { ControllerRefusal, type SentRequest } from '../../src/agents/controller-client.ts';
import { ProxyAgent, type ProxyAgentOptions } from '../../src/agents/proxy-agent.ts';
import type { Answer } from '../../src/model/call-result.ts';
import type { Client } from '../../src/model/objects.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { ProviderSettings } from '../../src/model/settings.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import { allowed } from '../support/allowed.ts';
import { drawn } from './chance.ts';
import type { Life } from './scheduler.ts';
import { clockOf } from './simulated-clock.ts';
import { logOf } from './simulated-controller.ts';
import type { SimulatedSite } from './simulated-site.ts';
import type { Named } from './watch-proxies.ts';
import type { World } from './world.ts';

type Answered = Awaited<ReturnType<ProxyAgentOptions['client']['send']>>;

const STATUS: Readonly<Partial<Record<string, number>>> = { conflict: 409, not_found: 404, too_many_requests: 429 };
/** How long a request waits for an answer, beyond what it asks the controller to wait. */
const SILENCE_MS = 20_000;

/** A request about an action that this proxy holds. */
interface Told {
  readonly by: Client;
  readonly named: Named;
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
  /** Of requests that a killed controller leaves unanswered, listeners stay behind: one for all runs would be slow. */
  readonly #never = new AbortController().signal;
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
      hasEnded: () => true,
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
    const { agent } = this.#world.controller;
    const by = this.#registered();
    const [, , id = '', verb = ''] = /^\/agent\/(actions)(?:\/([^/]+)\/(\w+))?/.exec(path) ?? [];
    if (agent === undefined) throw new ControllerRefusal('not ready', 503);
    try {
      if (verb === '') {
        await agent.wait(by, waitMs, this.#never);
        return this.#offers(agent);
      }
      const { lease, request, ...answer } = body as { lease: string; request: string };
      const named = { id: decodeURIComponent(id), lease };
      if (verb === 'claim') return await this.#claim(agent, { by, id: named.id, request });
      if (verb === 'report') await this.#report(agent, { by, named, answer: answer as unknown as Answer });
      else this.#beat(agent, { by, named });
      return {};
    } catch (error) {
      if (error instanceof ServiceError) throw new ControllerRefusal(error.message, STATUS[error.code] ?? 503);
      throw error;
    }
  }

  /** Returns this proxy as the controller has it registered, as at the beginning of every request. */
  #registered(): Client {
    const { core } = this.#world;
    if (core?.current.get() === undefined) throw new ControllerRefusal('not ready', 503);
    const by = core.reader.registered(this.options.serial);
    if (by === undefined) throw new ControllerRefusal('not registered', 403);
    return by;
  }

  /** A commit may have removed the client while it waited. */
  #offers(agent: Agent): Answered {
    const actions = agent.actions(this.#registered(), 2);
    this.#world.claims.served(this.options, 'asks for actions');
    for (const action of actions) this.#world.claims.offered(this.options, action);
    return { actions } as unknown as Answered;
  }

  async #claim(agent: Agent, { by, id, request }: { by: Client; id: string; request: string }): Promise<Answered> {
    const { claims } = this.#world;
    claims.served(this.options, `claims ${id}`);
    const asked = claims.asks(id);
    const claimed = await agent.claim(allowed(by), id, request);
    const isNew = claims.claimed(this.options, asked, claimed);
    if (isNew) this.#tell(`claims ${claimed.action.id}`);
    return claimed as unknown as Answered;
  }

  async #report(agent: Agent, { by, named, answer }: Told & { readonly answer: Answer }): Promise<void> {
    const { claims } = this.#world;
    const { id, lease } = named;
    claims.served(this.options, `reports ${id}`);
    const isInTime = claims.comes(named, answer);
    try {
      await agent.report(by, id, { lease, answer });
    } catch (error) {
      if (error instanceof ServiceError && error.code !== 'not_ready') claims.refused(this.options, named, isInTime);
      throw error;
    }
    this.#tell(`reports ${id}: ${answer.outcome}`);
    claims.taken(this.options, named, answer);
  }

  #beat(agent: Agent, { by, named }: Told): void {
    const { claims } = this.#world;
    claims.served(this.options, `is at work on ${named.id}`);
    const isInTime = claims.comes(named);
    agent.heartbeat(by, named.id, named.lease);
    claims.beaten(this.options, named, isInTime);
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
