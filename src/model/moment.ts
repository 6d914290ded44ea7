// Formats times as RFC 3339, as rows, records and answers show them.

/** Returns a time as RFC 3339 with milliseconds. */
export function momentOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns a time as RFC 3339 with seconds, as records show it. */
export function secondsOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
