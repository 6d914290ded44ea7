// Finds properties whose values need one another in a circle, and resources that depend on one another in one.
import { lastStep, type ProblemText } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import { type Blueprint, type PropertyText, sourcesOf } from './blueprint.ts';
import { dependencyOrder, printCycle } from './dependency-order.ts';
import { isLiteral, literalOf } from './placeholders.ts';
import { allNodes, labelOf, needsOf, pointerOfNode, valueGraph } from './value-graph.ts';

/** Returns the circles that Array placeholders make. */
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

/** Returns the circles among resource keys as written; resolve-dependencies.ts finds those that only values close. */
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

/** One turn of a cycle: what it is called, and where it is written. */
export interface CycleStep {
  readonly label: string;
  readonly pointer: string;
}

/** Returns the problem of dependencies that go in a circle. */
export function dependencyCycle(amended: AmendedTemplate, steps: readonly CycleStep[]): Problem {
  const message = 'dependencies go in a circle';
  const isWritten = steps.every(({ pointer }) => lastStep(pointer) === 'depends_on');
  const hint = `remove one of these depends_on${isWritten ? '' : ' or Output placeholders'}`;
  return cycleProblem(amended, steps, { code: 'dependency_cycle', message, hint });
}

/**
 * Returns where the dependencies of a resource are written: in `depends_on`, else where it takes outputs, else the
 * resource.
 */
export function dependsOnPointer(blueprint: Blueprint): string {
  const [output] = sourcesOf(blueprint).values();
  return blueprint.structure.get('depends_on')?.pointer ?? output?.pointer ?? blueprint.pointer;
}

/** Reports at a step that the instance added, if there is one: without it the template has no such cycle. */
function cycleProblem(amended: AmendedTemplate, steps: readonly CycleStep[], text: ProblemText): Problem {
  const start = Math.max(
    steps.findIndex(({ pointer }) => amended.isAdded(pointer)),
    0,
  );
  const round = [...steps.slice(start), ...steps.slice(0, start)];
  const message = `${text.message}: ${printCycle(round.map(({ label }) => label))}`;
  return problemInTemplate(amended, (round[0] as CycleStep).pointer, { ...text, message });
}

function literalsOf(property: PropertyText | undefined): readonly string[] {
  return (property?.texts ?? []).flatMap(({ tokens }) => (isLiteral(tokens) ? literalOf(tokens) : []));
}
