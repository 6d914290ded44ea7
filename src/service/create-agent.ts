// Implements agent.ts: it shows proxies what is their own, and takes their claims and reports.
import type { Clock } from '../base/clock.ts';
import { type ShareLimits, Shares } from '../base/shares.ts';
import type { Answer } from '../model/call-result.ts';
import type { Client } from '../model/objects.ts';
import type { ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Call } from '../providers/provider.ts';
import type { Agent, AgentAction } from './agent.ts';

interface OfferedCall {
  readonly call: Call;
  readonly row: ServerRow;
}

interface HeldCall {
  readonly id: string;
  readonly lease: string;
  readonly client: string;
}

interface ClaimOrder {
  readonly client: string;
  readonly request: string | null;
  readonly ownTags: () => readonly string[] | undefined;
}

/** The calls that proxies carry out; reconcile/proxy-work.ts implements it. */
export interface AgentWork {
  /** The time limit of a call. */
  readonly timeoutSeconds: number;
  isFor(server: string, own: readonly string[]): boolean;
  offered(tags: readonly string[], limit: number): readonly OfferedCall[];
  hasOffer(tags: readonly string[]): boolean;
  watch(tags: readonly string[], wake: () => void): () => void;
  claim(server: string, id: string, order: ClaimOrder): Promise<OfferedCall & { readonly lease: string }>;
  /** Returns false if the client does not hold the call, or it was given up. */
  report(server: string, held: HeldCall, answer: Answer): Promise<boolean>;
  heartbeat(server: string, held: HeldCall): boolean;
}

/** The work of proxies, and the registry of clients. */
export interface AgentOptions {
  readonly work: AgentWork;
  readonly clock: Clock;
  /** Returns the registered client of a serial. */
  readonly registered: (serial: string) => Client | undefined;
}

/** Requests that wait for actions. */
const WAITS: ShareLimits = { atOnce: 1_000, ofClient: 10, waitingOfClient: 0 };
/** An id is the name of the server, and `<incarnation>.<step>`: see RunningAction. */
const ID = /^(.+)\.\d+\.(?:create|check|(?:update|delete)\.\d+)$/;

/** Returns the agent. */
export function createAgent(options: AgentOptions): Agent {
  const { work } = options;
  const waits = new Shares(WAITS);
  return {
    actions: (by, limit) => work.offered(tagsOf(by), limit).map((offer) => actionOf(offer, work)),
    async wait(by, ms, signal) {
      if (work.hasOffer(tagsOf(by))) return;
      await waits.run({ client: by.serial }, () => waitForOffer(options, by, { ms, signal }));
    },
    async claim({ by, refusal }, id, request) {
      const server = ownServer(work, by, id);
      const ownTags = () => (refusal() === undefined ? tagsNow(options, by) : undefined);
      const claimed = await work.claim(server, id, { client: by.serial, request, ownTags });
      return { lease: claimed.lease, deadline: claimed.call.deadline, action: actionOf(claimed, work) };
    },
    heartbeat(by, id, lease) {
      if (!work.heartbeat(serverIn(id), { id, lease, client: by.serial })) throw notHeld(work, by, id);
    },
    async report(by, id, { lease, answer }) {
      const isAccepted = await work.report(serverIn(id), { id, lease, client: by.serial }, answer);
      if (!isAccepted) throw notHeld(work, by, id);
    },
  };
}

interface OfferWait {
  readonly ms: number;
  readonly signal: AbortSignal;
}

async function waitForOffer({ work, clock }: AgentOptions, by: Client, { ms, signal }: OfferWait): Promise<void> {
  const end = clock.monotonic() + ms;
  for (let left = ms; left > 0 && !signal.aborted; left = end - clock.monotonic()) {
    if (work.hasOffer(tagsOf(by))) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const forget = [work.watch(tagsOf(by), resolve), clock.after(left, resolve)];
    const stop = (): void => resolve();
    signal.addEventListener('abort', stop, { once: true });
    await promise;
    // A request that is woken often waits as often: what it leaves behind would add up.
    signal.removeEventListener('abort', stop);
    for (const end of forget) end();
  }
}

function actionOf({ call, row }: OfferedCall, { timeoutSeconds }: AgentWork): AgentAction {
  const { operation, action: id, resource, kind, properties, record, applied, outputs } = call;
  const { instance, key: group, generation, attempt } = row;
  return {
    ...{ id, operation, resource, instance, group, kind, generation, attempt },
    ...{ properties, record, applied, outputs, timeoutSeconds },
  };
}

function tagsOf({ tags = [] }: Client): readonly string[] {
  return tags;
}

/** Returns the tags of a proxy that may have been removed since it asked; undefined if it was. */
function tagsNow({ registered }: AgentOptions, by: Client): readonly string[] | undefined {
  const client = registered(by.serial);
  return client?.role === 'proxy' ? tagsOf(client) : undefined;
}

/** Returns the server of an action, which may not exist. Throws `not_found` for what is no id. */
function serverIn(id: string): string {
  const server = ID.exec(id)?.[1];
  if (server === undefined) throw unknownAction(id);
  return server;
}

function ownServer(work: AgentWork, by: Client, id: string): string {
  const server = serverIn(id);
  if (!work.isFor(server, tagsOf(by))) throw unknownAction(id);
  return server;
}

function notHeld(work: AgentWork, by: Client, id: string): ServiceError {
  if (!work.isFor(serverIn(id), tagsOf(by))) return unknownAction(id);
  return new ServiceError('conflict', `${id} is not held with this lease, or was given up`);
}

function unknownAction(id: string): ServiceError {
  return new ServiceError('not_found', `There is no action "${id}" for this client`);
}
