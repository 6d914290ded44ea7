// Formats numbers for the descriptions of commit statuses.

/** Returns a number and its noun, such as `3 errors`. The plural ends with "s". */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
