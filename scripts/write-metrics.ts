// Writes the table of metrics into docs/operate.md, between its two markers: `npm run docs:metrics`, after a change of
// src/model/metrics.ts. A test fails where the two differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { METRICS, type MetricDefinition } from '../src/model/metrics.ts';

const BEGIN = '<!-- metrics -->';
const END = '<!-- /metrics -->';

/** Returns a document with the table of now between its markers. Throws where it has not both, in that order. */
export function withMetrics(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin === -1 || end === -1) throw new Error(`the document needs a line ${BEGIN} and below it a line ${END}`);
  return `${document.slice(0, begin)}${BEGIN}\n${renderMetrics()}\n${document.slice(end)}`;
}

function renderMetrics(): string {
  const rows = Object.entries<MetricDefinition>(METRICS).map(([name, { kind, help, labels, seriesMax }]) => [
    `\`${name}\``,
    kind,
    Object.entries(labels).map(labelWords).join('; ') || '–',
    seriesMax === undefined ? help : `${help} (at most ${seriesMax.toLocaleString('en-US')})`,
  ]);
  const head = ['metric', 'kind', 'labels', 'says'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Closed sets whole; of an open one what is known. */
function labelWords([label, values]: [string, MetricDefinition['labels'][string]]): string {
  const known = 'known' in values ? [...values.known, '…'] : values;
  const words = known.map((value) => (value === '…' ? value : `\`${value}\``)).join(', ');
  return `\`${label}\`: ${words}`;
}

if (import.meta.main) {
  const file = new URL('../docs/operate.md', import.meta.url);
  writeFileSync(file, withMetrics(readFileSync(file, 'utf8')));
}
