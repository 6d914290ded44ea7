// Finds servers that wait for each other in a circle, and selects the one that goes first. Pure.
//
// A server waits for one other server (a dependency, or one that still needs it) or for a slot of its group. A wait for
// a slot ends when enough of the members that occupy the slots come back. All other waits end by themselves or by a
// person: a call by its deadline, a time, capacity, an approval. The search removes all servers whose wait can end in
// this way; the remaining ones wait in circles. docs/decisions/0014-passes-and-waits.md defines the rule that
// breaks them.
import { compareNames } from '../model/names.ts';
import type { Wait } from './wait.ts';

/** The slots of a group as a wait for one depends on them. */
export interface GroupSlots {
  /** Members that are away. */
  readonly occupants: Iterable<string>;
  /** Number of occupants that have to come back before one more member may go; 0 or less: the wait ends by itself. */
  readonly missing: number;
}

/** The waits of all servers. */
export interface WaitGraph {
  readonly waitOf: (server: string) => Wait | undefined;
  /** The slots of the group for which `server` waits. */
  readonly slotsOf: (group: string, server: string) => GroupSlots;
}

/** One wait of a circle, and the server that waits. */
interface Link {
  readonly server: string;
  /** The server that it waits for; of the occupants of its group's slots, the first by name. */
  readonly next: string;
  readonly wait: OrderWait;
}

/** Servers that wait for each other. */
export interface Circle {
  /** Begins with the server that goes first. */
  readonly links: readonly [Link, ...Link[]];
}

/** A wait that only another server can end. */
export type OrderWait = Extract<Wait, { kind: 'dependency' | 'holder' | 'slot' }>;

/** A server, or the slots of a group, whose wait is not known to end by itself. */
interface Node {
  readonly wait: OrderWait | undefined;
  /** Number of servers it waits for that have to be removed before it is removed. */
  missing: number;
  /** The nodes that wait for this one. */
  readonly waiters: Node[];
  readonly name: string;
  /** The occupants of the slots of a group. */
  readonly occupants: readonly string[];
  isStuck: boolean;
}

/** Further circles are found by the next search. */
const CIRCLES_MAX = 100;

/** Returns the circles in which `servers`, or the servers they wait for, are involved. */
export function findCircles(servers: Iterable<string>, graph: WaitGraph): readonly Circle[] {
  const nodes = collect(servers, graph);
  release([...nodes.servers.values(), ...nodes.groups.values()].filter(({ missing }) => missing <= 0));
  const stuck = [...nodes.servers.values()].filter(({ isStuck }) => isStuck);
  stuck.sort((a, b) => compareNames(a.name, b.name));
  const circles: Circle[] = [];
  for (const node of stuck) {
    // A server that waits for several slots can be part of several circles.
    while (node.isStuck && circles.length < CIRCLES_MAX) {
      const links = breakable(circleFrom(node, nodes));
      const first = links && nodes.servers.get(links[0].server);
      if (links === undefined || first === undefined) break;
      circles.push({ links });
      release([first]);
    }
  }
  return circles;
}

interface Nodes {
  readonly servers: ReadonlyMap<string, Node>;
  readonly groups: ReadonlyMap<string, Node>;
}

/** Returns a node for every server that these wait for, directly or indirectly, and for every group in between. */
function collect(names: Iterable<string>, graph: WaitGraph): Nodes {
  const servers = new Map<string, Node>();
  const groups = new Map<string, Node>();
  const open: Node[] = [];

  function serverNode(name: string): Node {
    const known = servers.get(name);
    if (known !== undefined) return known;
    const wait = orderWaitOf(name, graph);
    const node = { name, wait, missing: wait === undefined ? 0 : 1, waiters: [], occupants: [], isStuck: true };
    servers.set(name, node);
    open.push(node);
    return node;
  }

  function groupNode(group: string, server: string): Node {
    const known = groups.get(group);
    if (known !== undefined) return known;
    const { occupants, missing } = graph.slotsOf(group, server);
    const node = { name: group, wait: undefined, missing, waiters: [], occupants: [...occupants], isStuck: true };
    groups.set(group, node);
    if (missing > 0) for (const occupant of node.occupants) serverNode(occupant).waiters.push(node);
    return node;
  }

  for (const name of names) serverNode(name);
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { wait, name } = node;
    if (wait?.kind === 'slot') groupNode(wait.group, name).waiters.push(node);
    else if (wait !== undefined) serverNode(wait.server).waiters.push(node);
  }
  return { servers, groups };
}

function orderWaitOf(server: string, { waitOf }: WaitGraph): OrderWait | undefined {
  const wait = waitOf(server);
  return wait !== undefined && isOrderWait(wait) ? wait : undefined;
}

/** Returns true if only another server can end the wait. */
export function isOrderWait(wait: Wait): wait is OrderWait {
  return ['dependency', 'holder', 'slot'].includes(wait.kind);
}

/** Removes these nodes, and every node whose wait can then end. */
function release(nodes: Node[]): void {
  for (const node of nodes) node.isStuck = false;
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    for (const waiter of node.waiters) {
      waiter.missing -= 1;
      if (!waiter.isStuck || waiter.missing > 0) continue;
      waiter.isStuck = false;
      nodes.push(waiter);
    }
  }
}

/** Walks from a stuck server until one is met again; the circle begins there. */
function circleFrom(start: Node, nodes: Nodes): readonly Link[] {
  const links: Link[] = [];
  const places = new Map<string, number>();
  for (let node: Node | undefined = start; node?.wait !== undefined; ) {
    const place = places.get(node.name);
    if (place !== undefined) return links.slice(place);
    places.set(node.name, links.length);
    const next = node.wait.kind === 'slot' ? firstStuck(node.wait.group, nodes) : node.wait.server;
    links.push({ server: node.name, next, wait: node.wait });
    node = nodes.servers.get(next);
  }
  return links;
}

function firstStuck(group: string, { servers, groups }: Nodes): string {
  const occupants = groups.get(group)?.occupants.filter((name) => servers.get(name)?.isStuck) ?? [];
  return occupants.reduce((first, name) => (compareNames(name, first) < 0 ? name : first), occupants[0] ?? '');
}

/** The kinds of wait that are broken, in this order. */
const KINDS: readonly OrderWait['kind'][] = ['slot', 'dependency', 'holder'];

/** Returns the circle starting with the server that goes first, by kind of wait, then by name. Undefined: none may. */
function breakable(links: readonly Link[]): [Link, ...Link[]] | undefined {
  const kind = KINDS.find((one) => links.some(({ wait }) => wait.kind === one));
  const candidates = links.filter(({ wait }) => wait.kind === kind).map(({ server }) => server);
  const smallest = candidates.toSorted(compareNames)[0];
  const start = links.findIndex(({ server }) => server === smallest);
  const [first, ...others] = [...links.slice(start), ...links.slice(0, start)];
  return first === undefined || smallest === undefined ? undefined : [first, ...others];
}

/** Returns the text of a circle, `a waits for b, on which it depends; …`. A long one is truncated. */
export function circleWords({ links }: Circle): string {
  const words = links.slice(0, LINKS_TOLD).map(linkWords);
  const more = links.length > LINKS_TOLD ? `; and ${links.length - LINKS_TOLD} more` : '';
  return `${words.join('; ')}${more}`;
}

const LINKS_TOLD = 6;

function linkWords({ server, next, wait }: Link): string {
  if (wait.kind === 'dependency') return `${server} waits for ${next}, on which it depends`;
  if (wait.kind === 'holder') return `${server} waits for ${next}, which still needs it`;
  return `${server} waits for a slot of ${wait.group}, which ${next} occupies`;
}
