// Writes the requests of clients to rows: approvals, suspensions, retries, adoptions. Each is one exclusive store
// commit, which enqueues the affected servers. src/service/operate/operator.ts decides who may request what.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { toRfc3339 } from '../base/wording.ts';
import { isMade } from '../machine/existence.ts';
import { deletesDigest } from '../machine/hold-digests.ts';
import { type Cause, type OperationTarget, operationEvent } from '../machine/instance-events.ts';
import { RECOVERY } from '../machine/recovery.ts';
import type { Removal } from '../machine/removals.ts';
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import type { ApprovalRow, Change, HoldKind, ServerRow } from '../model/rows.ts';
import type { CommitGate } from './commit-gate.ts';
import type { Ledger } from './ledger.ts';
import type { Reconciler } from './reconciler.ts';
import type { Reviews } from './reviews.ts';

interface RowRequestsOptions {
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly clock: Clock;
  readonly reconciler: Pick<Reconciler, 'enqueue'>;
  readonly reviews: Pick<Reviews, 'request'>;
}

/** The client that makes a request, and its reason. */
export interface Asked {
  /** Serial of the client; null for the operator of the machine itself. */
  readonly by: string | null;
  readonly reason: string;
  /** Returns an error if the client may not make the request any more. Called in the exclusive section. */
  readonly refusal: () => Error | undefined;
}

/** A request that changes the rows of servers. */
export interface RowChange extends Asked {
  /** The operation of the interface, for the events. */
  readonly operation: string;
  /** Returns the row after the request; undefined if the request does not apply to the server. */
  readonly change: (row: ServerRow, now: string) => ServerRow | undefined;
}

/** The causes that have ended, according to one check of all causes. */
export interface EndedCauses {
  readonly isOver: (id: string) => boolean;
  /** When that check began, RFC 3339. It does not include causes that were acknowledged later. */
  readonly before: string;
}

/** A change that waits for an approval. */
interface Held {
  readonly digest: string;
  readonly kind: HoldKind;
  /** Null: it is not about one instance. */
  readonly instance: string | null;
  /** The commit that requests it, and the affected servers; omitted if not known. */
  readonly commit?: string | null;
  readonly resources?: readonly string[];
}

const APPROVALS_MAX = 100;
const SERVERS_MAX = 1_000;

/** Changes rows at the request of an operator. */
export class RowRequests {
  readonly #options: RowRequestsOptions;

  constructor(options: RowRequestsOptions) {
    this.#options = options;
  }

