// Abbreviates the ids of commits.

const LENGTH = 12;

/** Returns the first characters of a commit's id, as people are shown it. */
export function shortOid(oid: string): string {
  return oid.slice(0, LENGTH);
}
