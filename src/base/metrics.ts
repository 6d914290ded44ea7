// Counts and measures in one process, and writes all metrics in Prometheus' text format. model/metrics.ts lists them.
// The only file that imports the Prometheus client. ARCHITECTURE.md, "Metrics".
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { type LabelsOf, METRICS, type MetricDefinition, type MetricName, type MetricOfKind } from '../model/metrics.ts';

type Values = Readonly<Record<string, string>>;

/** Sets a gauge to a value. */
export type SetGauge = <Name extends MetricOfKind<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number) => void;

/**
 * A function that sets gauges to their current values. A gauge that is not set is 0, or has no series if a label is
 * open.
 */
export type Measure = (set: SetGauge) => void;

/** The resolution of the event loop delay. The timer costs little. */
const DELAY_RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;

/** The metrics of one process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter<string>>();
  readonly #gauges = new Map<string, Gauge<string>>();
  readonly #histograms = new Map<string, Histogram<string>>();
  /** The shown series by metric. Metrics with open labels have a limit. */
  readonly #shown = new Map<string, Set<string>>();
  readonly #measures = new Set<Measure>();
  readonly #delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  #cpuSeconds = 0;

  constructor() {
    for (const [name, { kind, help, labels, buckets = [] }] of Object.entries<MetricDefinition>(METRICS)) {
      const shape = { name, help, labelNames: Object.keys(labels), registers: [this.#registry] };
      if (kind === 'counter') this.#counters.set(name, new Counter(shape));
      else if (kind === 'gauge') this.#gauges.set(name, new Gauge(shape));
      else this.#histograms.set(name, new Histogram({ ...shape, buckets: [...buckets] }));
      this.#announce(name, {});
    }
    this.#delays.enable();
  }

  /** Shows series with these labels from now on, beginning with 0. */
  announce<Name extends MetricOfKind<'counter' | 'histogram'>>(name: Name, labels: Partial<LabelsOf<Name>>): void {
    this.#announce(name, labels as Values);
  }

  /** Adds to a counter. */
  count<Name extends MetricOfKind<'counter'>>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.#counters.get(name)?.inc(this.#within(name, labels), by);
  }

  /** Adds a value to a histogram. */
  observe<Name extends MetricOfKind<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#histograms.get(name)?.observe(this.#within(name, labels), value);
  }

  /** Calls `measure` at each scrape, until the returned function is called. */
  measure(measure: Measure): () => void {
    this.#measures.add(measure);
    return () => void this.#measures.delete(measure);
  }

  /** Resolves with all metrics in Prometheus' text format. Gauges are set in one turn. */
  async text(): Promise<string> {
    for (const [name, gauge] of this.#gauges) {
      gauge.reset();
      this.#shown.delete(name);
      this.#announce(name, {});
    }
    const set: SetGauge = (name, labels, value) => this.#gauges.get(name)?.set(this.#within(name, labels), value);
    for (const measure of [...this.#measures]) measure(set);
    this.#measureProcess(set);
    return await this.#registry.metrics();
  }

  /** Stops measuring. */
  stop(): void {
    this.#delays.disable();
  }

  /** Sets a series for each combination of the known values to 0. */
  #announce(name: string, fixed: Values): void {
    const { labels }: MetricDefinition = METRICS[name as MetricName];
    const [open] = Object.entries(labels).filter(([label]) => !Object.hasOwn(fixed, label));
    if (open !== undefined) {
      const [label, values] = open;
      for (const value of 'known' in values ? values.known : values) this.#announce(name, { ...fixed, [label]: value });
      return;
    }
    const within = this.#within(name, fixed);
    this.#counters.get(name)?.inc(within, 0);
    this.#gauges.get(name)?.set(within, 0);
    this.#histograms.get(name)?.zero(within);
  }

  /** Returns the labels, with `other` for open labels beyond the limit: strangers could cause any number of series. */
  #within(name: string, given: object): Values {
    const labels = given as Values;
    const { seriesMax, labels: defined }: MetricDefinition = METRICS[name as MetricName];
    if (seriesMax === undefined) return labels;
    const shown = this.#shown.get(name) ?? new Set();
    this.#shown.set(name, shown);
    const key = JSON.stringify(labels);
    if (shown.has(key) || shown.size < seriesMax) {
      shown.add(key);
      return labels;
    }
    const open = Object.keys(labels).filter((label) => 'known' in (defined[label] ?? {}));
    return { ...labels, ...Object.fromEntries(open.map((label) => [label, 'other'])) };
  }

  #measureProcess(set: SetGauge): void {
    const delays = this.#delays;
    const secondsAt = (percentile: number): number =>
      delays.count === 0 ? 0 : delays.percentile(percentile) / NANOSECONDS;
    for (const percentile of METRICS.treeline_event_loop_delay_seconds.labels.percentile) {
      set('treeline_event_loop_delay_seconds', { percentile }, secondsAt(Number(percentile)));
    }
    delays.reset();
    const { user, system } = process.cpuUsage();
    const cpuSeconds = (user + system) / 1e6;
    this.count('process_cpu_seconds_total', {}, cpuSeconds - this.#cpuSeconds);
    this.#cpuSeconds = cpuSeconds;
    set('process_resident_memory_bytes', {}, process.memoryUsage.rss());
    set('process_start_time_seconds', {}, performance.timeOrigin / 1000);
  }
}
