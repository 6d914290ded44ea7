// Resolves the dependencies of each server: a resource key of its own stack becomes all servers of that resource. Any
// other name is kept.
import { below } from '../model/entry.ts';
import type { OutsideDependency } from '../model/expanded.ts';
import { compareNames } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { problemInTemplate, subtractedButUsed } from './amend-template.ts';
import type { Blueprint } from './blueprint.ts';
import { type CycleStep, dependencyCycle, dependsOnPointer } from './check-cycles.ts';
import { dependencyOrder } from './dependency-order.ts';
import type { ResourceValues, ServerValues, WrittenName } from './evaluate.ts';
import { DEPENDENCIES_MAX } from './limits.ts';
import type { StackInput } from './resolve-parameters.ts';

interface Dependencies {
  /** Server names, sorted, without repeats. */
  readonly dependsOn: readonly string[];
  readonly outside: readonly OutsideDependency[];
}

/** The servers of a resource, with values and dependencies. */
export interface ResolvedResource extends ResourceValues {
  readonly servers: readonly (ServerValues & Dependencies)[];
}

/** Returns the resources with the dependencies of every server, and the problems, such as cycles. */
export function resolveDependencies(
  resources: readonly ResourceValues[],
  input: StackInput,
): { readonly resolved: readonly ResolvedResource[]; readonly problems: readonly Problem[] } {
  const stack = new Stack(resources, input);
  const resolved = resources.map((resource) => stack.resolve(resource));
  return { resolved, problems: [...stack.problems, ...stack.findCycles()] };
}

const NO_DEPENDENCIES: Dependencies = { dependsOn: [], outside: [] };

/** A server, or a resource key, which needs all its servers. Keys keep the graph small: n + m edges, not n × m. */
interface DependencyNode extends CycleStep {
  readonly isKey: boolean;
  readonly needs: DependencyNode[];
}

/** The servers of a stack, by the names that `depends_on` can use. */
class Stack {
  readonly problems: Problem[] = [];
  readonly #input: StackInput;
  readonly #keys = new Map<string, DependencyNode>();
  readonly #servers = new Map<string, DependencyNode>();
  /** By identity of the list, which servers share. */
  readonly #known = new Map<readonly WrittenName[], Dependencies>();
  #left = DEPENDENCIES_MAX;

  constructor(resources: readonly ResourceValues[], input: StackInput) {
    this.#input = input;
    for (const { members, servers } of resources) {
      const { key } = members.blueprint;
      const pointer = dependsOnPointer(members.blueprint);
      const steps = servers.map(({ name }): DependencyNode => ({ label: name, pointer, isKey: false, needs: [] }));
      for (const step of steps) this.#servers.set(step.label, step);
      this.#keys.set(key, { label: key, pointer, isKey: true, needs: steps });
    }
  }

  resolve(resource: ResourceValues): ResolvedResource {
    const { blueprint } = resource.members;
    const servers = resource.servers.map((server) => {
      // Beyond the limit, dependencies are not collected.
      if (this.#left < 0) return { ...server, ...NO_DEPENDENCIES };
      const dependencies = this.#known.get(server.needs) ?? this.#resolveNeeds(server.needs);
      this.#known.set(server.needs, dependencies);
      this.#charge(dependencies, blueprint);
      this.#servers.get(server.name)?.needs.push(...this.#stepsOf(server.needs));
      return { ...server, ...dependencies };
    });
    return { ...resource, servers };
  }

  findCycles(): Problem[] {
    const { cycles } = dependencyOrder(this.#keys.values(), ({ needs }) => needs);
    return cycles.map((cycle) => dependencyCycle(this.#input.amended, cycle.filter(isShown)));
  }

  #resolveNeeds(needs: readonly WrittenName[]): Dependencies {
    const dependsOn = new Set<string>();
    const outside: OutsideDependency[] = [];
    for (const { name, text } of needs) {
      // An empty name comes from an empty parameter and is not a dependency.
      if (name === '' || dependsOn.has(name)) continue;
      const key = this.#keys.get(name);
      for (const server of key?.needs ?? [{ label: name }]) dependsOn.add(server.label);
      if (key !== undefined || this.#servers.has(name)) continue;
      const removed = this.#removed(name, text.pointer);
      if (removed === null) outside.push({ server: name, origin: this.#input.parameters.blame(text) });
      else this.problems.push(removed);
    }
    return { dependsOn: [...dependsOn].sort(compareNames), outside };
  }

  /** A name in the template that refers to a resource that the instance removed is not a server of another stack. */
  #removed(name: string, pointer: string): Problem | null {
    const { amended } = this.#input;
    const removal = amended.removedBy(below('/resources', name));
    if (removal === null || amended.isAdded(pointer)) return null;
    return subtractedButUsed(removal, name, pointer);
  }

  #stepsOf(needs: readonly WrittenName[]): DependencyNode[] {
    return needs.flatMap(({ name }) => this.#keys.get(name) ?? this.#servers.get(name) ?? []);
  }

  #charge({ dependsOn }: Dependencies, blueprint: Blueprint): void {
    this.#left -= dependsOn.length;
    if (this.#left >= 0) return;
    const message = `with those of "${blueprint.key}" the servers of this stack have more than 1,000,000 dependencies`;
    const hint = 'depend on fewer servers, or divide the stack';
    this.problems.push(
      problemInTemplate(this.#input.amended, dependsOnPointer(blueprint), { code: 'stack_too_large', message, hint }),
    );
  }
}

/** Hides a server after a key: it is in the cycle only because its resource is. */
function isShown(step: DependencyNode, position: number, cycle: readonly DependencyNode[]): boolean {
  const before = cycle.at(position - 1);
  return step.isKey || before === undefined || !before.isKey;
}
