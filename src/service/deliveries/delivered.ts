// Tells which nodes run the record of a commit, and which an older one. Every replica answers it, from what the leader has recorded and the
// records of the present moment. See docs/rest.md, operations, and docs/concepts.md, delivered.
import { momentOf, shortOid } from '../../base/wording.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { recordedNodes } from '../../desired/node-records.ts';
import { type DeliveryJudgement, judgeDelivery, withPresent } from '../../machine/delivery.ts';
import { compareNames } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { DeliveryRow, RecordMark } from '../../model/rows.ts';
import type { DeliveryState } from '../../model/state.ts';
import type { Delivered, DeliveredNode, DeliveryCounts } from '../answers.ts';
import { registryOf } from '../caller.ts';
import { seesOthers } from '../progress/why.ts';
import type { Scope } from '../scope.ts';
import type { View } from '../views.ts';
import { presentRecord } from './deliveries.ts';

/** The nodes that are asked for. */
export interface DeliveredQuery {
  /** Null: of every instance, and hand-written ones. */
  readonly instance: string | null;
  readonly states: readonly DeliveryState[];
  /** Only names that come after this one. */
  readonly after: string;
  /** The most nodes to return. */
  readonly limit: number;
}

/** A commit that is asked for, and what tells of another one whether that includes it. */
export interface AskedCommit {
  readonly commit: string;
  readonly isReached: (until: string) => boolean;
}

interface JudgedNode {
  readonly name: string;
  readonly row: DeliveryRow;
  readonly judgement: DeliveryJudgement;
}

/** So many nodes are named in a sentence. */
const NAMED_MAX = 5;
/** So many commits are asked of git. Records that were in force until others count as older than any. */
const UNTILS_MAX = 1_000;

/** Returns the commits until which former records of nodes were in force. */
export function formerUntils(rows: Iterable<DeliveryRow>): readonly string[] {
  const untils = new Set<string>();
  for (const { records } of rows) for (const { until } of records) if (until !== undefined) untils.add(until);
  return [...untils].slice(-UNTILS_MAX);
}

/** What is judged: the nodes that a client sees, of one instance or of all. */
interface JudgedQuery extends Pick<DeliveredQuery, 'instance'> {
  readonly asked?: AskedCommit | undefined;
  readonly scope: Scope;
}

/** Returns work that finds how far the records of all nodes that report have come, or those of an instance. */
export function judgeDelivered(
  { desired, rows, now }: View<DesiredState>,
  { instance, asked, scope }: JudgedQuery,
): { readonly nodes: ReadonlyMap<string, JudgedNode>; readonly counts: DeliveryCounts } {
  const nodes = new Map<string, JudgedNode>();
  const counts = { delivered: 0, outdated: 0, failed: 0, notReporting: 0 };
  const names = instance === null ? recordedNodes({ desired, rows }) : rows.index.serversOf(instance);
  for (const name of [...names]) {
    if (!scope.seesNode(name)) continue;
    const known = rows.read('delivery', name);
    const present = known && presentRecord({ desired, rows }, name);
    if (known === undefined || present === undefined) {
      counts.notReporting += 1;
      continue;
    }
    const row = withPresent(known, { ...present, commit: desired.commit, time: momentOf(now) }, undefined);
    const judgement = judgeDelivery(row, asked?.isReached);
    counts[judgement.state] += 1;
    nodes.set(name, { name, row, judgement });
  }
  return { nodes, counts };
}

