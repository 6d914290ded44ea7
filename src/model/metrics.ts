// Lists the metrics at /metrics: names, kinds, help and labels. docs/operate.md has the same table, and a test compares
// both. base/metrics.ts counts and writes them.
import { ROLES } from './names.ts';
import { HOLD_KINDS } from './rows.ts';
import { DELIVERY_STATES, INSTANCE_STATUSES, STATES } from './state.ts';

/** The values of a label: all values, or the known ones of an open set. These are shown from the start. */
export type LabelValues = readonly string[] | { readonly known: readonly string[] };

type Labels = Readonly<Record<string, LabelValues>>;

interface Limits {
  /**
   * The most series of a metric with an open label; a histogram counts as one. Further open label values become
   * `other`.
   */
  readonly seriesMax?: number;
  /** The upper bounds of a histogram, without infinity. */
  readonly buckets?: readonly number[];
}

/** One metric. */
export interface MetricDefinition<
  Kind extends string = 'counter' | 'gauge' | 'histogram',
  Named extends Labels = Labels,
> extends Limits {
  readonly kind: Kind;
  readonly help: string;
  readonly labels: Named;
}

const define =
  <const Kind extends string>(kind: Kind) =>
  <const Named extends Labels>(help: string, labels: Named, limits: Limits = {}): MetricDefinition<Kind, Named> => ({
    kind,
    help,
    labels,
    ...limits,
  });
const [counter, gauge, histogram] = [define('counter'), define('gauge'), define('histogram')];

const open = (...known: readonly string[]) => ({ known });
const OPERATIONS = ['check', 'create', 'update', 'delete'] as const;
const WAITS = [
  ...['dependency', 'holder', 'slot', 'capacity', 'failures', 'instance'],
  ...['output', 'budget', 'site', 'time'],
] as const;

const ATTENTION = [
  ...['store', 'leader', 'recovery', 'repository', 'commit', 'held', 'gone', 'provider', 'proxies'],
  ...['programs', 'invalid', 'cycle', 'failed', 'lost', 'blocked'],
  ...['drifted', 'unchecked', 'unapplied', 'entry', 'certificate', 'replicas', 'statuses', 'notifications', 'audit'],
] as const;

