// Implements operator.ts: it checks what is asked, has the rows changed that it concerns, and answers in a sentence.
import type { DesiredState } from '../desired/desired-state.ts';
import { problemsAndRemarks } from '../desired/remarks.ts';
import { isAtRest } from '../machine/drift.ts';
import { historyDigest } from '../machine/hold-digests.ts';
import type { OperationTarget } from '../machine/instance-events.ts';
import {
  adoptedRow,
  correctedRow,
  type Entries,
  replacedRow,
  replaceRefusal,
  retainedRow,
  retainRefusal,
  retriedRow,
} from '../machine/requests.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../machine/suspension.ts';
import type { ToldWait } from '../machine/wait.ts';
import type { ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import { withSuggestion } from '../model/suggest.ts';
import { viewEvents } from './event-views.ts';
import { heldItems } from './held-items.ts';
import { instanceNames, type StallsOf, unknownInstance } from './instance-views.ts';
import type { HeldItem, Operator, Order, StatusFailure, Target } from './operator.ts';
import type { PresentView, RecordedRows, View } from './recorded-rows.ts';
import { recordedIn } from './recorded-servers.ts';
import { activeView, heldView, type ProgressFacts, type ViewSources } from './recorded-view.ts';
import type { WaitFacts } from './server-items.ts';
import { type CallHolder, overviewOf, type PresentFacts, whyOf } from './why.ts';

/** Writes what is asked of the recorded rows; reconcile/row-requests.ts implements it. */
interface RowWriter {
  approve<Item extends HeldItem>(find: () => Item, asked: Asked): Promise<Item>;
  suspend(instance: string | null, asked: Asked & { readonly until: string | null }): Promise<void>;
  resume(instance: string | null, asked: Asked): Promise<void>;
  /** Records the event of an operation that changes no row. */
  tell(about: OperationTarget, asked: Asked & { readonly operation: string }): Promise<void>;
  /** Returns how many of these servers `change` returned a row for. */
  change(servers: readonly string[], request: RowChange): Promise<number>;
}

interface RowChange extends Asked {
  readonly operation: string;
  readonly change: (row: ServerRow, now: string) => ServerRow | undefined;
}

interface Asked {
  /** Serial of the client; null for the machine's own operator. */
  readonly by: string | null;
  readonly reason: string;
}

interface OperatorOptions extends ViewSources {
  readonly stallsOf: StallsOf;
  /** Returns the wait of a server; undefined where it does not wait. */
  readonly waitOf: (server: string) => ToldWait | undefined;
  /** Returns the proxy that carries out the action of a server. Omitted: no proxy does. */
  readonly holderOf?: ((server: string) => CallHolder | undefined) | undefined;
  /** Returns how the checks of a server fail, once several have failed in a row; undefined otherwise. */
  readonly checkFailureOf: WaitFacts['checkFailureOf'];
  /** Has a server checked as soon as there is capacity. Returns false if it is not at rest. */
  readonly requestCheck: (server: string) => boolean;
  readonly requests: RowWriter;
  /** Returns why commit statuses cannot be sent. Omitted: none are. */
  readonly statusFailure?: (() => StatusFailure | undefined) | undefined;
  readonly entries: Entries;
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
    events: async (by, instance, range) => await viewEvents({ by, instance, range }, whyFacts(options).view),
    problems: () => problemsIn(options),
    recorded: () => recordedIn(whyFacts(options).view, heldIn(options)),
    ...approvals(options),
    ...suspensions(options),
    ...changesOfServers(options),
  };
}

function whyFacts(options: OperatorOptions): PresentFacts {
  const { stallsOf, waitOf, checkFailureOf, holderOf, statusFailure } = options;
  const refused = options.refused();
  const recorded = heldView(options);
  const shown = { refused, stallsOf, waitOf, checkFailureOf, holderOf, statusFailure: statusFailure?.() };
  if (recorded === undefined) return { view: activeView(options), isActive: true, ...shown };
  // Nobody looks at a server before something is active, so nothing is known of its waits.
  const nothing = { stallsOf: () => undefined, waitOf: () => undefined, checkFailureOf: () => undefined };
  return { view: recorded, isActive: false, refused, ...nothing };
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
  const { desired } = activeView(options);
  return { commit: desired.commit, problems: problemsAndRemarks(desired) };
}

function approvals(options: OperatorOptions): Pick<Operator, 'approve' | 'acceptHistory'> {
  /** An approval is for what is held when it is written. */
  function accept({ by, reason }: Order, find: () => HeldItem): Promise<HeldItem> {
    return options.requests.approve(find, { by: by.serial, reason });
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
        const held = heldIn(options).find(({ digest }) => digest === historyDigest(commit));
        if (held !== undefined) return held;
        throw new ServiceError('not_found', `No rewritten history is held at the commit "${commit}"; give its full id`);
      });
      return `The history is accepted at ${commit}`;
    },
  };
}

