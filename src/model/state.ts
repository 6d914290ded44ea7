// Defines the states of servers and the statuses of instances. machine/transitions.ts defines the transitions.

/** The states of a server. */
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
/** The state of a server. */
export type State = (typeof STATES)[number];

/** The statuses of an instance. The first one that applies counts. */
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
/** The status of an instance. */
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];

/** The operations of a provider. */
export type Operation = 'check' | 'create' | 'update' | 'delete';

/** The delivery of a node's record. `outdated`: the last confirmed record is older, or none was confirmed. */
export const DELIVERY_STATES = ['delivered', 'outdated', 'failed'] as const;
/** See {@link DELIVERY_STATES}. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];
