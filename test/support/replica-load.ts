// Clients of replicas that are at fault: they write, read and look who leads all the time. Afterwards what they were told is held
// against the history of the branch.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Ask, Reply } from './https-client.ts';
import { meets, type ReplicaProcess, type ReplicatedSite } from './replica-process.ts';
import { logOf, requestIdOf } from './written-history.ts';

const WRITERS = 3;
/** Longest pauses. */
const PAUSES_MS = { write: 2_000, read: 200, look: 50 };
/** How old an answer may be: standbys look each second, and then fetch and derive; the machine may be busy. */
const AGE_MS_MAX = 5_000;
/** After a fault its consequences may last so long: connections to the database that hang, and a start. */
const AFTER_MS = 8_000;
/** Another replica cannot have led in between for less: its lease is over first. */
const LED_MS_MIN = 1_000;

/** When a client asked a replica, by `performance.now`. */
interface Told {
  readonly replica: ReplicaProcess;
  readonly sent: number;
  readonly received: number;
}

/** An answer, or why there was none. */
interface Answered extends Told {
  readonly reply: Reply | Error;
}

/** A write that was answered with success. */
interface Acknowledged extends Told {
  readonly instance: string;
  /** Undefined: it was removed. */
  readonly revision: number | undefined;
  readonly requestId: string;
}

/** What was read of an instance: the revision in its file; undefined: it is not there. */
interface Seen extends Told {
  readonly instance: string;
  readonly revision: number | undefined;
}

/** What clients saw in the end. */
export interface LoadSummary {
  readonly acknowledged: number;
  readonly refused: Readonly<Record<string, number>>;
  /** Requests, and those that failed. */
  readonly asked: number;
  readonly failed: number;
  /** The greatest age of an answer. */
  readonly oldestMs: number;
}

/** The clients. */
export class ReplicaLoad {
  readonly #replicas: ReplicatedSite;
  readonly #isRetrying: boolean;
  readonly #over = new AbortController();
  readonly #acknowledged: Acknowledged[] = [];
  readonly #refused = new Map<string, number>();
  /** Writes of which a replica said that nothing was done. */
  readonly #notDone: string[] = [];
  readonly #seen: Seen[] = [];
  /** Reads without an answer. Whether the replica was away is known once it has ended. */
  readonly #unread: Answered[] = [];
  readonly #led: Told[] = [];
  readonly #clients: Promise<unknown>[];
  #asked = 0;
  #failed = 0;

  /** With `isRetrying`, clients ask another replica once where one has failed. */
  constructor(replicas: ReplicatedSite, { isRetrying = false } = {}) {
    this.#replicas = replicas;
    this.#isRetrying = isRetrying;
    const writing = Array.from({ length: WRITERS }, (_, writer) => this.#until(() => this.#write(writer)));
    const others = replicas.replicas.flatMap((each) => [
      this.#until(() => this.#read(each)),
      this.#until(() => this.#look(each)),
    ]);
    this.#clients = [...writing, ...others];
  }

  /** Ends all clients, once what they ask is answered. */
  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#clients);
  }

