// Opens the metrics of a process, and registers the gauges. Parts that count get the metrics as an option.
import type { Clock } from '../base/clock.ts';
import { Metrics, type SetGauge } from '../base/metrics.ts';
import { productVersion } from '../base/product-files.ts';
import { registeredProxies } from '../follow/current-state.ts';
import { METRICS } from '../model/metrics.ts';
import type { Settings } from '../model/settings.ts';
import type { RegisteredProxy } from '../reconcile/waits/proxy-presence.ts';
import { stallsIn } from '../reconcile/waits/wait-graph.ts';
import type { AttentionItem } from '../service/answers.ts';
import type { AttentionWatch } from '../service/progress/attention-watch.ts';
import { countDrift, measureRecorded, secondsSince } from '../service/progress/measure.ts';
import type { Store } from '../store/store.ts';
import type { WiredCore } from './core.ts';
import type { SharedParts } from './open-parts.ts';
import type { PresentRole } from './present-role.ts';
import type { RoleParts } from './replica.ts';

/** Returns the metrics of a process, with one for its role; `opened` ends them. */
export function openMetrics(
  settings: Settings,
  { present, opened }: Pick<SharedParts, 'opened'> & { readonly present: PresentRole },
): Metrics {
  const metrics = opened.adopt(new Metrics(), async (it) => it.stop());
  for (const { name } of settings.execution.providers) {
    metrics.announce('treeline_provider_calls_total', { entry: name });
    metrics.announce('treeline_provider_call_duration_seconds', { entry: name });
  }
  const { id, replica } = settings;
  const build = { version: productVersion(), node: process.version, id, replica: replica.name };
  metrics.measure((set) => {
    set('treeline_build_info', build, 1);
    set('treeline_ready', {}, present.ready() === true ? 1 : 0);
    set('treeline_leader', {}, present.leads() === true ? 1 : 0);
    return undefined;
  });
  return metrics;
}

/** Adds the metrics of all roles: those of recorded rows. */
export function measureReplica({ settings, replica, seen, clock, metrics }: RoleParts): void {
  const { ledger, current } = replica.shown;
  const sources = {
    rows: ledger,
    desired: () => current.get(),
    refused: () => current.refused,
    now: () => clock.now(),
    notReadyReason: () => '',
    stallsOf: stallsIn(ledger, clock),
    deleteBudget: settings.execution.deleteBudget,
  };
  const proxies = registeredProxies(current);
  metrics.measure((set) => measureRecorded(sources, set));
  metrics.measure((set) => {
    set('treeline_fencing_number', {}, replica.database?.lease.fencing ?? 0);
    measureProxies(proxies() ?? [], (serial) => seen.of(serial, ledger)?.lastSeen, set);
    return undefined;
  });
}

/** Measures proxies by tag. A proxy counts for each of its tags, or for the tag "" if it has none. */
function measureProxies(
  proxies: readonly RegisteredProxy[],
  lastSeen: (serial: string) => string | undefined,
  set: SetGauge,
): void {
  const byTag = new Map<string, { count: number; seen: string | undefined }>();
  for (const { serial, tags } of proxies) {
    const seen = lastSeen(serial);
    for (const tag of new Set(tags.length === 0 ? [''] : tags)) {
      const known = byTag.get(tag) ?? { count: 0, seen };
      known.count += 1;
      // All times have the same length and zone, so text order is time order.
      if (seen !== undefined && (known.seen ?? '') < seen) known.seen = seen;
      byTag.set(tag, known);
    }
  }
  for (const [tag, { count, seen }] of byTag) {
    set('treeline_proxies', { tag }, count);
    if (seen !== undefined) set('treeline_proxy_last_seen_timestamp_seconds', { tag }, Date.parse(seen) / 1000);
  }
}

interface MeasuredLeader extends WiredCore {
  readonly store: Store;
  readonly attention: Pick<AttentionWatch, 'items'>;
  readonly clock: Clock;
}

/** Adds the metrics of a leader, until the returned function is called. */
export function measureLeader(
  metrics: Metrics,
  { ledger, reconciler, follower, store, attention, clock }: MeasuredLeader,
): () => void {
  ledger.watch((change) => countDrift(metrics, change));
  return metrics.measure((set) => {
    for (const [kind, count] of reconciler.countWaits()) set('treeline_waits', { kind }, count);
    set('treeline_repository_outage_seconds', {}, secondsSince(follower.failure?.since, clock.now()));
    set('treeline_store_outage_seconds', {}, secondsSince(store.failure?.since, clock.now()));
    measureAttention(attention.items()?.values() ?? [], set);
  });
}

function measureAttention(items: Iterable<AttentionItem>, set: SetGauge): void {
  const counts = new Map(METRICS.treeline_attention.labels.kind.map((kind) => [kind, { open: 0, known: 0 }]));
  for (const { kind, instances, acknowledged } of items) {
    const count = counts.get(kind);
    if (count !== undefined) count[acknowledged === null ? 'open' : 'known'] += 1;
    if (acknowledged !== null) continue;
    for (const instance of instances) set('treeline_instance_attention', { instance, kind }, 1);
  }
  for (const [kind, { open, known }] of counts) {
    set('treeline_attention', { kind, acknowledged: 'false' }, open);
    set('treeline_attention', { kind, acknowledged: 'true' }, known);
  }
}
