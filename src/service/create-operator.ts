// Implements operator.ts: it writes rows and wakes the parts that read them, which make all decisions.
import type { DesiredState } from '../desired/desired-state.ts';
import type { RefusedCommit } from '../desired/refused-commit.ts';
import { problemsAndRemarks } from '../desired/remarks.ts';
import { adoptedRow, retriedRow } from '../machine/requests.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../machine/suspension.ts';
import { invariant } from '../model/invariant.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { InstanceStatus } from '../model/state.ts';
import { didYouMean } from '../model/suggest.ts';
import type { ToldWait } from '../model/told-wait.ts';
import { heldItems } from './held-items.ts';
import { instanceNames, instanceStatus } from './instance-views.ts';
import type { HeldItem, Operator, Order, Target } from './operator.ts';
import type { RecordedRows, View } from './recorded-rows.ts';
import { nothingActive, type ProgressFacts, recordedView } from './recorded-view.ts';
import { unknownInstance } from './unknown-instance.ts';
import { overviewOf, type WhyFacts, whyOf } from './why.ts';

export interface OperatorOptions {
  readonly desired: () => DesiredState | undefined;
  readonly refused: () => RefusedCommit | undefined;
  readonly rows: RecordedRows;
  /** The status of an instance that exists. */
  readonly statusOf: (instance: string) => InstanceStatus;
  /** Returns the wait of a server; undefined where it does not wait. */
  readonly waitOf: (server: string) => ToldWait | undefined;
  /** Writes rows in an exclusive turn, in which `changes` is called. Resolves when they are durable. */
  readonly write: (changes: () => readonly Change[]) => Promise<readonly Change[]>;
  /** Has servers looked at again. */
  readonly enqueue: (servers: Iterable<string>) => void;
  /** Has what is held judged again. */
  readonly review: () => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The same, RFC 3339 with milliseconds. */
  readonly moment: () => string;
}

/** Returns the operator. */
export function createOperator(options: OperatorOptions): Operator {
  return {
    held: () => heldIn(options),
    why(by, instance) {
      const facts = whyFacts(options);
      requireInstance(facts.view, instance);
      return whyOf(instance, by, facts);
    },
    overview: (by) => overviewOf(by, whyFacts(options)),
    problems: () => problemsIn(options),
    ...approvals(options),
    ...suspensions(options),
    ...changesOfServers(options),
  };
}

function viewOf({ desired: desiredOf, refused, rows, now }: OperatorOptions): View<DesiredState> {
  const desired = desiredOf();
  if (desired !== undefined) return { desired, rows, now: now() };
  throw nothingActive(refused());
}

function whyFacts(options: OperatorOptions): WhyFacts {
  const { desired, refused: refusedOf, statusOf, waitOf, rows, now } = options;
  const refused = refusedOf();
  const isHeld = desired() === undefined && refused?.hold != null;
  const recorded = isHeld ? recordedView(rows, now()) : undefined;
  if (recorded === undefined) return { view: viewOf(options), isActive: true, refused, statusOf, waitOf };
  // Nobody looks at a server before something is active, so nothing is known of its waits.
  const status = (instance: string): InstanceStatus => instanceStatus(recorded, instance, () => undefined);
  return { view: recorded, isActive: false, refused, statusOf: status, waitOf: () => undefined };
}

function heldIn({ rows, refused }: OperatorOptions): readonly HeldItem[] {
  return heldItems(rows, refused());
}

/** Returns the problems of the newest commit; those of a commit that was not read, such as a rewritten history, are unknown. */
function problemsIn(options: OperatorOptions): ReturnType<Operator['problems']> {
  const refused = options.refused();
  if (refused !== undefined && refused.problems.length > 0) {
    const { commit, problems } = refused;
    return { commit, problems };
  }
  const { desired } = viewOf(options);
  return { commit: desired.commit, problems: problemsAndRemarks(desired) };
}

function approvals(options: OperatorOptions): Pick<Operator, 'approve' | 'acceptHistory'> {
  const { rows, write, enqueue, review, moment } = options;

  /** `find` is called in an exclusive turn: an approval is for what is held at that moment. */
  async function accept({ by, reason }: Order, find: () => HeldItem): Promise<HeldItem> {
    const found: HeldItem[] = [];
    await write(() => {
      const item = find();
      found.push(item);
      const { digest: name, kind: what } = item;
      const value = { what, by: by.serial, reason, time: moment() };
      return [{ kind: 'approval', name, value, expected: rows.read('approval', name) }];
    });
    const [item] = found;
    invariant(item !== undefined, 'what is written was looked for');
    review();
    if (item.kind === 'failures') enqueue(rows.list('server').keys());
    return item;
  }

  return {
    async approve(order, digest) {
      const item = await accept(order, () => {
        const held = heldIn(options).find((one) => one.digest === digest);
        if (held !== undefined) return held;
        const message = `Nothing is held under the digest "${digest}"; what is held may have changed: look at it again`;
        throw new ServiceError('not_found', message);
      });
      return item.instance === null ? `Approved: ${item.kind}` : `The deletes of ${item.instance} are approved`;
    },
    async acceptHistory(order, commit) {
      await accept(order, () => {
        const held = heldIn(options).find(({ kind, digest }) => kind === 'history' && digest === `history-${commit}`);
        if (held !== undefined) return held;
        throw new ServiceError('not_found', `No rewritten history is held at the commit "${commit}"; give its full id`);
      });
      return `The history is accepted at ${commit}`;
    },
  };
}

