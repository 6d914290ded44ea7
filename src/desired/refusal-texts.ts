// Formats the texts of problems for which a version of an instance is refused.

import { printCycle } from '../expand/dependency-order.ts';
import { nameAt } from '../model/address.ts';
import type { ProblemText } from '../model/entry.ts';
import type { NameClaim } from './claims.ts';

/** Number of servers or instances that a text names. */
const NAMED_MAX = 5;

/** Returns the text for a server that is given to an instance that cannot become active. */
export function handOverText(server: string, receiver: string): ProblemText {
  return {
    code: 'hand_over_waits',
    message: `"${server}" is handed over to the instance "${receiver}", which cannot come into force`,
    hint: `correct "${receiver}" first; until then nothing of either changes`,
  };
}

/** The servers that a commit would remove from a protected instance. */
export interface ProtectedLoss {
  readonly deleted: readonly string[];
  /** Servers that move to instances without protection. */
  readonly given: readonly { readonly server: string; readonly receiver: string }[];
}

/** Returns the text for a commit that would remove servers from a protected instance. `isGone`: it has no file any more. */
export function protectedText(instance: string, { deleted, given }: ProtectedLoss, isGone: boolean): ProblemText {
  const losses = [
    ...(deleted.length > 0 ? [`delete ${some(deleted)}`] : []),
    ...[...Map.groupBy(given, ({ receiver }) => receiver)]
      .slice(0, NAMED_MAX)
      .map(
        ([receiver, servers]) =>
          `hand ${some(servers.map(({ server }) => server))} over to "${receiver}", which is not`,
      ),
  ];
  const lift = 'set protected: false in a commit of its own first, in a pull request of its own where those are merged';
  return {
    code: 'protected_instance',
    message: `the instance "${instance}" is protected, and this would ${losses.join(', and ')}`,
    hint: `${isGone ? 'bring the file back; to remove it, ' : ''}${given.length > 0 ? 'protect the instance that takes over too, or ' : ''}${lift}`,
    instances: [instance],
  };
}

function some(servers: readonly string[]): string {
  return `${servers.slice(0, NAMED_MAX).join(', ')}${servers.length > NAMED_MAX ? ' and others' : ''}`;
}

/** Returns the text for a claim that loses to another one. */
export function nameTaken(loser: NameClaim, winner: NameClaim): ProblemText {
  const other = nameAt(winner.key);
  return {
    code: 'server_name_taken',
    message: `the server name "${loser.name}" is also that of a server of the instance "${other}"`,
    hint: 'server names are unique over all instances, without regard to case: change a parameter that the name is made of',
  };
}

/** Returns the text for a cycle of dependencies, in the same words as for a cycle within a stack. */
export function circleText(cycle: readonly string[]): ProblemText {
  return {
    code: 'dependency_cycle',
    message: `dependencies go in a circle: ${printCycle(cycle.slice(0, -1))}`,
    hint: 'remove one of these depends_on',
  };
}
