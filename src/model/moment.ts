// Formats times as RFC 3339, as rows, records and answers show them.

/** The last time that was formatted: many rows are stamped within a millisecond. */
let last = { ms: 0, text: '1970-01-01T00:00:00.000Z' };

/** Returns a time as RFC 3339 with milliseconds. */
export function momentOf(ms: number): string {
  if (last.ms !== ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}