  /**
   * Records the approval of the change that `find` returns, and returns the change. `find` is called in the exclusive
   * section and may throw.
   */
  async approve<Item extends Held>(find: () => Item, asked: Asked): Promise<Item> {
    const { ledger, reviews } = this.#options;
    const { by, reason } = asked;
    const item = await this.#exclusive(asked, async () => {
      const found = find();
      const value = { what: found.kind, by, reason, time: this.#moment() };
      const expected = ledger.read('approval', found.digest);
      const cause = this.#cause(asked, found.kind === 'history' ? 'accept-history' : 'approve', found.instance);
      await ledger.commit(
        [{ kind: 'approval', name: found.digest, value, expected }, ...approvedCommit(ledger, found, value)],
        cause,
      );
      return found;
    });
    reviews.request();
    if (item.kind === 'failures') this.#enqueue(ledger.list('server').keys());
    return item;
  }

  /**
   * Approves the deletes of an instance that an administrator removes with the next commit, so that they are not held.
   * The approval is only for the servers that exist now. Records nothing if the client may not make the request any
   * more. Resolves with a function that withdraws the approval unless it was used or given again.
   */
  approveDeletes(instance: string, { by, refusal }: Omit<Asked, 'reason'>): Promise<() => Promise<void>> {
    const { ledger, gate } = this.#options;
    return gate.exclusive(async () => {
      const removals = listRemovals(instance, ledger);
      if (removals.length === 0 || refusal() !== undefined) return () => Promise.resolve();
      const name = deletesDigest(removals);
      const reason = `delete of ${instance}`;
      const value = { what: 'requested delete', by, reason, time: this.#moment() } as const;
      const cause = this.#cause({ by, reason: '' }, 'delete', instance);
      const before = ledger.read('approval', name);
      await ledger.commit([{ kind: 'approval', name, value, expected: before }], cause);
      const given = ledger.read('approval', name);
      return () =>
        gate.exclusive(async () => {
          if (given === undefined || ledger.read('approval', name) !== given) return;
          await ledger.commit([{ kind: 'approval', name, value: before ?? null, expected: given }]);
        });
    });
  }

  /** Suspends an instance, or all if it is null, until a time (RFC 3339) or until an operator resumes it. */
  async suspend(
    instance: string | null,
    { until, ...asked }: Asked & { readonly until: string | null },
  ): Promise<void> {
    const name = instance ?? EVERY_INSTANCE;
    await this.#write(asked, this.#cause(asked, 'suspend', instance), (ledger) => {
      const value = { by: asked.by, reason: asked.reason, since: this.#moment(), until };
      return [{ kind: 'suspension', name, value, expected: ledger.read('suspension', name) }];
    });
    // Servers that wait for the end of an earlier suspension now have a new end.
    this.#enqueueOf(instance);
  }

  /** Ends the suspension of an instance, or the suspension of all instances if it is null. */
  async resume(instance: string | null, asked: Asked): Promise<void> {
    const name = instance ?? EVERY_INSTANCE;
    await this.#write(asked, this.#cause(asked, 'resume', instance), (ledger) => [
      { kind: 'suspension', name, value: null, expected: ledger.read('suspension', name) },
    ]);
    this.#enqueueOf(instance);
  }

  /** Ends a recovery. `check` is called in the exclusive section and may throw. */
  async endRecovery(check: () => void, asked: Asked): Promise<void> {
    await this.#write(asked, this.#cause(asked, 'resume', null), (ledger) => {
      check();
      return [{ kind: 'recovery', name: RECOVERY, value: null, expected: ledger.read('recovery', RECOVERY) }];
    });
    this.#enqueueOf(null);
  }

  /** Acknowledges causes of an instance until a time (RFC 3339); null ends the acknowledgement. */
  async acknowledge(
    instance: string,
    { until, causes, ...asked }: Asked & { readonly until: string | null; readonly causes: readonly string[] },
  ): Promise<void> {
    await this.#write(asked, this.#cause(asked, 'acknowledge', instance), (ledger) => {
      const { by, reason } = asked;
      const value = until === null ? null : { by, reason, since: this.#moment(), until, causes };
      return [{ kind: 'acknowledgement', name: instance, value, expected: ledger.read('acknowledgement', instance) }];
    });
  }

  /**
   * Removes ended causes from the acknowledgements made before `before` (RFC 3339), and acknowledgements without a
   * cause.
   */
  async endAcknowledgements({ isOver, before }: EndedCauses): Promise<void> {
    const { ledger, gate, clock } = this.#options;
    const changes = (): Change[] =>
      [...ledger.list('acknowledgement')].flatMap(([name, row]): Change[] => {
        const causes = row.causes.filter((id) => !isOver(id));
        if (row.since >= before || causes.length === row.causes.length) return [];
        const value = causes.length === 0 ? null : { ...row, causes };
        return [{ kind: 'acknowledgement', name, value, expected: row }];
      });
    if (changes().length === 0) return;
    await gate.exclusive(() => ledger.commit(changes(), { kind: 'pass', now: clock.now() }));
  }

  /**
   * Writes the rows that `change` returns for these servers, and returns their number. `change` is called in the
   * exclusive section and may throw.
   */
  async change(servers: readonly string[], { operation, change, ...asked }: RowChange): Promise<number> {
    const written = await this.#write(asked, this.#cause(asked, operation, null), (ledger) =>
      servers.flatMap((name): Change[] => {
        const row = ledger.server(name);
        const value = row === undefined ? undefined : change(row, this.#moment());
        return value === undefined ? [] : [{ kind: 'server', name, value, expected: row }];
      }),
    );
    this.#enqueue(written.map(({ name }) => name));
    // The held deletes may have changed.
    const { ledger, reviews } = this.#options;
    const instances = new Set(written.map(({ name }) => ledger.server(name)?.instance ?? ''));
    if ([...instances].some((instance) => ledger.read('held', instance) !== undefined)) reviews.request();
    return written.length;
  }

  /** Records the event of an operation that changes no row. */
  async recordOperation(
    about: OperationTarget,
    { operation, ...asked }: Asked & { readonly operation: string },
  ): Promise<void> {
    await this.#options.ledger.recordEvents([operationEvent(about, this.#cause(asked, operation, about.instance))]);
  }

  #write(asked: Asked, cause: Cause, changes: (ledger: Ledger) => readonly Change[]): Promise<readonly Change[]> {
    const { ledger } = this.#options;
    return this.#exclusive(asked, async () => {
      const wanted = changes(ledger);
      await ledger.commit(wanted, cause);
      return wanted;
    });
  }

  /** Runs work in the exclusive section, unless the client may not make the request any more. */
  #exclusive<Result>({ refusal }: Asked, work: () => Promise<Result>): Promise<Result> {
    return this.#options.gate.exclusive(async () => {
      const refused = refusal();
      if (refused !== undefined) throw refused;
      return await work();
    });
  }

  #cause(
    { by, reason }: Pick<Asked, 'by' | 'reason'>,
    operation: string,
    instance: string | null,
  ): Extract<Cause, { readonly kind: 'operation' }> {
    return { kind: 'operation', now: this.#options.clock.now(), operation, client: by, reason, instance };
  }

  #enqueueOf(instance: string | null): void {
    const { ledger } = this.#options;
    this.#enqueue(instance === null ? ledger.list('server').keys() : ledger.index.serversOf(instance));
  }

  #enqueue(servers: Iterable<string>): void {
    this.#options.reconciler.enqueue(servers, randomUUID());
  }

  #moment(): string {
    return toRfc3339(this.#options.clock.now());
  }
}

/** Returns the change that adds an approval to the row of the commit that requires it. */
function approvedCommit(
  ledger: Pick<Ledger, 'read'>,
  { commit, instance, resources = [] }: Held,
  { by, reason, time }: ApprovalRow,
): Change[] {
  const expected = commit == null ? undefined : ledger.read('commit', commit);
  if (commit == null || expected === undefined) return [];
  const approval = { by, reason, time, instance, servers: resources.slice(0, SERVERS_MAX) };
  const approvals = [...expected.approvals, approval].slice(-APPROVALS_MAX);
  return [{ kind: 'commit', name: commit, value: { ...expected, approvals }, expected }];
}

/** Returns the servers that would be deleted with an instance, and those that are being deleted already. */
function listRemovals(instance: string, ledger: Ledger): readonly Removal[] {
  const underWay = ledger.index.openRemovals().get(instance);
  return ledger.index.serversOf(instance).flatMap((server) => {
    const row = ledger.server(server);
    const goes = row !== undefined && row.wanted !== null && row.policy.deletion === 'delete' && isMade(row);
    return row !== undefined && (goes || underWay?.has(server)) ? [{ server, incarnation: row.incarnation }] : [];
  });
}
