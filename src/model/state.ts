// The words for how far a resource and an instance are. Which follows which is machine/transitions.ts alone.

export const STATES = [
  'pending',
  'blocked',
  'creating',
  'updating',
  'deleting',
  'retrying',
  'unknown',
  'done',
  'drifted',
  'failed',
  'marked for delete',
] as const;
export type State = (typeof STATES)[number];

/** What an instance as a whole answers; the first that holds, in this order. */
export const INSTANCE_STATUSES = [
  'Marked for delete',
  'Suspended',
  'Invalid',
  'Awaiting approval',
  'In progress',
  'Failed',
  'Blocked',
  'Drifted',
  'Done',
] as const;
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];

/** The four things that can be asked of a provider. */
export type Operation = 'check' | 'create' | 'update' | 'delete';
