// The reads of progress: why instances and servers wait, and what needs an operator. See docs/rest.md, operations.

import type { DesiredState } from '../../desired/desired-state.ts';
import { isBeingRemoved, isConverged } from '../../machine/existence.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { instanceAddress } from '../../model/address.ts';
import { isValidEntry } from '../../model/entry.ts';
import { compareNames } from '../../model/names.ts';
import type { Client, Hierarchy } from '../../model/objects.ts';
import type { ServerRow } from '../../model/rows.ts';
import type {
  AttentionItem,
  FoundRecovery,
  Overview,
  OverviewInstance,
  RecoveredInstance,
  RecoveredServers,
  Recovery,
  ServerDetails,
  ServerPage,
  Why,
} from '../answers.ts';
import { deliveredNode } from '../deliveries/delivered.ts';
import { instanceNames, requireInstance } from '../read/instance-views.ts';
import { Scope } from '../scope.ts';
import { activeView, type PresentRows, type View } from '../views.ts';
import { attentionIn, firstOf } from './attention.ts';
import { type Causes, causesOf, outerCauses, unfollowed } from './causes.ts';
import { type Facts, factsFor, type ProgressOptions } from './facts.ts';
import { authorOf, heldItems } from './held-items.ts';
import { countStates } from './server-items.ts';
import { describeOne, findServers, type ServerQuery } from './server-list.ts';
import { causesByInstance, explainWaits, replicaFacts, STATUS_KINDS } from './why.ts';

/**
 * Returns the reads of progress. Each client gets only what it sees. `lag`: of the replica that received the request,
 * if it forwarded the request to this one.
 */
export function progressReads(options: ProgressOptions) {
  return {
    /** Returns the reasons why an instance is not done. */
    why(by: Client, instance: string, lag = options.lag?.()): Why {
      const facts = factsFor(by, options, lag);
      requireInstance(facts.view, instance, facts);
      const causes = causesByInstance(outerCauses(facts))(instance);
      return { ...explainWaits({ name: instance, causes }, facts), ...replicaFacts(facts) };
    },
    /** Returns the progress of all instances, and the followed commit. */
    overview(by: Client, lag = options.lag?.()): Overview {
      return buildOverview(factsFor(by, options, lag), options.desired());
    },
    /** Returns what a recovery found about the servers that a client sees; null if there is no recovery. */
    recovery(by: Client): FoundRecovery {
      return { recovery: recoveryIn(options.rows, new Scope(by, options)) };
    },
    /** Returns a page of servers. */
    servers(by: Client, query: ServerQuery): ServerPage {
      const facts = factsFor(by, options);
      if (query.instance !== null) requireInstance(facts.view, query.instance, facts);
      return findServers(query, facts);
    },
    /** Returns one server with its wanted and applied properties. */
    server(by: Client, name: string): ServerDetails {
      const facts = factsFor(by, options);
      const server = describeOne(name, facts, hierarchyIn(options.desired()));
      const delivered = deliveredNode(name, facts.scope, activeView(options));
      return { ...server, ...(delivered && { delivered }) };
    },
  };
}

function hierarchyIn(desired: DesiredState | undefined): Hierarchy | undefined {
  const entry = desired?.catalog.hierarchy;
  return entry !== undefined && isValidEntry(entry) ? entry.object : undefined;
}

/** Everything that needs an operator, as administrators see it. */
export interface AllAttention extends Pick<Causes, 'covered'> {
  readonly items: readonly AttentionItem[];
}

/** Returns all causes that need an operator, each with all of its instances. */
export function attentionOf(options: ProgressOptions): AllAttention {
  const facts = factsFor(undefined, options, options.lag?.());
  const { causes, covered } = causesOf(facts);
  return { items: attentionIn(causes, facts), covered };
}

function buildOverview(facts: Facts, desired: DesiredState | undefined): Overview {
  const { view, scope, refused } = facts;
  const author = scope.seesClients ? authorOf(view.desired.commit, view.rows) : null;
  const { causes } = causesOf(facts);
  const causesIn = causesByInstance(causes, STATUS_KINDS);
  const seen = [...instanceNames(view)].sort(compareNames).filter((name) => scope.seesInstance(name));
  const instances = seen.map((name) => {
    // Silent entries have a cause of their own, so their servers do not repeat it.
    const own = { ...facts, noticed: facts.noticed && { ...facts.noticed, unansweredOf: () => undefined } };
    const { status, summary, counts } = explainWaits({ name, causes: causesIn(name) }, own, 1);
    return { name, status, summary, counts, ...whereWritten(name, desired), ...versionOf(name, view) };
  });
  const servers = [...view.rows.list('server')].filter(([name]) => scope.seesServer(name));
  return {
    commit: view.desired.commit,
    newest: unfollowed(scope, refused),
    held: heldItems(view.rows, refused, scope),
    ...(scope.isProxy ? {} : { author, committed: desired?.catalog.time ?? null }),
    ...replicaFacts(facts),
    ...firstOf(attentionIn(causes, facts)),
    counts: countStates(servers.map(([, { state }]) => state)),
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

function versionOf(name: string, { rows }: View): Pick<OverviewInstance, 'commit'> {
  const commit = rows.read('pinned', instanceAddress(name))?.commit;
  return commit ? { commit } : {};
}

/** Returns the current recovery with the servers that a client sees; null if there is none. */
function recoveryIn(rows: PresentRows, scope: Scope): Recovery | null {
  const row = rows.read('recovery', RECOVERY);
  if (row === undefined) return null;
  const byInstance = new Map<string, Map<keyof RecoveredServers, string[]>>();
  for (const name of [...rows.list('server').keys()].sort(compareNames)) {
    const server = scope.seesServer(name) ? rows.server(name) : undefined;
    if (server === undefined) continue;
    const found = byInstance.get(server.instance) ?? new Map<keyof RecoveredServers, string[]>();
    byInstance.set(server.instance, found);
    const names = found.get(groupOf(server)) ?? [];
    found.set(groupOf(server), names);
    names.push(name);
  }
  const instances = [...byInstance.keys()].sort(compareNames).map((instance): RecoveredInstance => {
    const named = Object.fromEntries(byInstance.get(instance) ?? []);
    return { instance, isHeld: rows.read('held', instance) !== undefined, ...NO_SERVERS, ...named };
  });
  return { ...row, instances };
}

const NO_SERVERS: RecoveredServers = {
  found: [],
  drifted: [],
  waiting: [],
  unchecked: [],
  create: [],
  update: [],
  replace: [],
  delete: [],
};

function groupOf(row: ServerRow): keyof RecoveredServers {
  const { wanted, state, applied, checked, replacing } = row;
  if (wanted === null) return isBeingRemoved(row) ? 'delete' : 'found';
  if (state === 'blocked') return 'waiting';
  if (state === 'unknown') return 'unchecked';
  if (applied === null) return checked ? 'create' : 'unchecked';
  if (state === 'drifted') return 'drifted';
  if (replacing) return 'replace';
  return isConverged(row) ? 'found' : 'update';
}
