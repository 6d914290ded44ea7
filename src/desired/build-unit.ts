// Builds one unit from one catalog: expands an instance, or a clientcert, and merges the configuration of its nodes.

import { invariant } from '../base/invariant.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { type Expansion, expandStack } from '../expand/expand-stack.ts';
import type { HieraNode, ResolvedNode, SelectableObjects } from '../hiera/node.ts';
import { resolveNode } from '../hiera/resolve-node.ts';
import { addressOf, instanceAddress } from '../model/address.ts';
import { type Entry, isValidEntry, problemAt, type ValidEntry } from '../model/entry.ts';
import type { ExpandedServer } from '../model/expanded.ts';
import { tenantOf } from '../model/least-rights.ts';
import type { StackInstance, StackTemplate, TypedObject } from '../model/objects.ts';
import { affecting, isError, type Problem } from '../model/problem.ts';
import type { WantedServer } from '../model/spec.ts';
import { TrackedReads } from './tracked-reads.ts';
import type { Unit } from './unit.ts';

/** An object's name, derived from its path, and its file. */
type NamedEntry<Value> = readonly [name: string, entry: Entry<Value>];

/** Returns the problems of a template without any instance; empty for a valid one. See expand/check-template.ts. */
type TemplateCheck = (template: Entry<StackTemplate>) => readonly Problem[];

/** Returns the instance as defined in this catalog, valid or not. Never throws for a mistake of the user. */
export function buildInstance([name, entry]: NamedEntry<StackInstance>, catalog: Catalog, check: TemplateCheck): Unit {
  const reads = new TrackedReads(catalog);
  reads.use(instanceAddress(name), entry);
  const empty = blankUnit('stack-instance', name, { entry, catalog, reads });
  const own = affecting(entry.problems, name);
  if (!isValidEntry(entry)) return { ...empty, problems: own };
  const template = reads.template(entry.object.stackTemplate);
  if (template === undefined) return { ...empty, problems: [...own, unknownTemplate(entry)] };
  const templateProblems = affecting(check(template), name);
  if (!isValidEntry(template) || templateProblems.some(isError)) {
    return { ...empty, problems: [...own, ...affecting(template.problems, name), ...templateProblems] };
  }
  const expansion = expandOnce(entry, template);
  const problems = [...own, ...expansion.problems];
  if (expansion.problems.some(isError)) return { ...empty, keys: expansion.keys, problems };
  const unit = { ...empty, keys: expansion.keys, problems };
  return withServers(unit, expansion.servers, { reads, instance: entry.object });
}

interface KnownExpansion {
  readonly template: Entry<StackTemplate>;
  readonly expansion: Expansion;
}

/** The last expansion of each instance's file. */
const expansions = new WeakMap<Entry<StackInstance>, KnownExpansion>();

/** Two files determine the servers, so a commit that changes only configuration expands nothing again. */
function expandOnce(...[instance, template]: Parameters<typeof expandStack>): Expansion {
  const known = expansions.get(instance);
  if (known?.template === template) return known.expansion;
  const expansion = expandStack(instance, template);
  expansions.set(instance, { template, expansion });
  return expansion;
}

/** Returns a hand-written clientcert as defined in this catalog. */
export function buildClientcert([name, entry]: NamedEntry<TypedObject>, catalog: Catalog): Unit {
  const reads = new TrackedReads(catalog);
  reads.use(addressOf('clientcert', name), entry);
  const empty = blankUnit('clientcert', name, { entry, catalog, reads });
  if (!isValidEntry(entry)) return { ...empty, problems: entry.problems };
  const { node, problems } = resolveNode({ server: null, clientcert: entry }, selectableObjects(reads, entry.object));
  return { ...empty, nodes: new Map([[node.name, node]]), problems: [...entry.problems, ...problems] };
}

interface UnitReads {
  readonly reads: TrackedReads;
  readonly instance: StackInstance;
}

function withServers(unit: Unit, expanded: readonly ExpandedServer[], { reads, instance }: UnitReads): Unit {
  const scope = selectableObjects(reads, instance);
  const servers = new Map<string, WantedServer>();
  const nodes = new Map<string, HieraNode>();
  const problems: Problem[] = [...unit.problems];
  for (const server of expanded) {
    const resolved = resolveNode({ server, clientcert: reads.object('clientcert', server.name) }, scope);
    servers.set(server.name, wantedServer(server, instance, resolved.provisioning));
    nodes.set(server.name, resolved.node);
    problems.push(...resolved.problems);
  }
  const outside = expanded.flatMap((server) => server.outside.map((one) => ({ ...one, of: server.name })));
  return { ...unit, servers, nodes, outside, problems };
}

function wantedServer(
  server: ExpandedServer,
  instance: StackInstance,
  layers: ResolvedNode['provisioning'],
): WantedServer {
  return {
    name: server.name,
    instance: instance.name,
    key: server.key,
    index: server.index,
    spec: {
      kind: server.kind,
      properties: server.properties,
      ...(server.reads === undefined ? {} : { reads: server.reads }),
      layers,
      configurationOnly: server.configurationOnly,
      dependsOn: server.dependsOn,
      lists: server.lists,
    },
    policy: {
      maxUnavailable: server.maxUnavailable,
      pauseSeconds: server.pauseSeconds,
      drift: instance.drift ?? null,
      deletion: instance.deletion ?? 'delete',
      protected: instance.protected ?? false,
      adopt: instance.adopt ?? false,
    },
  };
}

function selectableObjects(reads: TrackedReads, owner: StackInstance | TypedObject): SelectableObjects {
  const { hierarchy, tree } = reads;
  invariant(isValidEntry(hierarchy) && tree !== null, 'a commit with an invalid tree or hierarchy is refused');
  return {
    hierarchy,
    tree,
    tenant: tenantOf(owner),
    object: (type, name) => reads.object(type, name),
  };
}

interface BlankParts {
  readonly entry: Unit['entry'];
  readonly catalog: Catalog;
  readonly reads?: TrackedReads;
}

/** Returns a unit without servers and problems; its tracked reads are those of `reads`, or none. */
export function blankUnit(
  type: Unit['type'],
  name: string,
  { entry, catalog, reads = new TrackedReads(catalog) }: BlankParts,
): Unit {
  const { commit, time } = catalog;
  const nothing = { keys: [], servers: new Map(), nodes: new Map(), outside: [], problems: [] };
  return { type, name, entry, commit, time, ...nothing, inputs: reads.inputs };
}

function unknownTemplate(entry: ValidEntry<StackInstance>): Problem {
  const { name, stackTemplate } = entry.object;
  return problemAt(entry, '/stackTemplate', {
    code: 'unknown_template',
    message: `there is no stack template "${stackTemplate}"`,
    missing: { type: 'stack-template', name: stackTemplate },
    instances: [name],
  });
}