/** All metrics, by name. Their limits keep them below 5,000 series for any number of servers. */
export const METRICS = {
  treeline_build_info: gauge(
    '1, with the versions of program and Node, the id of the controller, and the replica',
    { version: open(), node: open(), id: open(), replica: open() },
    { seriesMax: 1 },
  ),
  treeline_ready: gauge('1 while reads are served (/readyz)', {}),
  treeline_leader: gauge('1 on the leader (/leaderz)', {}),
  treeline_fencing_number: gauge('Fencing number of the lease; 0 on standbys', {}),
  treeline_servers: gauge('Recorded servers by state', { state: STATES }),
  treeline_server_state_oldest_seconds: gauge('Longest time that a server has been in this state; 0 without one', {
    state: STATES,
  }),
  treeline_instances: gauge('Stack instances by status', { status: INSTANCE_STATUSES }),
  treeline_nodes_delivered: gauge('Nodes by whether they confirmed their current record', {
    state: [...DELIVERY_STATES, 'not reporting'],
  }),
  treeline_commit_info: gauge(
    '1, with the followed commit and the newest one',
    { position: ['followed', 'newest'], commit: open() },
    { seriesMax: 2 },
  ),
  treeline_commit_lag_seconds: gauge('For how long the newest commit is refused; 0 if it is followed', {}),
  treeline_polls_total: counter('Polls of the branch by outcome for the newest commit', {
    outcome: ['unchanged', 'followed', 'refused', 'failed'],
  }),
  treeline_fetches_total: counter('Fetches of the branch', { outcome: ['succeeded', 'failed'] }),
  treeline_repository_outage_seconds: gauge('For how long the branch cannot be read; 0 if it can', {}),
  treeline_store_outage_seconds: gauge('For how long the store cannot be written; 0 if it can', {}),
  treeline_store_commit_duration_seconds: histogram(
    'Duration of commits of the store',
    {},
    { buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5] },
  ),
  treeline_passes_total: counter('Passes over servers', { outcome: ['succeeded', 'failed'] }),
  treeline_provider_calls_total: counter(
    'Ended provider calls; "none": without an answer',
    {
      entry: open(),
      operation: OPERATIONS,
      outcome: ['done', 'absent', 'replace', 'retryable', 'failed', 'lost', 'none'],
    },
    { seriesMax: 700 },
  ),
  treeline_provider_call_duration_seconds: histogram(
    'Duration of provider calls',
    { entry: open(), operation: OPERATIONS },
    { seriesMax: 80, buckets: [0.1, 1, 5, 30, 60, 300, 900, 3600] },
  ),
  treeline_resync_woken_total: counter('Servers that only the resync enqueued; more than 0 is a defect', {}),
  treeline_waits: gauge('Waiting servers, by cause', { kind: WAITS }),
  treeline_held: gauge('Held changes by kind', {
    kind: HOLD_KINDS,
  }),
  treeline_deletes_held: gauge('Servers whose delete or replacement is held', {}),
  treeline_delete_budget_left: gauge('Servers that may be deleted or replaced now without an approval', {}),
  treeline_attention: gauge('Causes that need an operator', {
    kind: ATTENTION,
    acknowledged: ['false', 'true'],
  }),
  treeline_instance_attention: gauge(
    '1 if an instance has an unacknowledged cause',
    { instance: open(), kind: ATTENTION },
    { seriesMax: 500 },
  ),
  treeline_drift_found_total: counter('Idle servers that a check found gone or changed', {}),
  treeline_drift_heals_total: counter('Started corrections of drift', {}),
  treeline_proxies: gauge('Registered proxies by tag; "" without tags', { tag: open() }, { seriesMax: 100 }),
  treeline_proxy_last_seen_timestamp_seconds: gauge(
    'When a proxy with this tag was seen last, in seconds since 1970',
    { tag: open() },
    { seriesMax: 100 },
  ),
  treeline_writes_total: counter('Writes of objects by outcome', {
    outcome: ['written', 'conflict', 'refused', 'unavailable', 'unknown'],
  }),
  treeline_http_requests_total: counter(
    'Answered REST requests; route "unknown": before a route was found; role "none": no registered client',
    { route: open(), role: [...ROLES, 'none'], code: open() },
    { seriesMax: 1_500 },
  ),
  treeline_http_request_duration_seconds: histogram(
    'Duration of REST requests, waits included',
    { route: open() },
    { seriesMax: 80, buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 30] },
  ),
  treeline_refused_certificates_total: counter(
    'Refused certificates',
    {
      reason: open(
        ...['CERT_HAS_EXPIRED', 'CERT_REVOKED', 'CRL_HAS_EXPIRED', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
        ...['client_not_registered', 'fingerprint_mismatch', 'certificate_expired'],
      ),
    },
    { seriesMax: 40 },
  ),
  treeline_event_loop_delay_seconds: gauge('Delay of the event loop since the last scrape', {
    percentile: ['50', '99', '100'],
  }),
  process_cpu_seconds_total: counter('Processor time of the process', {}),
  process_resident_memory_bytes: gauge('Memory of the process', {}),
  process_start_time_seconds: gauge('Start of the process, in seconds since 1970', {}),
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** The name of a metric. */
export type MetricName = keyof typeof METRICS;

/** The metrics of one kind. */
export type MetricOfKind<Kind extends MetricDefinition['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** The labels of a metric with one value each. */
export type LabelsOf<Name extends MetricName> = {
  readonly [Label in keyof (typeof METRICS)[Name]['labels']]: (typeof METRICS)[Name]['labels'][Label] extends readonly (infer Value)[]
    ? Value
    : string;
};
