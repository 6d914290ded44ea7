// Tells which nodes run the record of a commit, and which an older one. Every replica answers it, from what the leader has recorded and the
// records of the present moment. See docs/rest.md, operations, and docs/concepts.md, delivered.
import { type Steps, sortNames, visitAll } from '../../base/steps.ts';
import { momentOf, shortOid } from '../../base/wording.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { recordedNodes } from '../../desired/node-records.ts';
import { type DeliveryJudgement, judgeDelivery, withPresent } from '../../machine/delivery.ts';
import { compareNames } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { DeliveryRow, RecordMark } from '../../model/rows.ts';
import type { DeliveryState } from '../../model/state.ts';
import { registryOf } from '../caller.ts';
import type { View } from '../views.ts';
import type { Delivered, DeliveredNode, DeliveryCounts } from './answers.ts';
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

interface Judged {
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

/** Returns work that finds how far the records of all nodes that report have come, or those of an instance. */
export function* judgeDelivered(
  { desired, rows, now }: View<DesiredState>,
  { instance, asked }: Pick<DeliveredQuery, 'instance'> & { readonly asked?: AskedCommit | undefined },
): Steps<{ readonly nodes: ReadonlyMap<string, Judged>; readonly counts: DeliveryCounts }> {
  const nodes = new Map<string, Judged>();
  const counts = { delivered: 0, outdated: 0, failed: 0, notReporting: 0 };
  const names = instance === null ? recordedNodes({ desired, rows }) : rows.index.serversOf(instance);
  yield* visitAll([...names], (name) => {
    const known = rows.read('delivery', name);
    const present = known && presentRecord({ desired, rows }, name);
    if (known === undefined || present === undefined) {
      counts.notReporting += 1;
      return;
    }
    const row = withPresent(known, { ...present, commit: desired.commit, time: momentOf(now) }, undefined);
    const judgement = judgeDelivery(row, asked?.isReached);
    counts[judgement.state] += 1;
    nodes.set(name, { row, judgement });
  });
  return { nodes, counts };
}

/** Returns work that finds a page of nodes. A proxy is told of no other client, and of no message. */
export function* findDelivered(
  by: Client,
  { states, after, limit, ...query }: DeliveredQuery & { readonly asked?: AskedCommit | undefined },
  view: View<DesiredState>,
): Steps<Delivered> {
  const { nodes, counts } = yield* judgeDelivered(view, query);
  const late = [...nodes].filter(([, { judgement }]) => judgement.state !== 'delivered');
  const matching = [...nodes.keys()].filter(
    (name) => compareNames(name, after) > 0 && states.includes(nodes.get(name)?.judgement.state ?? 'delivered'),
  );
  const page = (yield* sortNames(matching)).slice(0, limit);
  const { commit = null } = query.asked ?? {};
  return {
    commit,
    summary: summarize(counts, late, commit),
    counts,
    nodes: page.flatMap((name) => describe(by, name, nodes.get(name), view)),
    next: matching.length > page.length ? (page.at(-1) ?? null) : null,
  };
}

function describe(by: Client, name: string, judged: Judged | undefined, view: View<DesiredState>): DeliveredNode[] {
  if (judged === undefined) return [];
  const { row, judgement } = judged;
  const { records, fetched, applied, told } = row;
  const registered = registryOf(view.desired);
  const mark = ({ digest, by: serial, time }: RecordMark) => {
    const isShown = by.role !== 'proxy' || by.serial === serial;
    const client = isShown ? { client: serial, clientName: registered(serial)?.description ?? null } : {};
    return { digest, time, client: null, clientName: null, ...client };
  };
  const instance = view.rows.server(name)?.instance ?? null;
  const message = by.role === 'proxy' ? '' : told?.message;
  return [
    {
      ...{ name, instance, ...judgement, digest: records[0].digest },
      ...{ fetched: fetched && mark(fetched), applied: applied && mark(applied) },
      told: told && { ...mark(told), outcome: told.outcome, message: message ?? '' },
    },
  ];
}

/** Returns one sentence, such as `7 of 40 nodes still run the record before 3f2a1c0b4d5e: web-1, web-2, since …`. */
function summarize(
  { delivered, failed, notReporting }: DeliveryCounts,
  late: readonly (readonly [name: string, judged: Judged])[],
  commit: string | null,
): string {
  const silent = notReporting === 0 ? '' : `; ${notReporting} more ${notReporting === 1 ? 'does' : 'do'} not report`;
  const all = delivered + late.length;
  if (all === 0) return 'no node reports which record it runs';
  const wanted = commit === null ? 'present record' : `record of ${shortOid(commit)} or a later one`;
  if (late.length === 0) return `all ${all} nodes that report run their ${wanted}${silent}`;
  const befores = [...new Set(late.map(([, { judgement }]) => judgement.before))];
  const [before] = befores;
  const which = befores.length === 1 && before != null ? `the record before ${shortOid(before)}` : 'an older record';
  const names = late.map(([name]) => name).sort(compareNames);
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  const [since] = late.flatMap(([, { judgement }]) => judgement.since ?? []).sort();
  const when = since === undefined ? '' : `, since ${since}`;
  const bad = failed === 0 ? '' : `; on ${failed} it failed`;
  const verb = late.length === 1 ? 'runs' : 'run';
  return `${late.length} of ${all} nodes still ${verb} ${which}: ${names.slice(0, NAMED_MAX).join(', ')}${more}${when}${bad}${silent}`;
}
