// Counts what happens in a process, and writes all metrics as the text that Prometheus reads. model/metrics.ts lists them. The only
// file that imports the Prometheus client. docs/decisions/0049-metrics.md.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import {
  type LabelsOf,
  type LabelValues,
  METRICS,
  type MetricDefinition,
  type MetricName,
  type MetricOfKind,
} from '../model/metrics.ts';

type Values = Readonly<Record<string, string>>;

/** Sets a gauge to a value. */
export type SetGauge = <Name extends MetricOfKind<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number) => void;

/** Work that sets gauges to what they are now. A gauge that nobody sets is 0, or has no series where a label is open. */
export type Measure = (set: SetGauge) => void;

/** Node measures no finer than that; the timer costs little. */
const DELAY_RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;

/** The metrics of one process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #series = new Map<string, Series>();
  readonly #measures = new Set<Measure>();
  readonly #delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  #cpuSeconds = 0;

  constructor() {
    for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
      this.#series.set(name, new Series(name, definition, this.#registry));
    }
    this.#delays.enable();
  }

  /** Shows series with these labels from now on, at 0. */
  announce<Name extends MetricOfKind<'counter' | 'histogram'>>(name: Name, labels: Partial<LabelsOf<Name>>): void {
    this.#of(name).announce(labels as Values);
  }

  /** Adds to a counter. Labels that are the same object each time are found faster. */
  count<Name extends MetricOfKind<'counter'>>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.#of(name).add(labels as Values, by);
  }

  /** Adds a value to a histogram. The same object is found faster here, too. */
  observe<Name extends MetricOfKind<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#of(name).add(labels as Values, value);
  }

  /** Has gauges set at each scrape, until the returned function is called. */
  measure(measure: Measure): () => void {
    this.#measures.add(measure);
    return () => void this.#measures.delete(measure);
  }

  /** Resolves with all metrics in Prometheus' text format. Gauges are set in one turn, after all of them are known. */
  async text(): Promise<string> {
    const found: [Series, Values, number][] = [];
    const set: SetGauge = (name, labels, value) => void found.push([this.#of(name), labels as Values, value]);
    for (const measure of [...this.#measures]) measure(set);
    this.#measureProcess(set);
    for (const series of this.#series.values()) series.clearGauge();
    for (const [series, labels, value] of found) series.set(labels, value);
    return await this.#registry.metrics();
  }

  /** Stops measuring. */
  stop(): void {
    this.#delays.disable();
  }

  #of(name: MetricName): Series {
    const series = this.#series.get(name);
    if (series === undefined) throw new Error(`there is no metric ${name}`);
    return series;
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

/** The series of one metric. */
class Series {
  readonly #definition: MetricDefinition;
  readonly #metric: Counter<string> | Gauge<string> | Histogram<string>;
  /** The labels that are shown, where some are open. */
  readonly #shown = new Set<string>();
  /** Those of them that were the same object before. */
  #known = new WeakSet<Values>();
  readonly #open: readonly string[];

  constructor(name: string, definition: MetricDefinition, registry: Registry) {
    const { kind, help, labels, buckets = [] } = definition;
    const shape = { name, help, labelNames: Object.keys(labels), registers: [registry] };
    this.#definition = definition;
    this.#open = Object.keys(labels).filter((label) => !isClosed(labels[label]));
    if (kind === 'counter') this.#metric = new Counter(shape);
    else if (kind === 'gauge') this.#metric = new Gauge(shape);
    else this.#metric = new Histogram({ ...shape, buckets: [...buckets] });
    this.announce({});
  }

  /** Shows a series for each combination of the values that are known. */
  announce(fixed: Values): void {
    let all: Values[] = [fixed];
    for (const [label, values] of Object.entries(this.#definition.labels)) {
      if (Object.hasOwn(fixed, label)) continue;
      const known = 'known' in values ? values.known : values;
      all = all.flatMap((labels) => known.map((value) => ({ ...labels, [label]: value })));
    }
    for (const labels of all) this.#zero(this.#within(labels));
  }

  add(labels: Values, value: number): void {
    const within = this.#within(labels);
    if (this.#metric instanceof Histogram) this.#metric.observe(within, value);
    else if (this.#metric instanceof Counter) this.#metric.inc(within, value);
  }

  set(labels: Values, value: number): void {
    if (this.#metric instanceof Gauge) this.#metric.set(this.#within(labels), value);
  }

  clearGauge(): void {
    if (!(this.#metric instanceof Gauge)) return;
    this.#metric.reset();
    this.#shown.clear();
    this.#known = new WeakSet();
    this.announce({});
  }

  #zero(labels: Values): void {
    if (this.#metric instanceof Histogram) this.#metric.zero(labels);
    else if (this.#metric instanceof Counter) this.#metric.inc(labels, 0);
    else this.#metric.set(labels, 0);
  }

  /** Values of strangers, such as tags, could make any number of series. */
  #within(labels: Values): Values {
    const { seriesMax } = this.#definition;
    if (seriesMax === undefined || this.#known.has(labels)) return labels;
    const key = JSON.stringify(labels);
    if (this.#shown.has(key) || this.#shown.size < seriesMax) {
      this.#shown.add(key);
      this.#known.add(labels);
      return labels;
    }
    return { ...labels, ...Object.fromEntries(this.#open.map((label) => [label, 'other'])) };
  }
}

function isClosed(values: LabelValues | undefined): boolean {
  return values !== undefined && !('known' in values);
}
