// Writes numbers with their nouns.

/** Returns `1 server`, `5,000 servers`; of another noun than one with an `s`, its plural is given. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

/** Returns `5,000`. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
