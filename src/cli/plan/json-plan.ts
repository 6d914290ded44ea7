// Formats a plan as JSON. docs/pull-requests.md lists the fields.
import type { Problem } from '../../model/problem.ts';
import type { Plan } from '../../plan/plan.ts';

/** Returns the plan as JSON. Its size depends on distinct changes; files are named from the layout. */
export function jsonPlan(plan: Plan): string {
  const { base, head, digest, access, safety, changes, retained, nodes } = plan;
  const { configuration, renames, invalid, problems, knownProblems, held } = plan;
  return JSON.stringify(
    {
      ...{ base, head, digest, access, safety, changes, retained, nodes, configuration, renames, invalid },
      ...{ problems: problems.map(publicFields), knownProblems, held },
    },
    null,
    2,
  );
}

/** The fields that programs may rely on, in a fixed order. */
function publicFields({ code, severity, file, line, column, pointer, message, hint, instances }: Problem) {
  return { code, severity, file, line, column, pointer, message, hint, instances: instances ?? [] };
}
