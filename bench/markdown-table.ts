// Numbers as people read them in a report: medians, ratios, and tables in Markdown.

/** Returns a table whose cells are aligned to the right, ready for a document. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0), title.length),
  );
  const lineOf = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `|${widths.map((width) => `${'-'.repeat(width + 1)}:`).join('|')}|`;
  return [lineOf(head), rule, ...rows.map(lineOf)].join('\n');
}

/** Returns the middle one, or the mean of the middle two; NaN of none. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** Returns a table whose cells are as long as their texts: one with words. */
export function plainTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lineOf = (row: readonly string[]): string =>
    `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [lineOf(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(lineOf)].join('\n');
}
