// The operations on the controller itself, such as reading held changes and problems, approving and suspending. Each
// checks the request, requests the change of rows, and answers with a sentence. See docs/rest.md, operations.

import { problemsAndRemarks } from '../../desired/remarks.ts';
import { historyDigest } from '../../machine/hold-digests.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { fitsProxy } from '../../machine/responsibility.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../../machine/suspension.ts';
import type { Client } from '../../model/objects.ts';
import type { Problem } from '../../model/problem.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { ClientSeen, HeldItem, ListedProvider, Order } from '../answers.ts';
import { type Deliveries, notOfNode } from '../deliveries/deliveries.ts';
import type { ClientsSeen } from '../progress/clients-seen.ts';
import type { ProgressOptions } from '../progress/facts.ts';
import { heldItems } from '../progress/held-items.ts';
import { type AllAttention, attentionOf, progressReads } from '../progress/progress-reads.ts';
import { type RecordOptions, recordReads } from '../progress/record-reads.ts';
import { requireInstance } from '../read/instance-views.ts';
import { Scope } from '../scope.ts';
import { activeView } from '../views.ts';
import { askedBy, requireOwn, type ServerOperationsOptions, serverOperations } from './server-operations.ts';

interface OperatorOptions extends ServerOperationsOptions, ProgressOptions, RecordOptions {
  /** See Follower. */
  readonly isBefore: (commit: string, head: string) => Promise<boolean>;
  /** When clients were last seen. Omitted: no client was seen. */
  readonly seen?: Pick<ClientsSeen, 'of'> | undefined;
  readonly deliveries: Pick<Deliveries, 'confirm'>;
  /** The provider entries in their order, each with its calls. */
  readonly providers: () => readonly Pick<ListedProvider, 'name' | 'implementation' | 'running' | 'history'>[];
}

/**
 * Every operation is durable when it resolves, and answers with a sentence for an operator. All throw ServiceError:
 * `not_ready` before the first good commit, `not_found` for an unknown name, `conflict` if there is nothing to do.
 */
export type Operator = ReturnType<typeof createOperator>;

/** Returns the operator. Each client reads and changes only what it sees. */
export function createOperator(options: OperatorOptions) {
  return {
    /** Returns the held changes. `by`: omitted for the controller itself. */
    held: (by?: Client): readonly HeldItem[] => heldItems(options.rows, options.refused(), new Scope(by, options)),
    ...progressReads(options),
    ...recordReads(options),
    /** Returns the registered clients that a client may see, and when each was last seen. */
    clients: (by: Client): readonly ClientSeen[] => clientsIn(by, options),
    /**
     * Returns the provider entries; none for proxies and limited clients, since entries concern the whole
     * installation.
     */
    providers: (by: Client): readonly ListedProvider[] =>
      new Scope(by, options).seesClients ? providersIn(options) : [],
    /**
     * Returns the problems of the newest commit, followed or not; those of the followed commit if the newest was not
     * read.
     */
    problems(by?: Client): CommitProblems {
      const scope = new Scope(by, options);
      const { commit, problems } = problemsIn(options);
      return { commit, problems: problems.filter((problem) => scope.seesProblem(problem)) };
    },
    ...approvals(options),
    ...suspensions(options),
    ...acknowledgements(options),
    /** Records the confirmation of a consumer; see Deliveries. */
    async confirm(...[caller, node, confirmation]: Parameters<Deliveries['confirm']>): Promise<string> {
      if (!new Scope(caller.by, options).seesNode(node)) throw notOfNode(node);
      return await options.deliveries.confirm(caller, node, confirmation);
    },
    /** Returns everything that needs an operator; undefined before the first good commit. */
    attention: (): AllAttention | undefined => (options.desired() === undefined ? undefined : attentionOf(options)),
    ...serverOperations(options),
  };
}

