// Writes the counts of all that a plan does, in one line for people. The text and the Markdown begin with it.
import { countOf } from '../../model/count-words.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { Plan, ServerChange } from '../../plan/plan.ts';

const ACTION_NOUNS = { delete: 'delete', replace: 'replacement', update: 'update', create: 'create' } as const;

/** Returns `2 deletes, 1 update, 1 error` and the like, in the order of the sections; `No effect` where there is none. */
export function headlineOf(plan: Plan): string {
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
