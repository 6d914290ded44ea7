// The reads of progress: what instances and servers wait for, and what needs an operator. See docs/rest.md, operations.

import type { DesiredState } from '../../desired/desired-state.ts';
import type { ToldWait } from '../../machine/wait.ts';
import { instanceAddress } from '../../model/address.ts';
import { isValidEntry } from '../../model/entry.ts';
import { compareNames } from '../../model/names.ts';
import type { Client, Hierarchy } from '../../model/objects.ts';
import type {
  AttentionItem,
  FoundRecovery,
  LeadingReplica,
  Outage,
  Outages,
  Overview,
  OverviewInstance,
  ServerDetails,
  ServerPage,
  Why,
} from '../answers.ts';
import { deliveredNode } from '../deliveries/delivered.ts';
import { instanceNames, requireInstance, type StallsOf } from '../read/instance-views.ts';
import { EVERYTHING, Scope } from '../scope.ts';
import { activeView, type PresentView, type ProgressFacts, type ViewSources } from '../views.ts';
import { attentionIn, firstOf } from './attention.ts';
import { type CauseFacts, type Causes, causesOf, type Noticed, outerCauses, unfollowed } from './causes.ts';
import { heldItems } from './held-items.ts';
import { recoveryIn } from './recovery.ts';
import { StateCounter, type WaitFacts } from './server-items.ts';
import { describeOne, findServers, type ServerListFacts, type ServerQuery } from './server-list.ts';
import {
  type CallHolder,
  causesByInstance,
  explainWaits,
  replicaFacts,
  STATUS_KINDS,
  type WhyFacts,
  waitFactsFor,
} from './why.ts';

/** What is known of the progress of instances beside the rows. */
export interface ProgressOptions extends ViewSources {
  readonly stallsOf: StallsOf;
  /** Returns the wait of a server; undefined where it does not wait. */
  readonly waitOf: (server: string) => ToldWait | undefined;
  readonly invalidSince?: CauseFacts['invalidSince'];
  /** Returns the proxy that carries out the action of a server. Omitted: no proxy does. */
  readonly holderOf?: ((server: string) => CallHolder | undefined) | undefined;
  /** Returns how the checks of a server fail, once several have failed in a row; undefined otherwise. */
  readonly checkFailureOf: WaitFacts['checkFailureOf'];
  /** Returns the author of the followed commit; null where that is not known. Omitted: this process does not follow. */
  readonly followedAuthor?: () => string | null;
  /** Returns what fails outside. Omitted: this process does nothing outside. */
  readonly outages?: () => Outages;
  /** Returns whether the settings have a provider entry of that name. Omitted: it is not known. */
  readonly hasEntry?: CauseFacts['hasEntry'];
  /** Returns what this process has noticed. Omitted: it does not lead. */
  readonly noticed?: (() => Noticed) | undefined;
  /** Returns who leads, null where nobody is known to. Omitted: the store is embedded. */
  readonly leader?: (() => LeadingReplica | null) | undefined;
  /** Returns why this replica shows an earlier moment than the leader. Omitted: it leads. */
  readonly lag?: () => Outage | undefined;
}

/**
 * Returns what shows each client the progress that it sees. `lag`: of the replica that was asked, if it is another than
 * this one.
 */
export function progressReads(options: ProgressOptions) {
  return {
    /** The reasons why an instance is not done. */
    why(by: Client, instance: string, lag = options.lag?.()): Why {
      const facts = whyFacts(options, new Scope(by, options), lag);
      requireInstance(facts.view, instance, facts);
      const causes = causesByInstance(outerCauses(by, facts))(instance);
      return { ...explainWaits({ name: instance, causes }, by, facts), ...replicaFacts(by, facts) };
    },
    /** Returns the progress of all instances, and the followed commit. */
    overview(by: Client, lag = options.lag?.()): Overview {
      const facts = whyFacts(options, new Scope(by, options), lag);
      const author = facts.scope.isWhole ? (options.followedAuthor?.() ?? null) : null;
      return buildOverview(by, facts, { author, desired: options.desired() });
    },
    /** Returns what a recovery found of the servers that a client sees; null where there is none. */
    recovery(by: Client): FoundRecovery {
      return { recovery: recoveryIn(options.rows, new Scope(by, options)) };
    },
    /** Returns work that finds a page of servers. */
    servers(by: Client, query: ServerQuery): ServerPage {
      const facts = whyFacts(options, new Scope(by, options));
      if (query.instance !== null) requireInstance(facts.view, query.instance, facts);
      return findServers(query, listFactsFor(by, facts));
    },
    /** One server, with what is wanted of it and what was applied. */
    server(by: Client, name: string): ServerDetails {
      const facts = whyFacts(options, new Scope(by, options));
      const server = describeOne(name, listFactsFor(by, facts), hierarchyIn(options.desired()));
      const delivered = deliveredNode(by, name, activeView(options));
      return { ...server, ...(delivered && { delivered }) };
    },
  };
}

