import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { withMetrics } from '../scripts/write-metrics.ts';
import { Metrics } from '../src/base/metrics.ts';
import { productPath } from '../src/base/product-files.ts';
import { METRICS, type MetricDefinition } from '../src/model/metrics.ts';

function opened(): Metrics {
  const metrics = new Metrics();
  onTestFinished(() => metrics.stop());
  return metrics;
}

async function linesOf(metrics: Metrics, name: string): Promise<readonly string[]> {
  return (await metrics.text()).split('\n').filter((line) => line.startsWith(name) && !line.startsWith('#'));
}

test('Metrics has all metrics from the start, with one series for each combination of fixed labels', async () => {
  const metrics = opened();
  const text = await metrics.text();
  const announced = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => [name, kind]);
  expect(announced).toEqual(Object.entries<MetricDefinition>(METRICS).map(([name, { kind }]) => [name, kind]));
  expect(await linesOf(metrics, 'treeline_servers{')).toHaveLength(11);
  expect(await linesOf(metrics, 'treeline_servers{')).toContain('treeline_servers{state="marked for delete"} 0');
  expect(await linesOf(metrics, 'treeline_instances{')).toHaveLength(9);
  expect(await linesOf(metrics, 'treeline_polls_total{')).toContain('treeline_polls_total{outcome="failed"} 0');
  expect(await linesOf(metrics, 'treeline_store_commit_duration_seconds_count')).toEqual([
    'treeline_store_commit_duration_seconds_count 0',
  ]);
  expect(await linesOf(metrics, 'treeline_provider_calls_total{')).toEqual([]);
  metrics.announce('treeline_provider_calls_total', { entry: 'lab' });
  expect(await linesOf(metrics, 'treeline_provider_calls_total{')).toHaveLength(4 * 7);
});

test('counters and histograms add up, and a second declaration resets nothing', async () => {
  const metrics = opened();
  const labels = { entry: 'lab', operation: 'create', outcome: 'done' } as const;
  metrics.count('treeline_provider_calls_total', labels);
  metrics.count('treeline_provider_calls_total', labels, 2);
  metrics.announce('treeline_provider_calls_total', { entry: 'lab' });
  expect(await linesOf(metrics, 'treeline_provider_calls_total{')).toContain(
    'treeline_provider_calls_total{entry="lab",operation="create",outcome="done"} 3',
  );
  metrics.observe('treeline_store_commit_duration_seconds', {}, 0.02);
  metrics.observe('treeline_store_commit_duration_seconds', {}, 7);
  expect(await linesOf(metrics, 'treeline_store_commit_duration_seconds')).toEqual([
    ...['0.001', '0.005'].map((le) => `treeline_store_commit_duration_seconds_bucket{le="${le}"} 0`),
    ...['0.025', '0.1', '0.5', '1', '5'].map((le) => `treeline_store_commit_duration_seconds_bucket{le="${le}"} 1`),
    'treeline_store_commit_duration_seconds_bucket{le="+Inf"} 2',
    'treeline_store_commit_duration_seconds_sum 7.02',
    'treeline_store_commit_duration_seconds_count 2',
  ]);
});

test('a gauge has only the values of the present scrape', async () => {
  const metrics = opened();
  let tags = ['site-a', 'a "b"\n\\'];
  const stop = metrics.measure((set) => {
    for (const tag of tags) set('treeline_proxies', { tag }, 2);
    return undefined;
  });
  metrics.measure((set) => set('treeline_servers', { state: 'done' }, 7));
  expect(await linesOf(metrics, 'treeline_proxies')).toEqual([
    'treeline_proxies{tag="site-a"} 2',
    'treeline_proxies{tag="a \\"b\\"\\n\\\\"} 2',
  ]);
  tags = ['site-b'];
  expect(await linesOf(metrics, 'treeline_proxies')).toEqual(['treeline_proxies{tag="site-b"} 2']);
  expect(await linesOf(metrics, 'treeline_servers{state="done"}')).toEqual(['treeline_servers{state="done"} 7']);
  stop();
  expect(await linesOf(metrics, 'treeline_proxies')).toEqual([]);
});

test('a metric has no more series than its limit', async () => {
  const metrics = opened();
  const tags = Array.from({ length: 150 }, (_, index) => `tag-${index}`);
  metrics.measure((set) => {
    for (const tag of tags) set('treeline_proxies', { tag }, 1);
    return undefined;
  });
  for (const reason of tags) metrics.count('treeline_refused_certificates_total', { reason });
  for (const _scrape of [1, 2]) {
    const shown = await linesOf(metrics, 'treeline_proxies');
    expect(shown).toHaveLength(101);
    expect(shown.at(-1)).toBe('treeline_proxies{tag="other"} 1');
  }
  const refused = await linesOf(metrics, 'treeline_refused_certificates_total');
  expect(refused).toHaveLength(41);
  expect(refused.at(-1)).toBe('treeline_refused_certificates_total{reason="other"} 117');
});

test('all metrics together have fewer than 5,000 series', () => {
  const sizes = Object.values<MetricDefinition>(METRICS).map(({ kind, labels, seriesMax, buckets = [] }) => {
    const lists = Object.values(labels).map((values) => ('known' in values ? ['other'] : values));
    const closed = lists.reduce((size, { length }) => size * length, 1);
    const series = seriesMax === undefined ? closed : seriesMax + closed;
    return kind === 'histogram' ? series * (buckets.length + 3) : series;
  });
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(5_000);
});

test('docs/operate.md has the table of all metrics', () => {
  const document = readFileSync(productPath('docs/operate.md'), 'utf8');
  expect(withMetrics(document), 'run "npm run docs:metrics"').toBe(document);
});

test('Metrics measures the process', async () => {
  const metrics = opened();
  const [cpu = ''] = await linesOf(metrics, 'process_cpu_seconds_total');
  expect(Number(cpu.split(' ')[1])).toBeGreaterThan(0);
  const [resident = ''] = await linesOf(metrics, 'process_resident_memory_bytes');
  expect(Number(resident.split(' ')[1])).toBeGreaterThan(1e6);
  expect(await linesOf(metrics, 'treeline_event_loop_delay_seconds')).toHaveLength(3);
});
