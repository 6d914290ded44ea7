// The size of the instances of the installations that are measured: the parts compare with one another by it.

/** The servers of each instance. */
export const SERVERS_AN_INSTANCE = 10;

/** Returns the number of instances that have so many servers. */
export function instancesFor(servers: number): number {
  return Math.ceil(servers / SERVERS_AN_INSTANCE);
}
