// Writes the table of metrics into docs/operate.md, between its two markers: `npm run docs:metrics`, after a change of
// src/model/metrics.ts. A test fails where the two differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { METRICS, type MetricDefinition } from '../src/model/metrics.ts';

const BEGIN = '<!-- metrics -->';
const END = '<!-- /metrics -->';

/**
 * Returns a document with the current table between its markers. Throws if it does not have both markers in this
 * order.
 */
export function withMetrics(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin === -1 || end === -1) throw new Error(`the document needs a line ${BEGIN} and below it a line ${END}`);
  return `${document.slice(0, begin)}${BEGIN}\n${renderMetrics()}\n${document.slice(end)}`;
}

/** Returns a line for each metric. The values of labels are in src/model/metrics.ts, and in each scrape. */
function renderMetrics(): string {
  const rows = Object.entries<MetricDefinition>(METRICS).map(([name, { kind, help, labels, seriesMax }]) => {
    const shown = Object.keys(labels).length === 0 ? name : `${name}{${Object.keys(labels).join(',')}}`;
    const limit = seriesMax === undefined ? '' : ` (at most ${seriesMax.toLocaleString('en-US')})`;
    return `| \`${shown}\` | ${kind} | ${help}${limit} |`;
  });
  return ['| metric | kind | means |', '| --- | --- | --- |', ...rows].join('\n');
}

if (import.meta.main) {
  const file = new URL('../docs/operate.md', import.meta.url);
  writeFileSync(file, withMetrics(readFileSync(file, 'utf8')));
}