function suspensions(options: OperatorOptions): Pick<Operator, 'suspend' | 'resume'> {
  const { rows, write, enqueue, now, moment } = options;
  return {
    async suspend({ by, reason }, { instance, until }) {
      const view = viewOf(options);
      if (instance !== null) requireInstance(view, instance);
      if (until !== null && Date.parse(until) <= view.now) {
        throw new ServiceError(
          'invalid_input',
          `"until" is ${until}, which is over: give a time that is still to come`,
        );
      }
      const name = instance ?? EVERY_INSTANCE;
      await write(() => {
        const value = { by: by.serial, reason, since: moment(), until };
        return [{ kind: 'suspension', name, value, expected: rows.read('suspension', name) }];
      });
      // Servers that wait for the end of an earlier suspension now wait for another end.
      enqueue(instance === null ? rows.list('server').keys() : rows.index.serversOf(instance));
      return `${instance ?? 'Every instance'} is suspended ${until === null ? 'until somebody resumes it' : `until ${until}`}`;
    },
    async resume(_order, instance) {
      const name = instance ?? EVERY_INSTANCE;
      if (suspendedUntil(rows.read('suspension', name), now()) === undefined) {
        throw new ServiceError('conflict', `${instance ?? 'Everything as a whole'} is not suspended`);
      }
      await write(() => [{ kind: 'suspension', name, value: null, expected: rows.read('suspension', name) }]);
      enqueue(instance === null ? rows.list('server').keys() : rows.index.serversOf(instance));
      return `${instance ?? 'Every instance'} is resumed`;
    },
  };
}

function changesOfServers(options: OperatorOptions): Pick<Operator, 'retry' | 'adopt'> {
  const { rows, write, enqueue, moment } = options;

  /** Writes the rows that `ask` answers for servers of the target; returns how many there are. */
  async function askOf(target: Target, ask: (row: ServerRow, now: string) => ServerRow | undefined): Promise<number> {
    const names = serversOf(viewOf(options), target);
    const written = await write(() =>
      names.flatMap((name): Change[] => {
        const row = rows.server(name);
        const value = row === undefined ? undefined : ask(row, moment());
        return value === undefined ? [] : [{ kind: 'server', name, value, expected: row }];
      }),
    );
    enqueue(written.map(({ name }) => name));
    return written.length;
  }

  return {
    async retry(_order, target) {
      const count = await askOf(target, retriedRow);
      if (count > 0) return `Tried again: ${count}`;
      throw new ServiceError('conflict', 'No server there has failed, so there is nothing to try again');
    },
    async adopt(_order, target) {
      const count = await askOf(target, adoptedRow);
      if (count > 0) return `Adopted: ${count}`;
      throw new ServiceError('conflict', 'No server there is blocked because it exists already');
    },
  };
}

function requireInstance(view: View<Pick<ProgressFacts, 'units' | 'invalid'>>, name: string): void {
  if (!instanceNames(view).includes(name)) throw unknownInstance(view, name);
}

function serversOfProvider(rows: RecordedRows, provider: string): readonly string[] {
  const servers = [...rows.list('server')];
  const own = servers.filter(([, row]) => row.provider === provider);
  if (own.length > 0) return own.map(([name]) => name);
  const hint = didYouMean(provider, new Set(servers.flatMap(([, row]) => row.provider ?? [])));
  const words = `No server belongs to the provider entry "${provider}"`;
  throw new ServiceError('not_found', hint === null ? words : `${words}; ${hint}`);
}

function serversOf(view: View<DesiredState>, target: Target): readonly string[] {
  const { rows } = view;
  if ('all' in target) return [...rows.list('server').keys()];
  if ('provider' in target) return serversOfProvider(rows, target.provider);
  if ('instance' in target) {
    requireInstance(view, target.instance);
    return rows.index.serversOf(target.instance);
  }
  if (rows.server(target.resource) !== undefined) return [target.resource];
  const hint = didYouMean(target.resource, rows.list('server').keys());
  throw new ServiceError('not_found', `There is no server "${target.resource}"${hint === null ? '' : `; ${hint}`}`);
}