function clientsIn(by: Client, options: OperatorOptions): readonly ClientSeen[] {
  const { desired, rows } = activeView(options);
  const scope = new Scope(by, options);
  const clients = [...desired.clients.values()].flatMap(({ entry }) => entry.object ?? []);
  const seen = clients.filter(({ serial }) => scope.seesClient(serial)).sort((a, b) => (a.serial < b.serial ? -1 : 1));
  const servers = [...rows.list('server')].filter(([name]) => scope.seesServer(name));
  const claimed = Map.groupBy(servers, ([, { action }]) => action?.claim?.client);
  return seen.map(({ serial, role, description, tags = [], tenant, node = null }) => {
    const { notAfter = null, lastSeen = null } = options.seen?.of(serial, rows) ?? {};
    const shown = { serial, role, description, tags, tenant, node, notAfter, lastSeen };
    if (role !== 'proxy') return shown;
    const managed = rows.index.serversOfProxies((known) => fitsProxy(known, tags));
    const work = (claimed.get(serial) ?? []).flatMap(([server, { action }]) =>
      action === null ? [] : [{ server, operation: action.operation, since: action.started }],
    );
    return { ...shown, servers: [...managed.values()].flat().filter((name) => scope.seesServer(name)).length, work };
  });
}

function providersIn({ providers, rows, noticed }: OperatorOptions): readonly ListedProvider[] {
  const made = rows.index.serversOfEntries(() => true);
  return providers().map((entry) => {
    const { since, reason } = noticed?.().unansweredOf(entry.name) ?? {};
    const trouble = since === undefined || reason === undefined ? null : { since, reason };
    return { ...entry, servers: made.get(entry.name)?.length ?? 0, trouble };
  });
}

interface CommitProblems {
  readonly commit: string;
  readonly problems: readonly Problem[];
}

/**
 * Returns the problems of the newest commit, or those of the followed commit if the newest was not read (such as a
 * rewritten history).
 */
function problemsIn(options: OperatorOptions): CommitProblems {
  const refused = options.refused();
  if (refused !== undefined && refused.problems.length > 0) {
    const { commit, problems } = refused;
    return { commit, problems };
  }
  const { desired } = activeView(options);
  return { commit: desired.commit, problems: problemsAndRemarks(desired) };
}

function approvals(options: OperatorOptions) {
  /** `choose` runs again when the approval is written: the approval is for the change that is held then. */
  function accept(order: Order, choose: (held: readonly HeldItem[]) => HeldItem): Promise<HeldItem> {
    const scope = new Scope(order.by, options);
    const find = () => requireOwn(scope, choose(heldItems(options.rows, options.refused(), scope)));
    return options.requests.approve(find, askedBy(order));
  }

  return {
    /** Approves the held change with this digest. */
    async approve(order: Order, digest: string): Promise<string> {
      const item = await accept(order, (held) => {
        const found = held.find((one) => one.digest === digest);
        if (found !== undefined) return found;
        const message = `Nothing is held with the digest "${digest}", perhaps not any more: list what is held ("treeline held")`;
        throw new ServiceError('not_found', message);
      });
      return item.instance === null ? `Approved: ${item.kind}` : `The deletes of ${item.instance} are approved`;
    },
    /** Follows a rewritten history, at exactly this commit. */
    async acceptHistory(order: Order, commit: string): Promise<string> {
      const head = heldHead(options);
      // The branch may have advanced since the operator read the commit.
      const isHeld = head === commit || (head !== undefined && (await options.isBefore(commit, head)));
      await accept(order, (held) => {
        const found = held.find(({ kind }) => kind === 'history');
        if (isHeld && found !== undefined && heldHead(options) === head)
          return { ...found, digest: historyDigest(commit) };
        throw new ServiceError('not_found', `No rewritten history is held at the commit "${commit}"; give the full id`);
      });
      return `The history is accepted at ${commit}`;
    },
  };
}

/** Returns the newest commit, if it is held because the history was rewritten. */
function heldHead({ refused }: OperatorOptions): string | undefined {
  const newest = refused();
  return newest?.hold?.kind === 'history' ? newest.commit : undefined;
}

interface EndedRecovery {
  readonly recovery: string;
  readonly force: boolean;
}

interface Suspended {
  readonly instance: string | null;
  readonly until: string | null;
}

