// The reads of progress: what instances and servers wait for, and what needs a person. See docs/rest.md, operations.

import type { DesiredState } from '../../desired/desired-state.ts';
import type { ToldWait } from '../../machine/wait.ts';
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
  ServerDetails,
  ServerPage,
  Why,
} from '../answers.ts';
import { instanceNames, requireInstance, type StallsOf } from '../read/instance-views.ts';
import { EVERYTHING, Scope } from '../scope.ts';
import { activeView, type ViewSources } from '../views.ts';
import { attentionIn, firstOf } from './attention.ts';
import { heldItems } from './held-items.ts';
import { recoveryIn } from './recovery.ts';
import { StateCounter, type WaitFacts } from './server-items.ts';
import { describeOne, findServers, type ServerListFacts, type ServerQuery } from './server-list.ts';
import {
  type CallHolder,
  explainWaits,
  type KnownReplicas,
  mistakesByInstance,
  type Noticed,
  type PresentFacts,
  replicaFacts,
  unfollowed,
  type WhyFacts,
  waitFactsFor,
} from './why.ts';

/** What is known of the progress of instances beside the rows. */
export interface ProgressOptions extends ViewSources {
  readonly stallsOf: StallsOf;
  /** Returns the wait of a server; undefined where it does not wait. */
  readonly waitOf: (server: string) => ToldWait | undefined;
  readonly invalidSince?: WhyFacts['invalidSince'];
  /** Returns the proxy that carries out the action of a server. Omitted: no proxy does. */
  readonly holderOf?: ((server: string) => CallHolder | undefined) | undefined;
  /** Returns how the checks of a server fail, once several have failed in a row; undefined otherwise. */
  readonly checkFailureOf: WaitFacts['checkFailureOf'];
  /** Returns the author of the followed commit; null where that is not known. Omitted: this process does not follow. */
  readonly followedAuthor?: () => string | null;
  /** Returns what fails outside. Omitted: this process does nothing outside. */
  readonly outages?: () => Outages;
  /** Returns whether the settings have a provider entry of that name. Omitted: it is not known. */
  readonly hasEntry?: WhyFacts['hasEntry'];
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
    /** The reasons why an instance is not done. A proxy is told where a file is wrong, and not what stands there. */
    why(by: Client, instance: string, lag = options.lag?.()): Why {
      const facts = overviewFacts(options, new Scope(by, options), lag);
      requireInstance(facts.view, instance, facts);
      return { ...explainWaits(instance, by, facts), ...replicaFacts(by, facts) };
    },
    /**
     * Returns work that finds the progress of all instances, and the followed commit. A proxy is told as little as by
     * `why`.
     */
    overview: (by: Client, lag = options.lag?.()): Overview =>
      buildOverview(by, overviewFacts(options, new Scope(by, options), lag)),
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
      return describeOne(name, listFactsFor(by, facts), hierarchyIn(options.desired()));
    },
  };
}

function listFactsFor(by: Client, facts: PresentFacts): ServerListFacts {
  const waits = waitFactsFor(by, facts);
  const { rows } = facts.view;
  return { ...waits, rows: { ...waits.rows, list: (kind) => rows.list(kind), index: rows.index } };
}

function hierarchyIn(desired: DesiredState | undefined): Hierarchy | undefined {
  const entry = desired?.catalog.hierarchy;
  return entry !== undefined && isValidEntry(entry) ? entry.object : undefined;
}

/**
 * Returns what is known of the progress now. A limited client does not see
 * outages, provider entries, replicas and authors: these concern the whole installation.
 */
export function whyFacts(options: ProgressOptions, scope: Scope): PresentFacts {
  const { stallsOf, waitOf, checkFailureOf, holderOf, invalidSince } = options;
  const refused = options.refused();
  const whole = scope.isWhole ? options : undefined;
  const noticed = whole?.noticed?.();
  const outside = {
    scope,
    invalidSince,
    noticed,
    outages: whole?.outages?.() ?? {},
    hasEntry: whole?.hasEntry,
    calls: noticed,
    author: whole?.followedAuthor?.() ?? null,
  };
  const shown = { refused, stallsOf, waitOf, checkFailureOf, holderOf, ...outside };
  return { view: activeView(options), ...shown };
}

type OverviewFacts = PresentFacts & KnownReplicas;

function overviewFacts(options: ProgressOptions, scope: Scope, lag: Outage | undefined): OverviewFacts {
  return { ...whyFacts(options, scope), leader: scope.isWhole ? options.leader?.() : undefined, lag };
}

/** Returns everything that needs an operator, as administrators see it. `covered`: see {@link attentionIn}. */
export function attentionOf(options: ProgressOptions, covered?: Set<string>): readonly AttentionItem[] {
  const facts = overviewFacts(options, EVERYTHING, options.lag?.());
  const mistakesOf = mistakesByInstance(facts.view.desired);
  return attentionIn({ role: 'administrator' }, { ...facts, ...concernedNow(facts), mistakesOf }, covered);
}

function concernedNow({ view: { rows }, refused, hasEntry, noticed, scope }: OverviewFacts) {
  const orphaned = hasEntry && rows.index.serversOfEntries((entry) => !hasEntry(entry));
  const unheard = noticed && rows.index.serversOfProxies((tags) => noticed.unheardSince(tags) !== undefined);
  return { held: heldItems(rows, refused, scope), needing: rows.index.needingPerson(), orphaned, unheard };
}

function buildOverview(by: Client, facts: OverviewFacts): Overview {
  const { view } = facts;
  const found = concernedNow(facts);
  const mistakesOf = mistakesByInstance(view.desired);
  const instances: Overview['instances'][number][] = [];
  for (const name of [...instanceNames(view)].sort(compareNames)) {
    if (!facts.scope.seesInstance(name)) continue;
    // What is away is told once, and not of each.
    const own = { ...facts, refused: undefined, mistakesOf, outages: {}, noticed: undefined };
    const { status, summary, counts } = explainWaits(name, by, own, 1);
    instances.push({ name, status, summary, counts });
  }
  const counts = new StateCounter();
  for (const [name, { state }] of view.rows.list('server')) facts.scope.seesServer(name) && counts.add(state);
  return {
    commit: view.desired.commit,
    newest: unfollowed(by, facts.refused),
    held: found.held,
    ...(by.role === 'proxy' ? {} : { author: facts.author ?? null, ...facts.outages }),
    ...replicaFacts(by, facts),
    ...firstOf(attentionIn(by, { ...facts, ...found, mistakesOf })),
    counts: counts.counts(),
    instances,
  };
}
