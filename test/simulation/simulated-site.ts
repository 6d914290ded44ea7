// A site with servers: makes, changes and deletes them when a controller says so, later and not always; and what others do
// there. It remembers who made what, which nobody tells the controller.
import type { Answer } from '../../src/model/call-result.ts';
import type { Properties } from '../../src/model/objects.ts';
import type { Call, Provider } from '../../src/providers/provider.ts';
import { drawn } from './chance.ts';
import { type Life, never, type Scheduler } from './scheduler.ts';

/**
 * How a site is, for now. A dead one answers nothing, a deaf one does not even end; a losing one loses every action and
 * answers checks, a late one loses the answer and acts all the same, up to a minute later; a lying one says `replace` to
 * every update; a refusing one only answers checks; a careless one makes servers otherwise than asked, and loses them when
 * they are to be changed; a sluggish one takes up to 25 s for half of the calls; a denying one acts and says that it failed.
 */
export type SiteMood =
  | ('well' | 'failing' | 'throwing' | 'losing' | 'dead' | 'deaf' | 'deaf to a')
  | ('lying' | 'broken' | 'refusing' | 'late' | 'careless' | 'sluggish' | 'denying');

/** A server at a site. */
export interface SiteServer {
  readonly name: string;
  properties: Properties;
  /** Nobody ever told the controller that a stranger made it. */
  readonly maker: 'controller' | 'stranger';
  /** In simulated time. */
  readonly builtAt: number;
}

/** The events that a site tells its watcher. */
export interface SiteWatch {
  began(site: string, call: Call): void;
  effect(site: string, call: Call): void;
  /** `answer` is undefined where the call threw, and where the controller or proxy that asked is dead: nobody hears it. */
  ended(site: string, call: Call, answer: Answer | undefined): void;
}

export interface SiteOptions {
  readonly name: string;
  readonly ignoresCase: boolean;
  readonly lostActionEnds: Provider['lostActionEnds'];
  /** Proxies call it, and no controller. */
  readonly isRemote?: boolean;
}

/** The parts that all sites of a run share. */
export interface SiteParts {
  readonly scheduler: Scheduler;
  readonly seed: number;
  readonly watch: SiteWatch;
}

/** How a call goes. */
interface Way {
  readonly ms: number;
  readonly hasEffect: boolean;
  readonly answerOf: (() => Answer) | undefined;
  /** The connection is lost at once. */
  readonly isLate?: boolean;
}

export class SimulatedSite {
  readonly options: SiteOptions;
  readonly #scheduler: Scheduler;
  readonly #seed: number;
  readonly #watch: SiteWatch;
  readonly #servers = new Map<string, SiteServer>();
  /** The addresses of servers, by name. One that is made gets another one, half the time only later. */
  readonly #leases = new Map<string, string>();
  #isLate = true;
  /** Ends of actions that go on when their controller is gone, by a number. */
  /** Node keeps a signal that follows others for as long as somebody listens to it, and with the listener this whole world. */
  readonly #closing = new AbortController();
  readonly #running = new Map<
    number,
    {
      readonly resource: string;
      readonly end: (isDone: boolean) => void;
      readonly isEndless: boolean;
      readonly life: Life;
    }
  >();
  #calls = 0;
  mood: SiteMood = 'well';
  lostActionEnds: Provider['lostActionEnds'];

  constructor(options: SiteOptions, parts: SiteParts) {
    this.options = options;
    this.lostActionEnds = options.lostActionEnds;
    this.#scheduler = parts.scheduler;
    this.#seed = parts.seed;
    this.#watch = parts.watch;
  }

  get servers(): Iterable<SiteServer> {
    return this.#servers.values();
  }

  find(name: string): SiteServer | undefined {
    return this.#servers.get(this.#keyOf(name));
  }

  /** Tells whether calls for a server are answered as they should be. */
  isWellFor(resource: string): boolean {
    return this.mood === 'well' || (this.mood === 'deaf to a' && !resource.startsWith('a-'));
  }

