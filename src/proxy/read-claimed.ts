// Reads what the controller answers: offered actions, and the action that was claimed. It checks what this proxy uses.

import { isMap, type JsonMap } from '../model/json.ts';
import type { AgentAction, ClaimedAction } from '../service/agent.ts';

const OPERATIONS: readonly unknown[] = ['check', 'create', 'update', 'delete'];

/** Returns the offered actions. Throws if the answer has another form. */
export function readOffered({ actions }: JsonMap): readonly AgentAction[] {
  if (!Array.isArray(actions)) throw new Error('the controller offers no list of actions; are the versions the same?');
  return actions.map(readAction);
}

/** Returns the claimed action. Throws if the answer has another form. */
export function readClaimed({ lease, deadline, action }: JsonMap): ClaimedAction {
  if (typeof lease === 'string' && typeof deadline === 'string') return { lease, deadline, action: readAction(action) };
  throw new Error('the controller has answered a claim without a lease; are the versions the same?');
}

function readAction(value: unknown): AgentAction {
  const isAction =
    isMap(value) &&
    [value.id, value.resource, value.kind].every((text) => typeof text === 'string') &&
    OPERATIONS.includes(value.operation) &&
    isMap(value.properties) &&
    isMap(value.record) &&
    typeof value.timeoutSeconds === 'number' &&
    value.timeoutSeconds > 0;
  if (isAction) return value as JsonMap as unknown as AgentAction;
  throw new Error('the controller offers an action of another form; are the versions the same?');
}
