// Calls for tests of providers.
import type { Call } from '../../src/providers/provider.ts';

/** A call that creates the server web-1, with some fields replaced. Its deadline is far away. */
export function callOf(fields: Partial<Call> = {}): Call {
  return {
    operation: 'create',
    action: 'c1',
    resource: 'web-1',
    kind: 'Platform::Server',
    properties: { name: 'web-1' },
    record: {},
    applied: null,
    outputs: null,
    deadline: '2126-11-20T10:23:56.000Z',
    ...fields,
  };
}