  /** Somebody else builds a server. Returns false where there is one. */
  build(name: string): boolean {
    if (this.find(name) !== undefined) return false;
    this.#servers.set(this.#keyOf(name), {
      name,
      properties: { name, size: '9' },
      maker: 'stranger',
      builtAt: this.#scheduler.now,
    });
    return true;
  }

  /** A server is gone, and nobody was asked. */
  vanish(name: string): SiteServer | undefined {
    const server = this.find(name);
    this.#servers.delete(this.#keyOf(name));
    return server;
  }

  /** A stranger changes a server. Returns false where there is none. */
  tamper(name: string, size: string): boolean {
    const server = this.find(name);
    if (server === undefined) return false;
    server.properties = { ...server.properties, size };
    return true;
  }

  /** A server has another address from now on. */
  lease(name: string, address: string): void {
    this.#leases.set(name, address);
  }

  /** Whoever has no address yet gets one, and whoever is made from now on gets one at once. */
  leaseAll(): void {
    this.#isLate = false;
    for (const { name } of this.servers) if (!this.#leases.has(name)) this.lease(name, '10.0.0.250');
  }

  /** Listens to no signal any more. */
  close(): void {
    this.#closing.abort();
  }

  /** A proxy dies, and its programs with it. */
  end(life: Life): void {
    for (const [number, call] of [...this.#running])
      if (call.life === life) call.end(this.#drawn(`end ${number}`) < 0.5);
  }

  /** A call is ended from outside; it has had its effect or not, as chance has it. */
  #cut(number: number): void {
    this.#running.get(number)?.end(this.#drawn(`cut ${number}`) < 0.5);
  }

  /** A controller starts: what ends with its call is ended before the first one, if anything of it still runs. */
  restarted(): void {
    if (this.lostActionEnds !== 'with its call' || this.options.isRemote) return;
    for (const [number, { end }] of [...this.#running]) end(this.#drawn(`restarted ${number}`) < 0.5);
  }

  /** Its provider entry has another kind. Whatever that is, programs that a controller has left are ended by the next. */
  changeKind(ends: Provider['lostActionEnds']): void {
    this.restarted();
    this.lostActionEnds = ends;
  }

  /** A controller dies. What ends with it has had its effect or not, as chance has it. */
  abandon(controller: Life): void {
    if (this.lostActionEnds === 'with its call') return;
    const endsWith = this.lostActionEnds === 'with the controller';
    for (const [number, { end, isEndless, life }] of [...this.#running]) {
      if (life !== controller) continue;
      if (endsWith || isEndless) end(endsWith && this.#drawn(`abandon ${number}`) < 0.5);
    }
  }

  /** Returns the site as a controller calls it. */
  provider(life: Life): Provider {
    return {
      lostActionEnds: this.lostActionEnds,
      hasEnded: ({ resource }) => ![...this.#running.values()].some((call) => call.resource === resource),
      perform: (call, signal) => this.#perform(call, signal, life),
      close: async () => undefined,
    };
  }

  async #perform(call: Call, signal: AbortSignal, life: Life): Promise<Answer> {
    signal.throwIfAborted();
    if (life.isOver) return never();
    const number = this.#calls++;
    const { name } = this.options;
    this.#watch.began(name, call);
    const luck = this.#drawn(`luck ${number}`);
    const way = this.#wayOf(call, luck);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const end = (answer: Answer | undefined, error?: unknown): void => {
      if (!this.#running.delete(number)) return;
      this.#watch.ended(name, call, life.isOver ? undefined : answer);
      if (life.isOver) return;
      if (answer === undefined) reject(error ?? new Error('the connection was lost'));
      else resolve(answer);
    };
    const isEndless = way.ms === Number.POSITIVE_INFINITY;
    // A proxy ends its programs at their deadline.
    if (this.options.isRemote)
      signal.addEventListener('abort', () => this.#cut(number), { once: true, signal: this.#closing.signal });
    this.#running.set(number, {
      resource: call.resource,
      isEndless,
      life,
      end: (isDone) => {
        if (isDone && way.hasEffect) this.#act(call);
        end(undefined);
      },
    });
    if (isEndless && this.mood !== 'dead') {
      // It neither answers nor hears that it should end; by the end of the grace, which a pause may shorten, nothing of it
      // runs any more. What ends with its call takes longer, and is heard of then.
      const isCall = this.lostActionEnds === 'with its call';
      this.#scheduler.after(isCall ? 68_000 + 400_000 * luck : 68_000, null, () => {
        if (isCall) end(undefined);
        else if (this.#running.delete(number)) this.#watch.ended(name, call, undefined);
      });
    } else if (isEndless) {
      signal.addEventListener('abort', () => end(undefined, signal.reason), {
        once: true,
        signal: this.#closing.signal,
      });
    } else {
      const { hasEffect, answerOf } = way;
      if (way.isLate) this.#scheduler.after(1, life, () => reject(new Error('the connection was lost')));
      this.#scheduler.after(way.ms, null, () => {
        if (!this.#running.has(number)) return;
        if (hasEffect) this.#act(call);
        end(answerOf?.());
      });
    }
    return promise;
  }

  #wayOf(call: Call, luck: number): Way {
    const second = this.#drawn(`second ${this.#calls}`);
    const ms = 1 + Math.floor(second ** 6 * 8_000);
    const isCheck = call.operation === 'check';
    const good = { ms, hasEffect: !isCheck, answerOf: () => this.#truth(call) };
    const refusal = (outcome: Answer['outcome']) => () => answer(outcome, { message: 'no luck' });
    const { mood } = this;
    if (this.isWellFor(call.resource)) return luck < 0.9 ? good : { ...good, ms: 20_000 * second };
    if (mood === 'dead' || mood === 'deaf' || mood === 'deaf to a')
      return { ...good, ms: Number.POSITIVE_INFINITY, hasEffect: false };
    if (mood === 'throwing') return { ms: 1, hasEffect: !isCheck && luck < 0.3, answerOf: undefined };
    if (mood === 'losing') return isCheck ? { ...good, ms: 1 } : { ms: 1, hasEffect: false, answerOf: undefined };
    if (mood === 'careless') return good;
    if (mood === 'sluggish') return luck < 0.5 ? good : { ...good, ms: 11_000 + 14_000 * second };
    // What ends with the controller has nobody to act later.
    if (mood === 'late' && !isCheck) {
      const { lostActionEnds } = this;
      const isLate = lostActionEnds === 'after its deadline';
      return {
        ms: lostActionEnds === 'with the controller' ? 1 : 55_000 * second,
        hasEffect: true,
        answerOf: undefined,
        isLate,
      };
    }
    if (mood === 'late') return good;
    if ((mood === 'refusing' || mood === 'denying') && isCheck) return good;
    if (mood === 'denying') return { ...good, answerOf: refusal('failed') };
    if (mood === 'broken' || mood === 'refusing') return { ms, hasEffect: false, answerOf: refusal('failed') };
    if (mood === 'lying')
      return call.operation === 'update' ? { ...good, hasEffect: false, answerOf: refusal('replace') } : good;
    if (luck < 0.3) return good;
    if (luck < 0.5) return { ...good, hasEffect: false, answerOf: refusal('retryable') };
    if (luck < 0.6) return { ...good, answerOf: refusal('retryable') };
    if (luck < 0.65) return { ...good, hasEffect: false, answerOf: refusal('failed') };
    if (luck < 0.8) return { ...good, hasEffect: false, answerOf: undefined };
    return { ...good, answerOf: undefined };
  }

  #act(call: Call): void {
    const { operation, resource, properties } = call;
    const server = this.find(resource);
    const isCareless = this.mood === 'careless';
    if (operation === 'delete' || (operation === 'update' && isCareless)) this.#servers.delete(this.#keyOf(resource));
    else if (operation === 'update' && server !== undefined) server.properties = properties;
    else if (operation === 'create' && server === undefined) {
      const made = isCareless ? { ...properties, size: 'any' } : properties;
      const builtAt = this.#scheduler.now;
      this.#servers.set(this.#keyOf(resource), { name: resource, properties: made, maker: 'controller', builtAt });
      const luck = this.#drawn(`lease ${this.#calls}`);
      if (luck < 0.5 && this.#isLate) this.#leases.delete(resource);
      else this.lease(resource, `10.0.1.${Math.floor(luck * 200)}`);
    }
    this.#watch.effect(this.options.name, call);
  }

  #truth({ operation, resource }: Call): Answer {
    const server = this.find(resource);
    if (server !== undefined && operation === 'delete') return answer('failed', { message: 'it is there again' });
    if (server === undefined) return answer('absent', {});
    const address = this.#leases.get(resource);
    return { ...answer('done', { observed: server.properties }), outputs: address === undefined ? {} : { address } };
  }

  #keyOf(name: string): string {
    return this.options.ignoresCase ? name.toLowerCase() : name;
  }

  #drawn(key: string): number {
    return drawn(this.#seed, `${this.options.name} ${key}`);
  }
}

function answer(outcome: Answer['outcome'], rest: { message?: string; observed?: Properties }): Answer {
  return { outcome, message: rest.message ?? '', outputs: {}, observed: rest.observed ?? {} };
}
