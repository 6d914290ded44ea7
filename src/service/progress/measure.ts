// Measures the recorded state for metrics: servers and instances by state, commits, and held changes. Standbys measure
// it too.
import type { Metrics, SetGauge } from '../../base/metrics.ts';
import { openRemovals, removalsMax, serverCount } from '../../machine/removals.ts';
import { fieldOf } from '../../model/json.ts';
import { type Change, HOLD_KINDS, type ServerRow } from '../../model/rows.ts';
import type { DeleteBudget } from '../../model/settings.ts';
import { DELIVERY_STATES, type InstanceStatus, type State } from '../../model/state.ts';
import type { Ledger } from '../../reconcile/ledger.ts';
import { judgeDelivered } from '../deliveries/delivered.ts';
import { instanceNames, instanceStatus, type StallsOf } from '../read/instance-views.ts';
import { EVERYTHING } from '../scope.ts';
import { activeView, type View, type ViewSources } from '../views.ts';
import { heldItems } from './held-items.ts';

/** The sources of the measurements. */
export interface MeasuredSources extends ViewSources {
  readonly rows: Ledger;
  readonly stallsOf: StallsOf;
  readonly deleteBudget: DeleteBudget;
}

/** Sets the gauges of the recorded state. */
export function measureRecorded(sources: MeasuredSources, set: SetGauge): void {
  const { rows, now, deleteBudget, stallsOf } = sources;
  measureServers(sources, set);
  if (sources.desired() !== undefined) {
    measureInstances(activeView(sources), stallsOf, set);
    measureDelivered(activeView(sources), set);
  }
  measureCommits(sources, set);
  measureHeld(sources, set);
  const budget = removalsMax(deleteBudget, serverCount(rows, now()));
  set('treeline_delete_budget_left', {}, Math.max(0, budget - openRemovals(rows, now())));
}

function measureServers({ rows, now }: MeasuredSources, set: SetGauge): void {
  const states = new Map<State, { count: number; since: string }>();
  for (const row of rows.list('server').values()) {
    const known = states.get(row.state) ?? { count: 0, since: row.since };
    known.count += 1;
    // All times have the same length and zone, so text order is time order.
    if (row.since < known.since) known.since = row.since;
    states.set(row.state, known);
  }
  for (const [state, { count, since }] of states) {
    set('treeline_servers', { state }, count);
    set('treeline_server_state_oldest_seconds', { state }, secondsSince(since, now()));
  }
}

function measureInstances(view: View, stallsOf: StallsOf, set: SetGauge): void {
  const counts = new Map<InstanceStatus, number>();
  for (const name of instanceNames(view)) {
    const status = instanceStatus(view, name, stallsOf);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  for (const [status, count] of counts) set('treeline_instances', { status }, count);
}

function measureDelivered(view: View, set: SetGauge): void {
  const { counts } = judgeDelivered(view, { instance: null, scope: EVERYTHING });
  for (const state of DELIVERY_STATES) set('treeline_nodes_delivered', { state }, counts[state]);
  set('treeline_nodes_delivered', { state: 'not reporting' }, counts.notReporting);
}

function measureCommits({ desired, refused, now }: MeasuredSources, set: SetGauge): void {
  const followed = desired()?.commit;
  const newest = refused()?.commit ?? followed;
  if (followed !== undefined) set('treeline_commit_info', { position: 'followed', commit: followed }, 1);
  if (newest !== undefined) set('treeline_commit_info', { position: 'newest', commit: newest }, 1);
  set('treeline_commit_lag_seconds', {}, secondsSince(refused()?.since, now()));
}

function measureHeld({ rows, refused }: MeasuredSources, set: SetGauge): void {
  const items = heldItems(rows, refused(), EVERYTHING);
  for (const kind of HOLD_KINDS) set('treeline_held', { kind }, items.filter((item) => item.kind === kind).length);
  const servers = items.filter(({ instance }) => instance !== null).flatMap(({ resources }) => resources);
  set('treeline_deletes_held', {}, servers.length);
}

/** Counts the drift that a change of rows records: found by a check, and healed. */
export function countDrift(metrics: Metrics, change: Change): void {
  if (change.kind !== 'server') return;
  const { expected: before, value: after } = change;
  if (before === undefined || after === null) return;
  if (before.observed === undefined && after.observed !== undefined) metrics.count('treeline_drift_found_total', {});
  if (before.healing !== after.healing && hasNewHeal(before, after)) metrics.count('treeline_drift_heals_total', {});
}

/** Compares times, because old heals are dropped from the row. */
function hasNewHeal({ healing: known = {} }: ServerRow, { healing = {} }: ServerRow): boolean {
  return Object.entries(healing).some(([name, times]) => times.some((time) => !fieldOf(known, name)?.includes(time)));
}

/** Returns the seconds from `since` (RFC 3339) until now; 0 if undefined. */
export function secondsSince(since: string | undefined, now: number): number {
  return since === undefined ? 0 : Math.max(0, (now - Date.parse(since)) / 1000);
}
