// Limits the size of an expanded stack. A file of 1 MiB can ask for more than a machine can hold.

/** The maximum number of members of one group. */
export const MEMBERS_MAX = 10_000;
/** The maximum number of servers of one stack. */
export const SERVERS_MAX = 50_000;

/** The characters of all values of all servers together; a list that servers share is counted for each of them. */
export const STACK_CHARACTERS_MAX = 64 * 1024 * 1024;

/** Dependencies of all servers together. */
export const DEPENDENCIES_MAX = 1_000_000;

/** The number of mistakes of one sort that are reported at once: suggestions take time. */
export const MISTAKES_MAX = 100;
