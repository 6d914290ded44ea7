// Limits the size of an expanded stack. A file of 1 MiB can describe more than fits into memory.

/** The maximum number of members of one group. */
export const MEMBERS_MAX = 10_000;
/** The maximum number of servers of one stack. */
export const SERVERS_MAX = 50_000;

/** The most characters of all values of all servers together. A list that servers share counts for each server. */
export const STACK_CHARACTERS_MAX = 64 * 1024 * 1024;

/** The most dependencies of all servers together. */
export const DEPENDENCIES_MAX = 1_000_000;

/** The most mistakes of one sort that are reported, because each suggestion takes time. */
export const MISTAKES_MAX = 100;
