// Implements operator.ts: it checks what is asked, has the rows changed that it concerns, and answers in a sentence.
import { problemsAndRemarks } from '../desired/remarks.ts';
import { historyDigest } from '../machine/hold-digests.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../machine/suspension.ts';
import type { ToldWait } from '../machine/wait.ts';
import { ServiceError } from '../model/service-error.ts';
import { viewEvents } from './event-views.ts';
import { heldItems } from './held-items.ts';
import { requireInstance, type StallsOf } from './instance-views.ts';
import type { HeldItem, Operator, Order, Outage } from './operator.ts';
import { recordedIn } from './recorded-servers.ts';
import { activeView, heldView } from './recorded-view.ts';
import { askedBy } from './row-writer.ts';
import type { WaitFacts } from './server-items.ts';
import { type ServerOperationsOptions, serverOperations } from './server-operations.ts';
import { type CallHolder, overviewOf, type PresentFacts, whyOf } from './why.ts';

interface OperatorOptions extends ServerOperationsOptions {
  /** See Follower. */
  readonly isBefore: (commit: string, head: string) => Promise<boolean>;
  readonly stallsOf: StallsOf;
  /** Returns the wait of a server; undefined where it does not wait. */
  readonly waitOf: (server: string) => ToldWait | undefined;
  /** Returns the proxy that carries out the action of a server. Omitted: no proxy does. */
  readonly holderOf?: ((server: string) => CallHolder | undefined) | undefined;
  /** Returns how the checks of a server fail, once several have failed in a row; undefined otherwise. */
  readonly checkFailureOf: WaitFacts['checkFailureOf'];
  /** Returns why the last poll of the branch failed; undefined where it did not. */
  readonly pollFailure: () => Outage | undefined;
  /** Returns why the store cannot be written; undefined where it was written last. */
  readonly storeFailure: () => Outage | undefined;
  /** Returns why commit statuses cannot be sent. Omitted: none are. */
  readonly statusFailure?: (() => Outage | undefined) | undefined;
  /** What shows that another controller works with a store of which this one is a copy. Omitted: nothing does. */
  readonly copied?: Outage | undefined;
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
    ...serverOperations(options),
  };
}

function whyFacts(options: OperatorOptions): PresentFacts {
  const { stallsOf, waitOf, checkFailureOf, holderOf, statusFailure } = options;
  const refused = options.refused();
  const outages = {
    pollFailure: options.pollFailure(),
    storeFailure: options.storeFailure(),
    statusFailure: statusFailure?.(),
    copied: options.copied,
  };
  const recorded = heldView(options);
  const shown = { refused, stallsOf, waitOf, checkFailureOf, holderOf, ...outages };
  if (recorded === undefined) return { view: activeView(options), isActive: true, ...shown };
  // No server is looked at before something is active, so nothing is known of its waits.
  const nothing = { stallsOf: () => undefined, waitOf: () => undefined, checkFailureOf: () => undefined };
  return { view: recorded, isActive: false, refused, ...outages, ...nothing };
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
  function accept(order: Order, find: () => HeldItem): Promise<HeldItem> {
    return options.requests.approve(find, askedBy(order));
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
      const head = heldHead(options);
      // The branch may have moved on since the person has read it.
      const isHeld = head === commit || (head !== undefined && (await options.isBefore(commit, head)));
      await accept(order, () => {
        const held = heldIn(options).find(({ kind }) => kind === 'history');
        if (isHeld && held !== undefined && heldHead(options) === head)
          return { ...held, digest: historyDigest(commit) };
        throw new ServiceError('not_found', `No rewritten history is held at the commit "${commit}"; give its full id`);
      });
      return `The history is accepted at ${commit}`;
    },
  };
}

/** Returns the newest commit, where it is held as one of a rewritten history. */
function heldHead({ refused }: OperatorOptions): string | undefined {
  const newest = refused();
  return newest?.hold?.kind === 'history' ? newest.commit : undefined;
}

function suspensions(options: OperatorOptions): Pick<Operator, 'suspend' | 'resume'> {
  const { rows, requests, now } = options;
  return {
    async suspend(order, { instance, until }) {
      const view = activeView(options);
      if (instance !== null) requireInstance(view, instance);
      if (until !== null && Date.parse(until) <= view.now) {
        throw new ServiceError(
          'invalid_input',
          `"until" is ${until}, which is over: give a time that is still to come`,
        );
      }
      await requests.suspend(instance, { ...askedBy(order), until });
      return `${instance ?? 'Every instance'} is suspended ${until === null ? 'until a person resumes it' : `until ${until}`}`;
    },
    async resume(order, instance) {
      if (suspendedUntil(rows.read('suspension', instance ?? EVERY_INSTANCE), now()) === undefined) {
        throw new ServiceError('conflict', `${instance ?? 'Everything as a whole'} is not suspended`);
      }
      await requests.resume(instance, askedBy(order));
      return `${instance ?? 'Every instance'} is resumed`;
    },
  };
}