function suspensions(options: OperatorOptions): Pick<Operator, 'suspend' | 'resume'> {
  const { rows, requests, now } = options;
  return {
    async suspend({ by, reason }, { instance, until }) {
      const view = activeView(options);
      if (instance !== null) requireInstance(view, instance);
      if (until !== null && Date.parse(until) <= view.now) {
        throw new ServiceError(
          'invalid_input',
          `"until" is ${until}, which is over: give a time that is still to come`,
        );
      }
      await requests.suspend(instance, { by: by.serial, reason, until });
      return `${instance ?? 'Every instance'} is suspended ${until === null ? 'until somebody resumes it' : `until ${until}`}`;
    },
    async resume({ by, reason }, instance) {
      if (suspendedUntil(rows.read('suspension', instance ?? EVERY_INSTANCE), now()) === undefined) {
        throw new ServiceError('conflict', `${instance ?? 'Everything as a whole'} is not suspended`);
      }
      await requests.resume(instance, { by: by.serial, reason });
      return `${instance ?? 'Every instance'} is resumed`;
    },
  };
}

function changesOfServers(
  options: OperatorOptions,
): Pick<Operator, 'retry' | 'adopt' | 'retain' | 'replace' | 'check'> {
  const { requests, entries } = options;
  return {
    async retry(order, target) {
      // Retrying everything is for what failed: servers that drifted are brought back where they are named.
      const isNamed = 'instance' in target || 'resource' in target;
      const change = isNamed
        ? (row: ServerRow, at: string) => retriedRow(row, at) ?? correctedRow(row, at)
        : retriedRow;
      const servers = serversOf(activeView(options), target);
      const count = await requests.change(servers, asked(order, 'retry', change));
      if (count > 0) return `Tried again: ${count}`;
      const words = isNamed ? 'No server there has failed or drifted' : 'No server there has failed';
      throw new ServiceError('conflict', `${words}, so there is nothing to try again`);
    },
    async adopt(order, target) {
      const servers = serversOf(activeView(options), target);
      const count = await requests.change(
        servers,
        asked(order, 'adopt', (row, now) => adoptedRow(row, now, entries)),
      );
      if (count > 0) return `Adopted: ${count}`;
      throw new ServiceError(
        'conflict',
        'No server there is blocked because it exists already, or because another provider entry matches it now',
      );
    },
    async retain(order, server) {
      const servers = serversOf(activeView(options), { resource: server });
      const change = (row: ServerRow, now: string): ServerRow => {
        refuse(server, 'forgotten', retainRefusal(row));
        return retainedRow(row, now);
      };
      await requests.change(servers, asked(order, 'retain', change));
      return `${server} is forgotten, and left as it is`;
    },
    async replace(order, server) {
      const servers = serversOf(activeView(options), { resource: server });
      const change = (row: ServerRow, now: string): ServerRow => {
        refuse(server, 'replaced', replaceRefusal(row, entries));
        return replacedRow(row, now);
      };
      await requests.change(servers, asked(order, 'replace', change));
      return `${server} is deleted and made anew`;
    },
    check: (order, target) => checkServers(order, target, options),
  };
}

/** The request itself is in memory: a check that a crash prevents changes nothing. That it was asked for is recorded first. */
async function checkServers({ by, reason }: Order, target: Target, options: OperatorOptions): Promise<string> {
  const { rows, requests, entries, requestCheck } = options;
  const servers = serversOf(activeView(options), target).filter((server) => {
    const row = rows.server(server);
    return row !== undefined && isAtRest(row) && row.provider !== null && entries.has(row.provider);
  });
  const [name] = servers;
  const row = name === undefined ? undefined : rows.server(name);
  if (name === undefined || row === undefined) {
    const words = 'No server there is done or drifted, so there is nothing to compare';
    throw new ServiceError('conflict', `${words}: the others are checked when their next action needs it`);
  }
  const { instance, state } = row;
  const isOne = 'resource' in target;
  await requests.tell(
    { instance, server: isOne ? { name, state } : null, step: isOne ? '' : `servers: ${servers.length}` },
    { by: by.serial, reason, operation: 'check' },
  );
  for (const server of servers) requestCheck(server);
  return `Being checked: ${servers.length}`;
}

function refuse(server: string, done: string, refusal: string | undefined): void {
  if (refusal !== undefined) throw new ServiceError('conflict', `${server} cannot be ${done}: ${refusal}`);
}

function asked({ by, reason }: Order, operation: string, change: RowChange['change']): RowChange {
  return { by: by.serial, reason, operation, change };
}

function requireInstance(view: View<Pick<ProgressFacts, 'units' | 'invalid'>>, name: string): void {
  if (!instanceNames(view).includes(name)) throw unknownInstance(view, name);
}

function serversOfProvider(rows: RecordedRows, provider: string): readonly string[] {
  const servers = [...rows.list('server')];
  const own = servers.filter(([, row]) => row.provider === provider);
  if (own.length > 0) return own.map(([name]) => name);
  const providers = new Set(servers.flatMap(([, row]) => row.provider ?? []));
  const words = `No server belongs to the provider entry "${provider}"`;
  throw new ServiceError('not_found', withSuggestion(words, provider, providers));
}

function serversOf(view: PresentView<DesiredState>, target: Target): readonly string[] {
  const { rows } = view;
  if ('all' in target) return [...rows.list('server').keys()];
  if ('provider' in target) return serversOfProvider(rows, target.provider);
  if ('instance' in target) {
    requireInstance(view, target.instance);
    return rows.index.serversOf(target.instance);
  }
  if (rows.server(target.resource) !== undefined) return [target.resource];
  const words = `There is no server "${target.resource}"`;
  throw new ServiceError('not_found', withSuggestion(words, target.resource, rows.list('server').keys()));
}
