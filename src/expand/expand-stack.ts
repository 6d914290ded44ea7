// Expands an instance and its template to servers. Each stage has its own file; this one defines their order.

import { below, problemAt, type ValidEntry } from '../model/entry.ts';
import type { ExpandedServer, Origin } from '../model/expanded.ts';
import { compareNames, SERVER } from '../model/names.ts';
import type { StackInstance, StackTemplate } from '../model/objects.ts';
import { affecting, hasNoErrors, type Problem, sortProblems } from '../model/problem.ts';
import { type AmendedTemplate, amendTemplate } from './amend-template.ts';
import { type Blueprint, readBlueprints } from './blueprint.ts';
import { checkConfigurationOnly, checkServerNames, configurationOnlyOf } from './check-servers.ts';
import { checkAmended } from './check-template.ts';
import { evaluate } from './evaluate.ts';
import { listMembers, type Members } from './group-members.ts';
import { SERVERS_MAX } from './limits.ts';
import { type ResolvedResource, resolveDependencies } from './resolve-dependencies.ts';
import { type Parameters, resolveParameters } from './resolve-parameters.ts';

/** The result of an expansion. */
export interface Expansion {
  /** Resource keys in the order of the amended template; also those that make no server now. */
  readonly keys: readonly string[];
  /** In the order of keys and indexes. Not to be used when `problems` holds an error. */
  readonly servers: readonly ExpandedServer[];
  readonly problems: readonly Problem[];
}

/** A stage answers with problems, and with servers where it could continue to the end. */
interface Stage {
  readonly servers: readonly ExpandedServer[];
  readonly problems: readonly Problem[];
}

/**
 * Returns the servers of an instance, or what is wrong with it. Both files are right by themselves. Errors name the
 * instance; those of a template, unless an amendment corrects them, are the same as checkTemplate finds.
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

/** Reads and checks everything that is written; only where that is right are values computed. */
function expandAmended(instance: ValidEntry<StackInstance>, amended: AmendedTemplate): Stage {
  const { blueprints, shape, checked } = readTemplate(amended);
  const parameters = resolveParameters(instance, amended);
  const written = [...amended.problems, ...shape, ...parameters.problems, ...checked];
  if (!hasNoErrors(written)) return { servers: [], problems: written };
  const { members, problems: counted } = countServers(blueprints, { amended, parameters });
  const problems = [...written, ...counted];
  if (!hasNoErrors(problems)) return { servers: [], problems };
  const stage = expandMembers(members, { instance: instance.object.name, amended, parameters });
  return { ...stage, problems: [...problems, ...stage.problems] };
}

interface ReadTemplate {
  readonly blueprints: readonly Blueprint[];
  readonly shape: readonly Problem[];
  readonly checked: readonly Problem[];
}

const readTemplates = new WeakMap<AmendedTemplate, ReadTemplate>();

/** Instances that amend nothing share the blueprints of their template. */
function readTemplate(amended: AmendedTemplate): ReadTemplate {
  const known = readTemplates.get(amended);
  if (known !== undefined) return known;
  const { blueprints, problems: shape } = readBlueprints(amended);
  const read = { blueprints, shape, checked: checkAmended(amended, blueprints) };
  readTemplates.set(amended, read);
  return read;
}

interface Read {
  readonly amended: AmendedTemplate;
  readonly parameters: Parameters;
}

function countServers(
  blueprints: readonly Blueprint[],
  { amended, parameters }: Read,
): { readonly members: readonly Members[]; readonly problems: readonly Problem[] } {
  const all: Members[] = [];
  const problems: Problem[] = [];
  let servers = 0;
  for (const blueprint of blueprints) {
    const retired = amended.retired.get(blueprint.key) ?? [];
    const { members, problems: own } = listMembers(blueprint, { parameters, retired });
    all.push(members);
    problems.push(...own);
    servers += members.indexes.length;
    if (servers > SERVERS_MAX)
      return { members: all, problems: [...problems, tooManyServers(blueprint, { amended, parameters })] };
  }
  return { members: all, problems };
}

function expandMembers(members: readonly Members[], input: Read & { readonly instance: string }): Stage {
  const { instance, amended, parameters } = input;
  const values = evaluate({ instance, amended, parameters: parameters.values, members });
  const named = [...values.problems, ...checkServerNames(values.resources, input)];
  // Servers that share a name cannot be distinguished by what they depend on.
  if (!hasNoErrors(named)) return { servers: [], problems: named };
  const { resolved, problems } = resolveDependencies(values.resources, input);
  const warnings = resolved.flatMap((resource) => checkConfigurationOnly(resource, amended));
  return {
    servers: assembleServers(resolved, { instance, amended, parameters }),
    problems: [...problems, ...warnings],
  };
}

function tooManyServers({ group, pointer }: Blueprint, { amended, parameters }: Read): Problem {
  const count = group?.get('count');
  const origin = count === undefined ? amended.originOf(pointer) : parameters.blame(count);
  return problemAt(origin.entry, origin.pointer, {
    code: 'stack_too_large',
    message: 'with these servers the stack has more than 50,000',
    hint: 'divide it into several stacks',
  });
}

interface Assembly {
  readonly instance: string;
  readonly amended: AmendedTemplate;
  readonly parameters: Pick<Parameters, 'blame'>;
}

/**
 * Returns the servers, in the order of resources and members: it joins the results of all stages, and decides nothing.
 */
function assembleServers(
  resources: readonly ResolvedResource[],
  { instance, amended, parameters }: Assembly,
): readonly ExpandedServer[] {
  const names = new Map(resources.map(({ members, servers }) => [members.blueprint, servers.map(({ name }) => name)]));
  return resources.flatMap(({ members, servers, sources }) => {
    const { blueprint, maxUnavailable, pauseSeconds } = members;
    const listed = [...sources].flatMap((source) => names.get(source) ?? []).sort(compareNames);
    const listsItself = sources.has(blueprint);
    const originOf = originsIn(blueprint, amended);
    const blameOf = (property: string): Origin => {
      const [text, second] = blueprint.properties.get(property)?.texts ?? [];
      return text === undefined || second !== undefined ? originOf(property) : parameters.blame(text);
    };
    return servers.map(
      (server): ExpandedServer => ({
        name: server.name,
        instance,
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
        blameOf,
      }),
    );
  });
}

/** Returns where a property is written; for a generated name, the resource that it is made from. */
function originsIn(
  { properties, propertiesPointer, pointer }: Blueprint,
  amended: AmendedTemplate,
): (property: string) => Origin {
  return (property) => amended.originOf(properties.has(property) ? below(propertiesPointer, property) : pointer);
}
