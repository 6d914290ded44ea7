// Writes what the text and the Markdown of a plan have in common: the counts of all that it does, in one line with which both
// begin, the items that one list has and another has not, and the change of a secret.

import { countOf } from '../../base/wording.ts';
import type { Json } from '../../model/json.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { Difference, Plan, ServerChange } from '../../plan/plan.ts';

const ACTION_NOUNS = { delete: 'delete', replace: 'replacement', update: 'update', create: 'create' } as const;

/** Returns `2 deletes, 1 update, 1 error` and the like, in the order of the sections; `No effect` where there is none. */
export function writeHeadline(plan: Plan): string {
  const { access, safety, changes, retained, nodes, configuration, problems, invalid, held } = plan;
  const effects = [
    ...counted(access.length, 'access change'),
    ...counted(safety.length, 'safety change'),
    ...serverCounts(changes),
    ...counted(retained.length, 'server retained', 'servers retained'),
    ...counted(configuration.length, 'configuration change'),
    ...counted(nodes.length, 'record change'),
    ...counted(invalid.length, 'invalid instance'),
    ...(held === null ? [] : [held.kind === 'nothing left' ? 'all of it held' : `${instancesOf(held)} held`]),
  ];
  return [...(effects.length === 0 ? ['No effect'] : effects), ...problemCounts(problems)].join(', ');
}

function instancesOf({ instances }: NonNullable<Plan['held']>): string {
  return countOf(instances.length, 'instance');
}

function counted(count: number, noun: string, plural?: string): readonly string[] {
  return count === 0 ? [] : [countOf(count, noun, plural)];
}

/** Returns how many servers are deleted, replaced, updated and created, in this order, without those of which there are none. */
function serverCounts(changes: readonly ServerChange[]): readonly string[] {
  return Object.entries(ACTION_NOUNS).flatMap(([action, noun]) =>
    counted(changes.filter((change) => change.action === action).length, noun),
  );
}

/** Returns how many errors and how many warnings there are, without those of which there are none. */
export function problemCounts(problems: readonly Problem[]): readonly string[] {
  const errors = problems.filter(isError).length;
  return [...counted(errors, 'error'), ...counted(problems.length - errors, 'warning')];
}

/** Returns the items that others do not have. The time is linear: a list of one file may have 50,000 items. */
export function missingIn(items: readonly Json[], others: readonly Json[]): readonly Json[] {
  const known = new Set(others.map((other) => JSON.stringify(other)));
  return items.filter((item) => !known.has(JSON.stringify(item)));
}

/** Returns the kind of the change: a value of a secret is never shown. */
export function secretText({ from, to }: Difference<unknown>): string {
  if (from === null) return 'added (secret)';
  return to === null ? 'removed (secret)' : 'changed (secret)';
}
