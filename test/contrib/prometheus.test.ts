// The alert rules and the dashboard: right for Prometheus' own tools, and made of metrics that there are.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { productPath } from '../../src/base/product-files.ts';
import { METRICS, type MetricDefinition } from '../../src/model/metrics.ts';
import { skippedWithout } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';

const NO_PROMTOOL = skippedWithout('prometheus', 'promtool');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface RuleTest {
  readonly name: string;
  readonly promql_expr_test: readonly {
    readonly expr: string;
    readonly exp_samples: readonly { readonly labels: string }[];
  }[];
}

const RULES = productPath('contrib/prometheus/treeline.rules.yml');
const TESTS = productPath('contrib/prometheus/treeline.test.yml');
const { groups } = load(readFileSync(RULES, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Alert[] }[];
};
const alerts = groups.flatMap(({ rules }) => rules);
const { tests } = load(readFileSync(TESTS, 'utf8')) as { readonly tests: readonly RuleTest[] };
const dashboard = readFileSync(productPath('contrib/grafana/treeline.json'), 'utf8');
const operations = readFileSync(productPath('docs/operate.md'), 'utf8');

/** The names that a scrape has; a histogram has three for its one. */
const SERIES = new Set(
  Object.entries<MetricDefinition>(METRICS).flatMap(([name, { kind }]) =>
    kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
  ),
);

/** What is asked of each metric, with the labels that select of it. */
function selectorsIn(text: string): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  return [...text.matchAll(/\b((?:treeline|process)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(([, name = '', labels = '']) => ({
    name,
    labels: [...labels.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }));
}

function unknownIn(text: string): readonly string[] {
  return selectorsIn(text).flatMap(({ name, labels }) => {
    if (!SERIES.has(name)) return [name];
    const definition: MetricDefinition = METRICS[name.replace(/_(?:bucket|sum|count)$/, '') as keyof typeof METRICS];
    const known = [...Object.keys(definition.labels), 'job', 'instance', 'le'];
    return labels.filter((label) => !known.includes(label)).map((label) => `${name}{${label}}`);
  });
}

describe('the alerts', () => {
  it.each(alerts)('$alert has severity, meaning and a link', (alert) => {
    expect(alert.for).toMatch(/^\d+[mhd]$/);
    expect(['critical', 'warning', 'info']).toContain(alert.labels.severity);
    expect(Object.keys(alert.annotations)).toEqual(['summary', 'description', 'runbook_url']);
    expect(alert.annotations.runbook_url).toBe(`https://treeline.example/docs/operate.md#${alert.alert.toLowerCase()}`);
    expect(operations).toContain(
      `<a id="${alert.alert.toLowerCase()}"></a>**${alert.alert}** (${alert.labels.severity})`,
    );
  });

  it('has no row for a removed alert', () => {
    const rows = [...operations.matchAll(/^\| <a id="\w+"><\/a>\*\*(Treeline\w+)\*\*/gm)].map(([, name]) => name);
    expect(rows.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  it('use existing metrics and labels', () => {
    expect(unknownIn('treeline_serverz + treeline_servers{stat="done"}')).toEqual([
      'treeline_serverz',
      'treeline_servers{stat}',
    ]);
    expect(unknownIn(alerts.map(({ expr }) => expr).join('\n'))).toEqual([]);
  });

  it('are each tested with data that fires only them', () => {
    const fired = tests.map(({ promql_expr_test: [first, second] }) => [
      first?.exp_samples.length,
      second?.exp_samples.map(({ labels }) => labels),
    ]);
    expect(tests.map(({ name }) => name)).toEqual(alerts.map(({ alert }) => alert));
    expect(fired).toEqual(alerts.map(({ alert }) => [0, [`{alertname="${alert}"}`]]));
  });
});

describe('the dashboard', () => {
  const { panels } = JSON.parse(dashboard) as {
    readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  };

  it('uses existing metrics and labels in every panel', () => {
    const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(asked.length).toBeGreaterThan(15);
    expect(asked.flatMap(unknownIn)).toEqual([]);
    expect(asked.filter((expr) => selectorsIn(expr).length === 0)).toEqual([]);
  });

  it('needs one data source of any name', () => {
    const sources = new Set([...dashboard.matchAll(/"uid": "(\$[^"]*)"/g)].map(([, uid]) => uid));
    // biome-ignore lint/suspicious/noTemplateCurlyInString: that of Grafana
    expect([...sources]).toEqual(['${datasource}']);
  });
});

describe.runIf(NO_PROMTOOL === '')(`promtool${NO_PROMTOOL}`, () => {
  const succeeds = (...args: readonly string[]): void => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', timeout: 60_000 });
    expect({ status, output: stdout + stderr }).toMatchObject({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  };
  itInFull('each alert fires under its condition only', async () => succeeds('test', 'rules', TESTS));
  it('finds the rules right', () => succeeds('check', 'rules', RULES));
});
