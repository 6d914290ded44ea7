// The interface for proxies: they request actions, claim them, and report the results. Each proxy sees only its own
// actions. See docs/rest.md, agent.
import { type Clock, pause } from '../base/clock.ts';
import { type ShareLimits, Shares } from '../base/shares.ts';
import type { Answer } from '../model/call-result.ts';
import { isWorking } from '../model/least-rights.ts';
import type { Client } from '../model/objects.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Call } from '../providers/provider.ts';
import type { OfferedCall } from '../reconcile/reconciler.ts';
import type { Caller } from '../service/caller.ts';
import type { ProxyWork } from './proxy-work.ts';

/** An action or check, in the form for a proxy. */
export interface AgentAction extends Omit<Call, 'action' | 'deadline'> {
  /** Equal for all attempts of the same step. */
  readonly id: string;
  readonly instance: string;
  /** The resource key of its template. */
  readonly group: string;
  readonly generation: number;
  /** The number of failed attempts of this step. */
  readonly attempt: number;
  readonly timeoutSeconds: number;
}

/** An action that belongs to a proxy until its deadline. */
export interface ClaimedAction {
  /** A secret of the proxy, which heartbeats and the report contain. */
  readonly lease: string;
  /** RFC 3339, with milliseconds. */
  readonly deadline: string;
  /** The action of the newest commit, which may differ from the offer. */
  readonly action: AgentAction;
}

/** The work of proxies, and the registry of clients. */
export interface AgentOptions {
  readonly work: ProxyWork;
  readonly clock: Clock;
  /** Returns the registered client of a serial. */
  readonly registered: (serial: string) => Client | undefined;
  /** Returns true if a client sees a server. */
  readonly sees: (by: Client, server: string) => boolean;
}

/** Waiting requests for actions. */
const WAITS: ShareLimits = { ofClient: 10, waitingOfClient: 0 };
/** The server's name and `<incarnation>.<step>`; see RunningAction. */
const ID = /^(.+)\.\d+\.(?:create|check|(?:update|delete)\.\d+)$/;

/** What proxies ask for. */
export type Agent = ReturnType<typeof createAgent>;

/**
 * Returns the agent. A proxy sees and takes the actions of servers whose tags it has. All others throw ServiceError
 * `not_found`, as those that do not exist.
 */
export function createAgent(options: AgentOptions) {
  const { work, clock } = options;
  const waits = new Shares(WAITS);
  return {
    /** Returns at most `limit` actions that the client may claim now. */
    actions(by: Client, limit: number): readonly AgentAction[] {
      work.hear(by.serial);
      return work.offered(by.tags ?? [], limit, seenBy(options, by)).map((offer) => describeAction(offer, work));
    },
    /**
     * Resolves when there may be actions for the client, after `ms`, or when `signal` aborts. Throws
     * `too_many_requests` if the client already waits too often, and `not_ready` when the controller stops.
     */
    async wait(by: Client, ms: number, signal: AbortSignal): Promise<void> {
      work.hear(by.serial);
      const [tags, sees] = [by.tags ?? [], seenBy(options, by)];
      if (work.hasOffer(tags, sees)) return;
      await waits.run(by.serial, async () => {
        const end = clock.monotonic() + ms;
        for (let left = ms; left > 0 && !signal.aborted; left = end - clock.monotonic()) {
          if (work.hasOffer(tags, sees)) return;
          const woken = new AbortController();
          const forget = work.watch(tags, () => woken.abort());
          await pause(clock, left, AbortSignal.any([signal, woken.signal]));
          forget();
        }
      });
    },
    /**
     * Resolves when the client may carry the action out. Then its intent is durable. A repeat of the same `request`
     * gets the same answer. Throws `conflict` if another proxy has the action, or if it is not due now.
     */
    async claim({ by, refusal }: Caller, id: string, request: string | null): Promise<ClaimedAction> {
      work.hear(by.serial);
      const server = ownServer(options, by, id);
      // It may have been removed since it asked.
      const ownTags = () => {
        const client = options.registered(by.serial);
        if (refusal() !== undefined || !isWorking(client) || !isFor(options, by, server)) return undefined;
        return client.tags ?? [];
      };
      const claimed = await work.claim(server, id, { client: by.serial, request, ownTags });
      return { lease: claimed.lease, deadline: claimed.call.deadline, action: describeAction(claimed, work) };
    },
    /**
     * Notes that the client is still working. Throws `conflict` if it does not have the action, or if that was given
     * up.
     */
    heartbeat(by: Client, id: string, lease: string): void {
      work.hear(by.serial);
      if (!work.isHeld(serverIn(id), { id, lease, client: by.serial })) throw notHeld(options, by, id);
    },
    /**
     * Resolves when the result of the action is recorded. A repeat of the same report also succeeds. Throws `conflict`
     * if the client does not have the action, or if that was given up.
     */
    async report(by: Client, id: string, { lease, answer }: { readonly lease: string; readonly answer: Answer }) {
      work.hear(by.serial);
      const isAccepted = await work.report(serverIn(id), { id, lease, client: by.serial }, answer);
      if (!isAccepted) throw notHeld(options, by, id);
    },
  };
}

function describeAction({ call, row }: OfferedCall, { timeoutSeconds }: ProxyWork): AgentAction {
  const { action: id, deadline: _, ...shown } = call;
  const { instance, key: group, generation, attempt } = row;
  return { id, instance, group, generation, attempt, ...shown, timeoutSeconds };
}

/** Returns the server in an action's id, which may not exist. Throws `not_found` for an invalid id. */
function serverIn(id: string): string {
  const server = ID.exec(id)?.[1];
  if (server === undefined) throw unknownAction(id);
  return server;
}

/** Returns a predicate: does the proxy see a server? */
function seenBy({ sees }: AgentOptions, by: Client): (server: string) => boolean {
  return (server) => sees(by, server);
}

function isFor(options: AgentOptions, by: Client, server: string): boolean {
  return options.work.isFor(server, by.tags ?? []) && seenBy(options, by)(server);
}

function ownServer(options: AgentOptions, by: Client, id: string): string {
  const server = serverIn(id);
  if (!isFor(options, by, server)) throw unknownAction(id);
  return server;
}

function notHeld(options: AgentOptions, by: Client, id: string): ServiceError {
  if (!isFor(options, by, serverIn(id))) return unknownAction(id);
  return new ServiceError('conflict', `${id} is not claimed with this lease, or was given up`);
}

function unknownAction(id: string): ServiceError {
  return new ServiceError('not_found', `There is no action "${id}" for this client`);
}
