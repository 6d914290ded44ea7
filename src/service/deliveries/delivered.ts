// Finds the nodes that run the record of a commit, and those that run an older one. Every replica answers from the
// current records and the confirmations that the leader recorded. See docs/rest.md, operations, and
// docs/concepts.md, delivered.
import { shortOid } from '../../base/wording.ts';
import { recordedNodes } from '../../desired/node-records.ts';
import { compareNames } from '../../model/names.ts';
import type { DeliveryRow } from '../../model/rows.ts';
import type { DeliveryState } from '../../model/state.ts';
import type { Delivered, DeliveredNode, DeliveryCounts } from '../answers.ts';
import { registryOf } from '../caller.ts';
import type { Scope } from '../scope.ts';
import type { View } from '../views.ts';
import { presentRecord } from './deliveries.ts';

/** The requested nodes. */
export interface DeliveredQuery {
  /** Null for the nodes of all instances and the hand-written ones. */
  readonly instance: string | null;
  readonly states: readonly DeliveryState[];
  /** Only names that come after this one. */
  readonly after: string;
  /** The most nodes to return. */
  readonly limit: number;
}

/** The requested commit, and a predicate: does another commit contain it? */
export interface AskedCommit {
  readonly commit: string;
  readonly isReached: (commit: string) => boolean;
}

interface JudgedNode {
  readonly name: string;
  readonly row: DeliveryRow;
  readonly state: DeliveryState;
  /** Digest of the current record. */
  readonly digest: string;
}

/** The most names in a sentence. */
const NAMED_MAX = 5;
/** The limit of commits that git compares. Records that were confirmed at other commits count as older. */
const COMMITS_MAX = 1_000;

/** Returns the commits at which nodes confirmed their record. */
export function confirmedCommits(rows: Iterable<DeliveryRow>): readonly string[] {
  const commits = new Set<string>();
  for (const { commit } of rows) if (commit !== null) commits.add(commit);
  return [...commits].slice(-COMMITS_MAX);
}

/** The nodes to judge: those that a client sees, of one instance or of all. */
interface JudgedQuery extends Pick<DeliveredQuery, 'instance'> {
  readonly asked?: AskedCommit | undefined;
  readonly scope: Scope;
}

/** Returns the delivery state of each node that reports: of one instance, or of all. */
export function judgeDelivered(
  { desired, rows }: View,
  { instance, asked, scope }: JudgedQuery,
): { readonly nodes: ReadonlyMap<string, JudgedNode>; readonly counts: DeliveryCounts } {
  const nodes = new Map<string, JudgedNode>();
  const counts = { delivered: 0, outdated: 0, failed: 0, notReporting: 0 };
  const names = instance === null ? recordedNodes({ desired, rows }) : rows.index.serversOf(instance);
  for (const name of names) {
    if (!scope.seesNode(name)) continue;
    const row = rows.read('delivery', name);
    const present = row && presentRecord({ desired, rows }, name);
    if (row === undefined || present === undefined) {
      counts.notReporting += 1;
      continue;
    }
    const state = stateOf(row, present, asked);
    counts[state] += 1;
    nodes.set(name, { name, row, state, digest: present.digest });
  }
  return { nodes, counts };
}

/** A server that was created again has applied nothing. */
function stateOf(
  { digest, commit, incarnation, outcome }: DeliveryRow,
  present: Pick<DeliveryRow, 'digest' | 'incarnation'>,
  asked: AskedCommit | undefined,
): DeliveryState {
  if (incarnation !== present.incarnation) return 'outdated';
  if (outcome !== 'applied') return outcome === 'failed' ? 'failed' : 'outdated';
  const isWanted = digest === present.digest || (commit !== null && asked?.isReached(commit) === true);
  return isWanted ? 'delivered' : 'outdated';
}

/** Returns the last confirmation of a node, as a client sees it; undefined if there is none. */
export function deliveredNode(name: string, scope: Scope, view: View): DeliveredNode | undefined {
  const row = view.rows.read('delivery', name);
  const present = row && presentRecord(view, name);
  if (row === undefined || present === undefined) return undefined;
  return describe({ name, row, state: stateOf(row, present, undefined), digest: present.digest }, scope, view);
}

/** Returns a page of nodes. A proxy sees no other client, and no message. */
export function findDelivered({ states, after, limit, ...query }: DeliveredQuery & JudgedQuery, view: View): Delivered {
  const { nodes, counts } = judgeDelivered(view, query);
  const sorted = [...nodes.keys()].sort(compareNames).flatMap((name) => nodes.get(name) ?? []);
  const late = sorted.filter(({ state }) => state !== 'delivered');
  const matching = sorted.filter(({ name, state }) => states.includes(state) && compareNames(name, after) > 0);
  const page = matching.slice(0, limit);
  const { commit = null } = query.asked ?? {};
  return {
    commit,
    summary: summarize(counts, late, commit),
    counts,
    nodes: page.map((judged) => describe(judged, query.scope, view)),
    next: matching.length > page.length ? (page.at(-1)?.name ?? null) : null,
  };
}

function describe({ name, row, state, digest }: JudgedNode, scope: Scope, view: View): DeliveredNode {
  const client = scope.seesPerson(row.by) ? row.by : null;
  const clientName = client === null ? null : (registryOf(view.desired)(client)?.description ?? null);
  const { time, outcome } = row;
  const message = scope.isProxy ? '' : row.message;
  const instance = view.rows.server(name)?.instance ?? null;
  return {
    name,
    instance,
    state,
    digest,
    confirmed: { digest: row.digest, time, client, clientName, outcome, message },
  };
}

/**
 * Returns one sentence, such as `7 of 40 nodes have not applied their record of 3f2a1c0b4d5e or a later one: web-1,
 * web-2`.
 */
function summarize(
  { delivered, failed, notReporting }: DeliveryCounts,
  late: readonly JudgedNode[],
  commit: string | null,
): string {
  const silent = notReporting === 0 ? '' : `; ${notReporting} more ${notReporting === 1 ? 'does' : 'do'} not report`;
  const all = delivered + late.length;
  if (all === 0) return 'no node reports which record it runs';
  const wanted = commit === null ? 'current record' : `record of ${shortOid(commit)} or a later one`;
  const good = all === 1 ? 'the one node that reports runs its' : `all ${all} nodes that report run their`;
  if (late.length === 0) return `${good} ${wanted}${silent}`;
  const names = late.slice(0, NAMED_MAX).map(({ name }) => name);
  const more = late.length > NAMED_MAX ? ` and ${late.length - NAMED_MAX} more` : '';
  const isOne = late.length === 1;
  const [have, their] = isOne ? ['has', 'its'] : ['have', 'their'];
  const verb = failed === late.length ? 'could not apply' : `${have} not applied`;
  const bad = failed === 0 || failed === late.length ? '' : `; on ${failed} it failed`;
  return `${late.length} of ${all} nodes ${verb} ${their} ${wanted}: ${names.join(', ')}${more}${bad}${silent}`;
}