function suspensions(options: OperatorOptions) {
  const { rows, requests, now } = options;
  return {
    /** Suspends an instance (null: all) until an operator resumes it or until a time (RFC 3339). */
    async suspend(order: Order, { instance, until }: Suspended): Promise<string> {
      const scope = new Scope(order.by, options);
      const view = activeView(options);
      if (instance === EVERY_INSTANCE) requireOwn(scope, { instance });
      if (instance !== null) requireInstance(view, instance, { scope });
      requireOwn(scope, { instance });
      if (until !== null && Date.parse(until) <= view.now) {
        throw new ServiceError('invalid_input', `"until" is ${until}, which is in the past: give a future time`);
      }
      await requests.suspend(instance, { ...askedBy(order), until });
      return `${instance ?? 'Every instance'} is suspended ${until === null ? 'until an operator resumes it' : `until ${until}`}`;
    },
    async resume(order: Order, instance: string | null): Promise<string> {
      const scope = new Scope(order.by, options);
      const isOne = instance !== null && instance !== EVERY_INSTANCE;
      const isSeen = !isOne || scope.seesInstance(instance);
      const isSuspended = (name: string): boolean => suspendedUntil(rows.read('suspension', name), now()) !== undefined;
      if (isSeen) requireOwn(scope, { instance });
      if (!isSeen || !isSuspended(instance ?? EVERY_INSTANCE)) {
        if (isOne) requireInstance(activeView(options), instance, { scope });
        const advice = isSuspended(EVERY_INSTANCE) ? ', but every instance is: treeline resume --all' : '';
        throw new ServiceError('conflict', `${instance ?? 'The whole installation'} is not suspended${advice}`);
      }
      await requests.resume(instance, askedBy(order));
      return `${instance ?? 'Every instance'} is resumed`;
    },
    /** Ends a recovery. Throws while an unrecorded action may still run, unless `force` is set. */
    async endRecovery(order: Order, { recovery: id, force }: EndedRecovery): Promise<string> {
      requireOwn(new Scope(order.by, options), { instance: null });
      const check = (): void => {
        const row = rows.read('recovery', RECOVERY);
        if (row?.id !== id) throw new ServiceError('not_found', `There is no recovery "${id}"`);
        if (force || Date.parse(row.notBefore) <= now()) return;
        const advice = 'try again then, or use force if no such action can still run';
        const message = `An unrecorded action may run until ${row.notBefore}; ${advice}`;
        throw new ServiceError('conflict', message);
      };
      await requests.endRecovery(check, askedBy(order));
      return `The recovery ${id} has ended; instances without another suspension or hold resume`;
    },
  };
}

const ACKNOWLEDGED_DAYS_MAX = 30;
const DAY_MS = 86_400_000;

interface Acknowledged {
  readonly instance: string;
  /** RFC 3339; null ends the acknowledgement. */
  readonly until: string | null;
}

function acknowledgements(options: OperatorOptions) {
  const { rows, requests } = options;

  async function end(order: Order, instance: string): Promise<string> {
    const row = rows.read('acknowledgement', instance);
    if (row === undefined || Date.parse(row.until) <= options.now()) {
      throw new ServiceError('conflict', `No problem of ${instance} is acknowledged`);
    }
    await requests.acknowledge(instance, { ...askedBy(order), until: null, causes: [] });
    return `The problems of ${instance} are no longer acknowledged`;
  }

  return {
    /**
     * Acknowledges the causes that concern an instance now: each sends no notifications until that time, or until it
     * ends.
     */
    async acknowledge(order: Order, { instance, until }: Acknowledged): Promise<string> {
      const scope = new Scope(order.by, options);
      const view = activeView(options);
      requireInstance(view, instance, { scope });
      requireOwn(scope, { instance });
      if (until === null) return await end(order, instance);
      const ms = Date.parse(until) - view.now;
      if (ms <= 0 || ms > ACKNOWLEDGED_DAYS_MAX * DAY_MS) {
        const message = `"until" is ${until}: give a future time within ${ACKNOWLEDGED_DAYS_MAX} days`;
        throw new ServiceError('invalid_input', message);
      }
      const causes = attentionOf(options)
        .items.filter((item) => item.instances.includes(instance))
        .map(({ id }) => id);
      if (causes.length === 0) throw new ServiceError('conflict', `Nothing of ${instance} needs an operator`);
      await requests.acknowledge(instance, { ...askedBy(order), until, causes });
      return `The problems of ${instance} are acknowledged until ${until}: ${causes.join(', ')}`;
    },
  };
}
