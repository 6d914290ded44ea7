// How large a stack may become when it is expanded. A file of 1 MiB can ask for far more than a machine can hold.

export const MEMBERS_MAX = 10_000;
export const SERVERS_MAX = 50_000;

/** What all values of all servers may weigh together; a list that servers share is counted for each of them. */
export const STACK_WEIGHT_MAX = 64 * 1024 * 1024;

/** Dependencies of all servers together. */
export const DEPENDENCIES_MAX = 5_000_000;

/** How many mistakes of one sort are reported at once: looking for what was meant takes time. */
export const MISTAKES_MAX = 100;
