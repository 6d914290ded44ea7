// An agent for tests of the API: it offers one action, and remembers what it was asked.

import type { Agent, AgentAction } from '../../src/agents/agent.ts';
import { ServiceError } from '../../src/model/service-error.ts';

export const ACTION: AgentAction = {
  ...{ id: 'shop-web.5.create', operation: 'create', resource: 'shop-web', instance: 'shop', group: 'web' },
  ...{
    kind: 'Platform::Server',
    generation: 1,
    attempt: 0,
    properties: { size: 'small' },
    record: { name: 'shop-web' },
  },
  ...{ applied: null, outputs: null, timeoutSeconds: 900 },
};

export interface SampleAgent extends Agent {
  /** Every request: its name, then its arguments without who asked. */
  readonly asked: unknown[][];
}

export function createSampleAgent(): SampleAgent {
  const asked: unknown[][] = [];
  const note = (...request: readonly unknown[]): void => {
    if (request[1] !== ACTION.id) throw new ServiceError('not_found', `There is no action "${request[1]}"`);
    asked.push([...request]);
  };
  return {
    asked,
    actions: () => [ACTION],
    wait: () => Promise.resolve(),
    async claim(_by, id, request) {
      note('claim', id, request);
      return { lease: 'secret', deadline: '2026-11-20T10:28:56.000Z', action: ACTION };
    },
    heartbeat: (_by, id, lease) => note('heartbeat', id, lease),
    async report(_by, id, result) {
      note('report', id, result);
    },
  };
}