  /** Checks what they were told, once the branch has its last commit. */
  async check(): Promise<LoadSummary> {
    const { site } = this.#replicas;
    const order = new Map((await logOf(site.repository)).map(({ requestId }, index) => [requestId, index]));
    const placeOf = await this.#places();
    // What was asked twice is committed once, with the first of both ids; so is the removal of what is being removed.
    const isKept = ({ requestId, instance, revision }: Acknowledged): boolean =>
      order.has(requestId) || placeOf.has(`${instance} ${revision}`);
    const lost = this.#acknowledged.filter((write) => !isKept(write));
    expect.soft(lost.map(({ replica, ...write }) => `${replica.name} ${JSON.stringify(write)}`)).toEqual([]);
    expect.soft(this.#notDone.filter((write) => placeOf.has(write))).toEqual([]);
    expect.soft(this.#unread.filter(isPresent).map(describeFailure)).toEqual([]);
    expect.soft(leadersAtOnce(this.#led)).toEqual([]);
    const oldestMs = this.#oldest(order, placeOf);
    expect.soft(oldestMs).toBeLessThan(AGE_MS_MAX);
    const counts = { asked: this.#asked, failed: this.#failed };
    const [acknowledged, refused] = [this.#acknowledged.length, Object.fromEntries(this.#refused)];
    return { acknowledged, refused, ...counts, oldestMs: Math.round(oldestMs) };
  }

  async #until(client: () => Promise<number>): Promise<void> {
    while (!this.#over.signal.aborted) await sleep(await client());
  }

  /** Writes an instance with the next revision, or removes another one, by any replica. Never gives up waiting, as that write may come later. */
  async #write(writer: number): Promise<number> {
    const { replicas } = this.#replicas;
    const replica = replicas[Math.floor(Math.random() * replicas.length)] as ReplicaProcess;
    const isRemoval = Math.random() < 0.1;
    const instance = isRemoval || Math.random() < 0.2 ? `short-${writer}` : `long-${writer}`;
    lastRevision += 1;
    const revision = isRemoval ? undefined : lastRevision;
    const parameters = { count: `${1 + Math.floor(Math.random() * 3)}`, release: `${revision}` };
    const body = JSON.stringify({ stackTemplate: 'web', parameters });
    const headers = { 'Content-Type': 'application/json' };
    const order = isRemoval ? { method: 'DELETE' } : { method: 'POST', headers, body };
    const { reply, ...told } = await this.#ask(
      replica,
      `/stacks/instances/${instance}${isRemoval ? '' : '?force=true'}`,
      order,
    );
    if (!(reply instanceof Error) && reply.status < 300) {
      this.#acknowledged.push({ ...told, instance, revision, requestId: requestIdOf(reply) });
    } else {
      const code = codeOf(reply);
      this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
      if (code === 'not_ready' && !isRemoval && !this.#isRetrying) this.#notDone.push(`${instance} ${revision}`);
    }
    return Math.random() * PAUSES_MS.write;
  }

  /** Reads an instance. It is answered at any time but when the replica is away, also without a database. */
  async #read(replica: ReplicaProcess): Promise<number> {
    const instance = `long-${Math.floor(Math.random() * WRITERS)}`;
    const { reply, ...told } = await this.#ask(replica, `/stacks/instances/${instance}`);
    const isThere = !(reply instanceof Error) && (reply.status === 200 || reply.status === 404);
    if (isThere) {
      const { parameters } = reply.body as { readonly parameters?: { readonly release: string } };
      const read = parameters === undefined ? undefined : Number(parameters.release);
      this.#seen.push({ ...told, instance, revision: read });
    } else if (!this.#isRetrying) this.#unread.push({ reply, ...told });
    return Math.random() * PAUSES_MS.read;
  }

  async #ask(first: ReplicaProcess, path: string, order?: Ask): Promise<Answered> {
    let answered = await ask(first, path, order);
    if (hasFailed(answered) && this.#isRetrying) {
      const others = this.#replicas.replicas.filter((replica) => replica !== first);
      answered = await ask(others[Math.floor(Math.random() * others.length)] ?? first, path, order);
    }
    this.#asked += 1;
    if (hasFailed(answered)) this.#failed += 1;
    return answered;
  }

  /** Looks whether a replica leads. */
  async #look(replica: ReplicaProcess): Promise<number> {
    const sent = performance.now();
    const { status } = await replica.health('/leaderz');
    if (status === 200) this.#led.push({ replica, sent, received: performance.now() });
    return PAUSES_MS.look;
  }

  /** Returns the greatest age of an answer of a replica without a fault, in milliseconds: since when a later write was acknowledged. */
  #oldest(order: ReadonlyMap<string, number>, placeOf: ReadonlyMap<string, number>): number {
    const { outages } = this.#replicas;
    let oldest = 0;
    for (const { replica, sent, received, instance, revision: read } of this.#seen) {
      const since = sent - AGE_MS_MAX - AFTER_MS;
      const spans = [...replica.away, ...replica.cuts, ...outages];
      if (meets(spans, since, received)) continue;
      const shown = read === undefined ? -1 : (placeOf.get(`${instance} ${read}`) ?? -1);
      const missed = this.#acknowledged.filter(
        (write) => write.instance === instance && write.received < sent && (order.get(write.requestId) ?? -1) > shown,
      );
      oldest = Math.max(oldest, ...missed.map((write) => sent - write.received));
    }
    return oldest;
  }

  /** Returns the place in the history of each revision of each instance, and of its last removal. */
  async #places(): Promise<ReadonlyMap<string, number>> {
    const { repository } = this.#replicas.site;
    const commits = (await logOf(repository)).map(({ commit }) => commit);
    const places = new Map<string, number>();
    const text = await repository.git(
      'log',
      '--reverse',
      '--format=commit %H',
      '-p',
      '-U0',
      'main',
      '--',
      'stacks/instances',
    );
    let [commit, instance] = [0, ''];
    for (const line of text.split('\n')) {
      const [, id] = /^commit ([0-9a-f]{40})$/.exec(line) ?? [];
      if (id !== undefined) commit = commits.indexOf(id);
      instance = /^diff .* b\/stacks\/instances\/(.*)\.yaml$/.exec(line)?.[1] ?? instance;
      if (line.startsWith('deleted file')) places.set(`${instance} undefined`, commit);
      const [, release] = /^\+.*release: ["']?(\d+)/.exec(line) ?? [];
      if (release !== undefined) places.set(`${instance} ${release}`, commit);
    }
    return places;
  }
}

async function ask(replica: ReplicaProcess, path: string, order?: Ask): Promise<Answered> {
  const sent = performance.now();
  const reply = await replica.request(path, order).catch((error: Error) => error);
  return { replica, sent, received: performance.now(), reply };
}

function isPresent({ replica, sent, received }: Told): boolean {
  return !meets(replica.away, sent, received);
}

function describeFailure({ replica, reply, sent, received }: Answered): string {
  return `${replica.name}: ${codeOf(reply)} after ${Math.round(received - sent)} ms`;
}

function hasFailed({ reply }: Answered): boolean {
  return reply instanceof Error || reply.status >= 500;
}

/** Of all writes of a run, so that no two have the same. */
let lastRevision = 0;

function codeOf(reply: Reply | Error): string {
  if (reply instanceof Error) return (reply as NodeJS.ErrnoException).code ?? reply.message;
  const { error, message } = (reply.body ?? {}) as { readonly error?: string; readonly message?: string };
  return error === 'not_ready' || error === 'outcome_unknown' ? error : `${reply.status} ${error} ${message}`;
}

/** Returns where a replica said that it leads between two moments at which another one led, without time to take the lease again. */
function leadersAtOnce(led: readonly Told[]): readonly string[] {
  const faults: string[] = [];
  for (const [, own] of Map.groupBy(led, ({ replica }) => replica)) {
    own.forEach((first, index) => {
      const next = own[index + 1];
      if (next === undefined || next.sent - first.received > LED_MS_MIN) return;
      const between = led.find(
        ({ replica, sent, received }) => replica !== first.replica && sent > first.received && received < next.sent,
      );
      if (between !== undefined) faults.push(`${between.replica.name} while ${first.replica.name} led`);
    });
  }
  return faults;
}
