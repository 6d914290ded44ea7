// Collects the effects of a merge in the words of a plan: the actions that sites were asked for, the records that changed,
// and what is held.

import { isSame } from '../../src/model/json.ts';
import type { NodeAtMoment, NodeRecord } from '../../src/model/record.ts';
import type { Plan } from '../../src/plan/plan.ts';
import type { HeldItem } from '../../src/service/answers.ts';
import type { World } from './world.ts';

/** Actions as `<action> <server>`, configuration as `<key>: <from> -> <to> on <nodes>`, held instances; each sorted. */
interface Effects {
  readonly actions: readonly string[];
  readonly configuration: readonly string[];
  /** Hand-written nodes, as `<action> <node>`. */
  readonly nodes: readonly string[];
  readonly held: readonly string[];
  readonly invalid: readonly string[];
}

/** A key that tells of work, not of configuration. */
const COMPUTED = 'last_stack_update';

/** The state and the effects of a controller at one moment. */
interface Moment {
  readonly calls: number;
  readonly records: ReadonlyMap<string, NodeRecord>;
  readonly invalid: ReadonlySet<string>;
}

/** Listens to the calls of a world from now on. */
export class EffectWatch {
  readonly #world: World;
  readonly #calls: { readonly operation: string; readonly resource: string }[] = [];

  constructor(world: World) {
    this.#world = world;
    const { calls } = world;
    const ended = calls.ended.bind(calls);
    calls.ended = (site, call, answer) => {
      const { operation, resource } = call;
      if (operation !== 'check') this.#calls.push({ operation, resource });
      ended(site, call, answer);
    };
  }

  now(): Moment {
    const { core } = this.#world;
    const nodes = core === undefined ? [] : core.reader.nodes();
    const invalid = this.#world.core?.current.get()?.invalid ?? new Set<string>();
    return { calls: this.#calls.length, records: new Map(nodes.map(recordAt)), invalid };
  }

  /** Returns what happened since a moment. */
  since(before: Moment): Effects {
    const now = this.now();
    const held = this.#world.core?.operator.held() ?? [];
    return {
      actions: actionsOf(this.#calls.slice(before.calls)),
      configuration: configurationOf(before.records, now.records),
      nodes: nodesOf(before.records, now.records),
      held: heldOf(held),
      invalid: [...now.invalid].filter((name) => !before.invalid.has(name)).sort(),
    };
  }
}

function recordAt(node: NodeAtMoment): [string, NodeRecord] {
  return [node.name, node.record()];
}

/** Instances whose deletes are held, and the kinds of all else that is. */
function heldOf(items: readonly Pick<HeldItem, 'kind' | 'instance'>[]): readonly string[] {
  return items.flatMap(({ kind, instance }) => instance ?? kind).sort();
}

/** A delete and a create of one server are its replacement. */
export function actionsOf(
  calls: readonly { readonly operation: string; readonly resource: string }[],
): readonly string[] {
  const byServer = Map.groupBy(calls, ({ resource }) => resource);
  const actions = [...byServer].map(([server, all]) => {
    const operations = all.map(({ operation }) => operation).join(' ');
    return `${operations === 'delete create' ? 'replace' : operations} ${server}`;
  });
  return actions.sort();
}

function configurationOf(
  before: ReadonlyMap<string, NodeRecord>,
  after: ReadonlyMap<string, NodeRecord>,
): readonly string[] {
  const nodes = new Map<string, number>();
  for (const [name, record] of after) {
    const old = before.get(name);
    if (old === undefined) continue;
    for (const key of new Set([...Object.keys(old), ...Object.keys(record)])) {
      const [from, to] = [old[key], record[key]];
      if (key === COMPUTED || isSame(from, to)) continue;
      const line = `${key}: ${textOf(from)} -> ${textOf(to)}`;
      nodes.set(line, (nodes.get(line) ?? 0) + 1);
    }
  }
  return [...nodes].map(([line, count]) => `${line} on ${count}`).sort();
}

/** Hand-written nodes that come or go, as `<action> <node>`. */
function nodesOf(before: ReadonlyMap<string, NodeRecord>, after: ReadonlyMap<string, NodeRecord>): readonly string[] {
  const added = [...after].filter(([name, record]) => !isServer(record) && !before.has(name));
  const removed = [...before].filter(([name, record]) => !isServer(record) && !after.has(name));
  return [...added.map(([name]) => `add ${name}`), ...removed.map(([name]) => `remove ${name}`)].sort();
}

function isServer({ stackInstance }: NodeRecord): boolean {
  return Array.isArray(stackInstance) && stackInstance.length > 0;
}

function textOf(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** Returns what a plan says, in the same words: what happens at once, and what once everything is approved. */
export function plannedEffects({ changes, configuration, nodes, held, invalid }: Plan): {
  readonly atOnce: Effects;
  readonly all: Effects;
} {
  const waits = new Set(held === null ? [] : [...held.instances, ...held.waiting]);
  const isWhole = held?.kind === 'nothing left';
  const atOnce = changes.filter(({ instance }) => !isWhole && !waits.has(instance));
  const lines = (some: Plan['changes']): readonly string[] =>
    some.map(({ action, resource }) => `${action} ${resource}`).sort();
  const counted = new Map<string, number>();
  for (const { key, from, to, nodes: count } of configuration) {
    const line = `${key}: ${textOf(from)} -> ${textOf(to)}`;
    counted.set(line, (counted.get(line) ?? 0) + count);
  }
  const records = [...counted].map(([line, count]) => `${line} on ${count}`).sort();
  const written = nodes.map(({ action, node }) => `${action} ${node}`).sort();
  const common = { configuration: records, nodes: written, invalid: [...invalid].sort() };
  return {
    atOnce: {
      ...common,
      actions: lines(atOnce),
      held: isWhole ? ['nothing left'] : [...(held?.instances ?? [])].sort(),
    },
    // A server that another one still depends on stays, as the plan says.
    all: { ...common, actions: lines(changes.filter(({ reason }) => !reason.includes('; it waits while '))), held: [] },
  };
}

/** Returns a line for everything that was planned and not done, and the reverse. */
export function missingAndSurplus(when: string, planned: Effects, done: Effects): string[] {
  const differences: string[] = [];
  for (const kind of ['actions', 'configuration', 'nodes', 'held', 'invalid'] as const) {
    // A plan tells these as they are once everything is approved.
    const isLater = kind === 'configuration' || kind === 'nodes' || kind === 'invalid';
    if (isLater && when === 'at once' && planned.held.length > 0) continue;
    const missing = without(planned[kind], done[kind]).map((line) => `planned ${when}, not done: ${kind}: ${line}`);
    const surplus = without(done[kind], planned[kind]).map((line) => `done ${when}, not planned: ${kind}: ${line}`);
    differences.push(...missing, ...surplus);
  }
  return differences;
}

/** Returns the lines without those of another list, each as often as it is there. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
