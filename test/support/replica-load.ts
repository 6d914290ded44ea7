// Clients of replicas that are at fault: they write and read all the time. Afterwards the answers are compared with the history
// of the branch.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Chance } from '../simulation/chance.ts';
import type { Ask, Reply } from './https-client.ts';
import { meets, type ReplicaProcess, type ReplicatedSite } from './replica-process.ts';
import { logOf, requestIdOf } from './written-history.ts';

const WRITERS = 3;
/** Longest pauses. */
const PAUSES_MS = { write: 2_000, read: 200 };

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

/** The clients. */
export class ReplicaLoad {
  readonly #replicas: ReplicatedSite;
  readonly #isRetrying: boolean;
  readonly #chance: Chance;
  readonly #over = new AbortController();
  readonly #acknowledged: Acknowledged[] = [];
  readonly #refused = new Map<string, number>();
  /** Writes of which a replica said that nothing was done. */
  readonly #notDone: string[] = [];
  /** Reads without an answer. Whether the replica was away is known once it has ended. */
  readonly #unread: Answered[] = [];
  readonly #clients: Promise<unknown>[];
  #asked = 0;
  #failed = 0;

  /** With `isRetrying`, clients ask another replica once where one has failed. */
  constructor(
    replicas: ReplicatedSite,
    { seed, isRetrying = false }: { readonly seed: number; readonly isRetrying?: boolean },
  ) {
    this.#replicas = replicas;
    this.#chance = new Chance(seed);
    this.#isRetrying = isRetrying;
    const writing = Array.from({ length: WRITERS }, (_, writer) => this.#until(() => this.#write(writer)));
    const reading = replicas.replicas.map((each) => this.#until(() => this.#read(each)));
    this.#clients = [...writing, ...reading];
  }

  /** Ends all clients, once what they ask is answered. */
  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#clients);
  }

  /** Checks what they were told, once the branch has its last commit. */
  async check() {
    const { site } = this.#replicas;
    const committed = new Set((await logOf(site.repository)).map(({ requestId }) => requestId));
    const written = await this.#written();
    // What was asked twice is committed once, with the first of both ids; so is the removal of what is being removed.
    const isKept = ({ requestId, instance, revision }: Acknowledged): boolean =>
      committed.has(requestId) || written.has(`${instance} ${revision}`);
    const lost = this.#acknowledged.filter((write) => !isKept(write));
    expect.soft(lost.map(({ replica, ...write }) => `${replica.name} ${JSON.stringify(write)}`)).toEqual([]);
    expect.soft(this.#notDone.filter((write) => written.has(write))).toEqual([]);
    expect.soft(this.#unread.filter(isPresent).map(describeFailure)).toEqual([]);
    const refused = Object.fromEntries(this.#refused);
    return { acknowledged: this.#acknowledged.length, refused, asked: this.#asked, failed: this.#failed };
  }

  async #until(client: () => Promise<number>): Promise<void> {
    while (!this.#over.signal.aborted) await sleep(await client());
  }

  /** Writes an instance with the next revision, or removes another one, by any replica. Never gives up waiting, as that write may come later. */
  async #write(writer: number): Promise<number> {
    const { replicas } = this.#replicas;
    const replica = replicas[Math.floor(this.#chance.next() * replicas.length)] as ReplicaProcess;
    const isRemoval = this.#chance.next() < 0.1;
    const instance = isRemoval || this.#chance.next() < 0.2 ? `short-${writer}` : `long-${writer}`;
    lastRevision += 1;
    const revision = isRemoval ? undefined : lastRevision;
    const parameters = { count: `${1 + Math.floor(this.#chance.next() * 3)}`, release: `${revision}` };
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
    return this.#chance.next() * PAUSES_MS.write;
  }

  /** Reads an instance. It is answered at any time but when the replica is away, also without a database. */
  async #read(replica: ReplicaProcess): Promise<number> {
    const instance = `long-${Math.floor(this.#chance.next() * WRITERS)}`;
    const { reply, ...told } = await this.#ask(replica, `/stacks/instances/${instance}`);
    const isAnswered = !(reply instanceof Error) && (reply.status === 200 || reply.status === 404);
    if (!isAnswered && !this.#isRetrying) this.#unread.push({ reply, ...told });
    return this.#chance.next() * PAUSES_MS.read;
  }

  async #ask(first: ReplicaProcess, path: string, order?: Ask): Promise<Answered> {
    let answered = await ask(first, path, order);
    if (hasFailed(answered) && this.#isRetrying) {
      const others = this.#replicas.replicas.filter((replica) => replica !== first);
      answered = await ask(others[Math.floor(this.#chance.next() * others.length)] ?? first, path, order);
    }
    this.#asked += 1;
    if (hasFailed(answered)) this.#failed += 1;
    return answered;
  }

  /** Returns the revisions of instances that the history has, and their removals, as `long-1 7` and `long-1 undefined`. */
  async #written(): Promise<ReadonlySet<string>> {
    const { git } = this.#replicas.site.repository;
    const text = await git('log', '--reverse', '--format=', '-p', '-U0', 'main', '--', 'stacks/instances');
    const written = new Set<string>();
    let instance = '';
    for (const line of text.split('\n')) {
      instance = /^diff .* b\/stacks\/instances\/(.*)\.yaml$/.exec(line)?.[1] ?? instance;
      if (line.startsWith('deleted file')) written.add(`${instance} undefined`);
      const [, release] = /^\+.*release: ["']?(\d+)/.exec(line) ?? [];
      if (release !== undefined) written.add(`${instance} ${release}`);
    }
    return written;
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