/** Returns work that finds a page of nodes. A proxy is told of no other client, and of no message. */
export function findDelivered(
  by: Client,
  { states, after, limit, ...query }: DeliveredQuery & JudgedQuery,
  view: View<DesiredState>,
): Delivered {
  const { nodes, counts } = judgeDelivered(view, query);
  const sorted = [...nodes.keys()].sort(compareNames).flatMap((name) => nodes.get(name) ?? []);
  const late = sorted.filter(({ judgement }) => judgement.state !== 'delivered');
  const matching = sorted.filter(
    ({ name, judgement }) => states.includes(judgement.state) && compareNames(name, after) > 0,
  );
  const page = matching.slice(0, limit);
  const { commit = null } = query.asked ?? {};
  return {
    commit,
    summary: summarize(counts, late, commit),
    counts,
    nodes: page.map((judged) => describe(by, judged, view)),
    next: matching.length > page.length ? (page.at(-1)?.name ?? null) : null,
  };
}

function describe(by: Client, { name, row, judgement }: JudgedNode, view: View<DesiredState>): DeliveredNode {
  const { records, fetched, applied, told } = row;
  const registered = registryOf(view.desired);
  const mark = ({ digest, by: serial, time }: RecordMark) => {
    const client = seesOthers(by, serial)
      ? { client: serial, clientName: registered(serial)?.description ?? null }
      : {};
    return { digest, time, client: null, clientName: null, ...client };
  };
  const instance = view.rows.server(name)?.instance ?? null;
  const message = by.role === 'proxy' ? '' : told?.message;
  return {
    ...{ name, instance, ...judgement, digest: records[0].digest },
    ...{ fetched: fetched && mark(fetched), applied: applied && mark(applied) },
    told: told && { ...mark(told), outcome: told.outcome, message: message ?? '' },
  };
}

/** Returns one sentence, such as `7 of 40 nodes still run the record before 3f2a1c0b4d5e: web-1, web-2, since …`. */
function summarize(
  { delivered, failed, notReporting }: DeliveryCounts,
  late: readonly JudgedNode[],
  commit: string | null,
): string {
  const silent = notReporting === 0 ? '' : `; ${notReporting} more ${notReporting === 1 ? 'does' : 'do'} not report`;
  const all = delivered + late.length;
  if (all === 0) return 'no node reports which record it runs';
  const wanted = commit === null ? 'present record' : `record of ${shortOid(commit)} or a later one`;
  const good = all === 1 ? 'the one node that reports runs its' : `all ${all} nodes that report run their`;
  if (late.length === 0) return `${good} ${wanted}${silent}`;
  const names = late.slice(0, NAMED_MAX).map(({ name }) => name);
  const more = late.length > NAMED_MAX ? ` and ${late.length - NAMED_MAX} more` : '';
  const since = oldestSince(late);
  const when = since === undefined ? '' : `, since ${since}`;
  const bad = failed === 0 || failed === late.length ? '' : `; on ${failed} it failed`;
  return `${late.length} of ${all} nodes ${whyLate(late)}: ${names.join(', ')}${more}${when}${bad}${silent}`;
}

/** Returns what nodes do that do not run their record, no more than is known of all of them. */
function whyLate(late: readonly JudgedNode[]): string {
  const isOne = late.length === 1;
  if (late.every(({ judgement }) => judgement.state === 'failed'))
    return `could not apply ${isOne ? 'its record' : 'their records'}`;
  if (late.every(({ row }) => row.applied === null && row.told === null))
    return `${isOne ? 'has' : 'have'} confirmed no record`;
  const [before, ...others] = new Set(late.map(({ judgement }) => judgement.before));
  const isKnown = others.length === 0 && before != null;
  return `still ${isOne ? 'runs' : 'run'} ${isKnown ? `the record before ${shortOid(before)}` : 'an older record'}`;
}

/** Returns since when the record of that node is not delivered for which that is longest; undefined where it is not known of any. */
export function oldestSince(nodes: Iterable<JudgedNode>): string | undefined {
  let oldest: string | undefined;
  for (const { judgement } of nodes) {
    const { state, since } = judgement;
    // All are of one length and zone, so that the order of the texts is that of the times.
    if (state !== 'delivered' && since !== null && (oldest === undefined || since < oldest)) oldest = since;
  }
  return oldest;
}
