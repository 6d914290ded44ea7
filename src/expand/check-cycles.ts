// Finds cycles of properties that need one another's values, and of resources that depend on one another.
import { lastStep, type ProblemText } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import { type Blueprint, type PropertyText, sourcesOf } from './blueprint.ts';
import { dependencyOrder, printCycle } from './dependency-order.ts';
import { isLiteral, literalOf } from './placeholders.ts';
import { allNodes, labelOf, needsOf, pointerOfNode, valueGraph } from './value-graph.ts';

/** Returns the cycles of Array placeholders. */
export function checkValueCycles(amended: AmendedTemplate, blueprints: readonly Blueprint[]): Problem[] {
  const graph = valueGraph(blueprints);
  const { cycles } = dependencyOrder(allNodes(graph), ({ text }) => needsOf(graph, text));
  return cycles.map((cycle) =>
    cycleProblem(
      amended,
      cycle.map((node) => ({ label: labelOf(node), pointer: pointerOfNode(node) })),
      {
        code: 'value_cycle',
        message: 'values need one another in a circle',
        hint: 'let one of them be written without an Array placeholder',
      },
    ),
  );
}

/** Returns the cycles among literal resource keys; resolve-dependencies.ts finds cycles that depend on values. */
export function checkDependencyCycles(amended: AmendedTemplate, blueprints: readonly Blueprint[]): Problem[] {
  const byKey = new Map(blueprints.map((blueprint) => [blueprint.key, blueprint]));
  const { cycles } = dependencyOrder(blueprints, (blueprint) =>
    [...literalsOf(blueprint.structure.get('depends_on')), ...sourcesOf(blueprint).keys()].flatMap(
      (name) => byKey.get(name) ?? [],
    ),
  );
  return cycles.map((cycle) =>
    dependencyCycle(
      amended,
      cycle.map((blueprint) => ({ label: blueprint.key, pointer: dependsOnPointer(blueprint) })),
    ),
  );
}

/** One node of a cycle, and where its dependency is written. */
export interface CycleStep {
  readonly label: string;
  readonly pointer: string;
}

/** Returns the problem of a dependency cycle. */
export function dependencyCycle(amended: AmendedTemplate, steps: readonly CycleStep[]): Problem {
  const message = 'dependencies go in a circle';
  const isWritten = steps.every(({ pointer }) => lastStep(pointer) === 'depends_on');
  const hint = `remove one of these depends_on${isWritten ? '' : ' or Output placeholders'}`;
  return cycleProblem(amended, steps, { code: 'dependency_cycle', message, hint });
}

/**
 * Returns where the dependencies of a resource are written: `depends_on`, else its first use of outputs, else the
 * resource.
 */
export function dependsOnPointer(blueprint: Blueprint): string {
  const [output] = sourcesOf(blueprint).values();
  return blueprint.structure.get('depends_on')?.pointer ?? output?.pointer ?? blueprint.pointer;
}

/** Reports the cycle at a step that the instance added, if any: the template alone does not have this cycle. */
function cycleProblem(amended: AmendedTemplate, steps: readonly CycleStep[], text: ProblemText): Problem {
  const start = Math.max(
    steps.findIndex(({ pointer }) => amended.isAdded(pointer)),
    0,
  );
  const rotated = [...steps.slice(start), ...steps.slice(0, start)];
  const message = `${text.message}: ${printCycle(rotated.map(({ label }) => label))}`;
  return problemInTemplate(amended, (rotated[0] as CycleStep).pointer, { ...text, message });
}

function literalsOf(property: PropertyText | undefined): readonly string[] {
  return (property?.texts ?? []).flatMap(({ tokens }) => (isLiteral(tokens) ? literalOf(tokens) : []));
}
