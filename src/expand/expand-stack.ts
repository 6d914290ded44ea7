// Expands an instance and its template to servers. Each stage has its own file; this one defines their order.

import { problemAt, type ValidEntry } from '../model/entry.ts';
import type { ExpandedServer, Origin } from '../model/expanded.ts';
import { compareNames, SERVER } from '../model/names.ts';
import type { StackInstance, StackTemplate } from '../model/objects.ts';
import { affecting, hasNoErrors, type Problem, sortProblems } from '../model/problem.ts';
import { type AmendedTemplate, amendTemplate } from './amend-template.ts';
import { type Blueprint, pointerOf } from './blueprint.ts';
import { checkConfigurationOnly, checkServerNames, configurationOnlyOf } from './check-servers.ts';
import { readTemplate } from './check-template.ts';
import { evaluate } from './evaluate.ts';
import { listMembers, type Members } from './group-members.ts';
import { SERVERS_MAX } from './limits.ts';
import { type ResolvedResource, resolveDependencies } from './resolve-dependencies.ts';
import { blameOf, resolveParameters, type StackInput } from './resolve-parameters.ts';

/** The result of an expansion. */
export interface Expansion {
  /** Resource keys in the order of the amended template, including resources without servers. */
  readonly keys: readonly string[];
  /** In the order of keys and indexes. Empty if `problems` contains an error. */
  readonly servers: readonly ExpandedServer[];
  readonly problems: readonly Problem[];
}

/** The result of a stage: problems, and servers if all stages could run. */
type Stage = Omit<Expansion, 'keys'>;

/**
 * Returns the servers of an instance, or its problems. Both files are valid alone. Errors name the instance. Errors of
 * the template that no amendment corrects are the same as those of checkTemplate.
 */
export function expandStack(instance: ValidEntry<StackInstance>, template: ValidEntry<StackTemplate>): Expansion {
  const amended = amendTemplate(instance, template);
  const { servers, problems } = expandAmended(instance, amended);
  return {
    keys: Object.keys(amended.resources),
    servers: hasNoErrors(problems) ? servers : [],
    problems: sortProblems(affecting(problems, instance.object.name)),
  };
}

/** Checks everything that is written, and computes values only if it has no errors. */
function expandAmended(instance: ValidEntry<StackInstance>, amended: AmendedTemplate): Stage {
  const template = readTemplate(amended);
  const parameters = resolveParameters(instance, amended);
  const input = { instance: instance.object.name, amended, parameters };
  const written = [...amended.problems, ...template.problems, ...parameters.problems];
  if (!hasNoErrors(written)) return { servers: [], problems: written };
  const { members, problems: counted } = countServers(template.blueprints, input);
  const problems = [...written, ...counted];
  if (!hasNoErrors(problems)) return { servers: [], problems };
  const stage = expandMembers(members, input);
  return { ...stage, problems: [...problems, ...stage.problems] };
}

function countServers(
  blueprints: readonly Blueprint[],
  input: StackInput,
): { readonly members: readonly Members[]; readonly problems: readonly Problem[] } {
  const all: Members[] = [];
  const problems: Problem[] = [];
  let servers = 0;
  for (const blueprint of blueprints) {
    const { members, problems: own } = listMembers(blueprint, input);
    all.push(members);
    problems.push(...own);
    servers += members.indexes.length;
    if (servers > SERVERS_MAX) return { members: all, problems: [...problems, tooManyServers(blueprint, input)] };
  }
  return { members: all, problems };
}

function expandMembers(members: readonly Members[], input: StackInput): Stage {
  const values = evaluate(members, input);
  const named = [...values.problems, ...checkServerNames(values.resources, input)];
  // Dependencies on servers that share a name would be ambiguous.
  if (!hasNoErrors(named)) return { servers: [], problems: named };
  const { resolved, problems } = resolveDependencies(values.resources, input);
  const warnings = resolved.flatMap((resource) => checkConfigurationOnly(resource, input.amended));
  return { servers: assembleServers(resolved, input), problems: [...problems, ...warnings] };
}

function tooManyServers({ group, pointer }: Blueprint, { amended, parameters }: StackInput): Problem {
  const count = group?.get('count');
  const origin = count === undefined ? amended.originOf(pointer) : parameters.blame(count);
  return problemAt(origin.entry, origin.pointer, {
    code: 'stack_too_large',
    message: 'with these servers the stack has more than 50,000',
    hint: 'divide it into several stacks',
  });
}

/** Returns the servers in the order of resources and members, joining the results of all stages. */
function assembleServers(resources: readonly ResolvedResource[], input: StackInput): readonly ExpandedServer[] {
  const names = new Map(resources.map(({ members, servers }) => [members.blueprint, servers.map(({ name }) => name)]));
  return resources.flatMap(({ members, servers, sources }) => {
    const { blueprint, maxUnavailable, pauseSeconds } = members;
    const listed = [...sources].flatMap((source) => names.get(source) ?? []).sort(compareNames);
    const listsItself = sources.has(blueprint);
    const originOf = (property: string): Origin => input.amended.originOf(pointerOf(blueprint, property));
    const correctAt = (property: string): Origin => blameOf(blueprint, property, input);
    return servers.map(
      (server): ExpandedServer => ({
        name: server.name,
        instance: input.instance,
        key: blueprint.key,
        index: server.index,
        kind: SERVER,
        properties: server.properties,
        ...(server.reads === undefined ? {} : { reads: server.reads }),
        configurationOnly: configurationOnlyOf(server),
        dependsOn: server.dependsOn,
        outside: server.outside,
        lists: listsItself ? listed.filter((name) => name !== server.name) : listed,
        maxUnavailable,
        pauseSeconds,
        originOf,
        blameOf: correctAt,
      }),
    );
  });
}
