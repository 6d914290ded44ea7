// Follows the waits from server to server: whether they end without an operator, and whether they form a cycle. Pure.
// docs/concepts.md, states.
import { compareNames } from '../model/names.ts';
import type { State } from '../model/state.ts';
import type { Wait } from './wait.ts';

/** The reason why a waiting server does not continue until an operator acts. */
export type Stall = 'failed' | 'blocked';

/** The states and waits of all servers. */
export interface WaitGraph {
  /** Returns the state of a server; undefined if it has no row. */
  readonly stateOf: (server: string) => State | undefined;
  /** Returns the wait of a server that follows from the rows; undefined if nothing stops it, or its action runs. */
  readonly waitOf: (server: string) => Wait | undefined;
  /** Returns the members that occupy the slots of a group, and whether one of them failed. */
  readonly groupOf: (server: string) => { readonly away: Iterable<string>; readonly hasFailed: boolean };
  /** Returns true if blocked members occupy all slots of a server's group. */
  readonly isOccupied: (server: string) => boolean;
}

/**
 * Returns the stall of each of these waiting servers, or undefined if one of them has none. Visits each server once.
 */
export function findStalls(servers: Iterable<string>, graph: WaitGraph): readonly Stall[] | undefined {
  const known = new Map<string, Stall | undefined>();
  const stalls: Stall[] = [];
  for (const server of servers) {
    const stall = stallOf(server, graph, known);
    if (stall === undefined) return undefined;
    stalls.push(stall);
  }
  return stalls;
}

/** A loop, not recursion: a chain of dependencies may include all servers. */
function stallOf(server: string, graph: WaitGraph, known: Map<string, Stall | undefined>): Stall | undefined {
  const path: string[] = [];
  let stall: Stall | undefined;
  for (let next: string | undefined = server; next !== undefined; ) {
    if (known.has(next)) {
      stall = known.get(next);
      break;
    }
    path.push(next);
    known.set(next, undefined);
    const state = graph.stateOf(next);
    if (state === 'failed' || state === 'blocked') stall = state;
    const wait: Wait | undefined = stall === undefined ? graph.waitOf(next) : undefined;
    if (wait !== undefined && !('server' in wait)) stall = ownStall(next, wait, graph);
    next = wait !== undefined && 'server' in wait ? wait.server : undefined;
  }
  for (const name of path) known.set(name, stall);
  return stall;
}

function ownStall(server: string, wait: Wait, { groupOf, isOccupied }: WaitGraph): Stall | undefined {
  if (wait.kind === 'instance') return wait.until === Number.POSITIVE_INFINITY ? 'blocked' : undefined;
  if (wait.kind === 'failures') return 'failed';
  if (wait.kind !== 'slot' || wait.until !== undefined) return undefined;
  if (groupOf(server).hasFailed) return 'failed';
  return isOccupied(server) ? 'blocked' : undefined;
}

/** One wait of a cycle, and the server that waits. */
interface Link {
  readonly server: string;
  /** The server that it waits for. If it waits for a slot, the first occupant by name. */
  readonly next: string;
  readonly wait: Wait;
}

/** Servers that wait for one another. Begins with the one that should go first. */
export type Cycle = readonly [Link, ...Link[]];

/** The most servers that are visited for one cycle. */
const SERVERS_MAX = 1_000;

/**
 * Returns the cycle that a server is in or waits for; undefined if there is none, or if a server that it waits for can
 * continue.
 */
export function cycleOf(server: string, graph: WaitGraph): Cycle | undefined {
  const nexts = new Map<string, readonly string[]>();
  const open = [server];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (nexts.has(name)) continue;
    const next = neededBy(name, graph);
    if (next.length === 0 || nexts.size >= SERVERS_MAX) return undefined;
    nexts.set(name, next);
    open.push(...next);
  }
  const path: Link[] = [];
  for (let name = server; ; ) {
    const place = path.findIndex((link) => link.server === name);
    if (place >= 0) return startingFirst(path.slice(place));
    const [next = ''] = nexts.get(name) ?? [];
    const wait = graph.waitOf(name);
    if (wait === undefined) return undefined;
    path.push({ server: name, next, wait });
    name = next;
  }
}

/** Returns the servers that alone can end a server's wait, sorted; none if something else can end it. */
function neededBy(server: string, { waitOf, groupOf }: WaitGraph): readonly string[] {
  const wait = waitOf(server);
  if (wait?.kind === 'dependency' || wait?.kind === 'holder') return [wait.server];
  if (wait?.kind !== 'slot' || wait.until !== undefined) return [];
  const { away, hasFailed } = groupOf(server);
  // A failed member is tried again.
  return hasFailed ? [] : [...away].sort(compareNames);
}

/** Kinds of waits, those first that are the least harmful to ignore. */
const KINDS: readonly Wait['kind'][] = ['slot', 'dependency', 'holder'];

/** Returns the cycle beginning with the server that should go first, by kind of wait, then by name. */
function startingFirst(links: readonly Link[]): Cycle | undefined {
  const kind = KINDS.find((one) => links.some(({ wait }) => wait.kind === one));
  const candidates = links.filter(({ wait }) => wait.kind === kind).map(({ server }) => server);
  const smallest = candidates.toSorted(compareNames)[0];
  const start = links.findIndex(({ server }) => server === smallest);
  const [first, ...others] = [...links.slice(start), ...links.slice(0, start)];
  return first && [first, ...others];
}

/** Returns the command that breaks a cycle. */
export function breakingCommand([{ server }]: Cycle): string {
  return `treeline retry --resource ${server} --ignore-order`;
}

const LINKS_SHOWN = 6;

/** Returns why the servers of a cycle do not continue. A long cycle is truncated. */
export function cycleReason(links: Cycle): string {
  const words = links.slice(0, LINKS_SHOWN).map(linkWords);
  const more = links.length > LINKS_SHOWN ? `; and ${links.length - LINKS_SHOWN} more` : '';
  return `these servers wait for one another: ${words.join('; ')}${more}`;
}

function linkWords({ server, next, wait }: Link): string {
  if (wait.kind === 'dependency') return `${server} waits for ${next}, on which it depends`;
  if (wait.kind === 'holder') return `${server} waits for ${next}, which still needs it`;
  return `${server} waits for a slot of its group, which ${next} occupies`;
}