function listFactsFor(by: Client, facts: WhyFacts): ServerListFacts {
  const waits = waitFactsFor(by, facts);
  const { rows } = facts.view;
  return { ...waits, rows: { ...waits.rows, list: (kind) => rows.list(kind), index: rows.index } };
}

function hierarchyIn(desired: DesiredState | undefined): Hierarchy | undefined {
  const entry = desired?.catalog.hierarchy;
  return entry !== undefined && isValidEntry(entry) ? entry.object : undefined;
}

/**
 * Returns what a client may know of the progress now. A limited client does not see outages, provider entries, replicas
 * and authors: these concern the whole installation.
 */
function whyFacts(options: ProgressOptions, scope: Scope, lag?: Outage): WhyFacts {
  const { stallsOf, waitOf, checkFailureOf, holderOf, invalidSince } = options;
  const whole = scope.isWhole ? options : undefined;
  return {
    view: activeView(options),
    scope,
    refused: options.refused(),
    stallsOf,
    waitOf,
    checkFailureOf,
    holderOf,
    invalidSince,
    noticed: whole?.noticed?.(),
    outages: whole?.outages?.() ?? {},
    hasEntry: whole?.hasEntry,
    leader: whole?.leader?.(),
    lag,
  };
}

/** Everything that needs an operator, as administrators see it. */
export interface AllAttention extends Pick<Causes, 'covered'> {
  readonly items: readonly AttentionItem[];
}

/** Returns everything that needs an operator, each with all of its instances. */
export function attentionOf(options: ProgressOptions): AllAttention {
  const by = { role: 'administrator' } as const;
  const facts = whyFacts(options, EVERYTHING, options.lag?.());
  const { causes, covered } = causesOf(by, facts);
  return { items: attentionIn(by, causes, facts.view), covered };
}

/** What is shown of the followed commit, and where its instances are written. */
interface FollowedFacts {
  readonly author: string | null;
  readonly desired: DesiredState | undefined;
}

function buildOverview(by: Client, facts: WhyFacts, { author, desired }: FollowedFacts): Overview {
  const { view, scope, refused, outages } = facts;
  const { causes } = causesOf(by, facts);
  const causesIn = causesByInstance(causes, STATUS_KINDS);
  const seen = [...instanceNames(view)].sort(compareNames).filter((name) => scope.seesInstance(name));
  const instances = seen.map((name) => {
    // The calls of entries that answer nothing are listed once.
    const own = { ...facts, noticed: undefined };
    const { status, summary, counts } = explainWaits({ name, causes: causesIn(name) }, by, own, 1);
    return { name, status, summary, counts, ...whereWritten(name, desired), ...versionOf(name, view) };
  });
  const counts = new StateCounter();
  for (const [name, { state }] of view.rows.list('server')) scope.seesServer(name) && counts.add(state);
  return {
    commit: view.desired.commit,
    newest: unfollowed(by, refused),
    held: heldItems(view.rows, refused, scope),
    ...(by.role === 'proxy' ? {} : { author, committed: desired?.catalog.time ?? null, ...outages }),
    ...replicaFacts(by, facts),
    ...firstOf(attentionIn(by, causes, view)),
    counts: counts.counts(),
    instances,
  };
}

const INSTANCES_FOLDER = 'stacks/instances/';

function whereWritten(name: string, desired: DesiredState | undefined): Pick<OverviewInstance, 'folder' | 'tenant'> {
  const entry = desired?.catalog.instances.get(name);
  const path = entry?.path.slice(INSTANCES_FOLDER.length) ?? '';
  const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  const tenant = entry?.object?.tenant;
  return { ...(folder && { folder }), ...(tenant && { tenant }) };
}

function versionOf(name: string, { rows }: PresentView<ProgressFacts>): Pick<OverviewInstance, 'commit'> {
  const commit = rows.read('pinned', instanceAddress(name))?.commit;
  return commit ? { commit } : {};
}
