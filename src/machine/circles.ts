// Finds servers that wait for one another in a circle, and says which of them goes first. Pure.
//
// A server waits for one other (a dependency, or one that still needs it), or for a slot of its group: then for as many of
// the members that occupy the slots as have to come back. Everything else that is waited for ends by itself or by a
// person: a call by its deadline, a time, capacity, an approval. What is left when all servers are taken away whose wait
// can end like that waits in circles. docs/decisions/0032-waits-form-no-circle.md has the rule that breaks them.
import { compareNames } from '../model/names.ts';
import type { Wait } from './wait.ts';

/** The slots of a group, as far as waits for them go. */
export interface GroupSlots {
  /** Members that are away. */
  readonly occupants: Iterable<string>;
  /** How many of them have to come back before one more may go; 0 or less: the wait ends by itself. */
  readonly missing: number;
}

export interface WaitGraph {
  readonly waitOf: (server: string) => Wait | undefined;
  /** The slots of the group for which `server` waits. */
  readonly slotsOf: (group: string, server: string) => GroupSlots;
}

/** One wait of a circle, and whose it is. */
export interface Link {
  readonly server: string;
  /** The server that it waits for; of those that occupy the slots of its group, the first by name. */
  readonly next: string;
  readonly wait: OrderWait;
}

export interface Circle {
  /** Beginning with the server that goes first. */
  readonly links: readonly [Link, ...Link[]];
}

/** A wait that only another server can end. */
export type OrderWait = Extract<Wait, { kind: 'dependency' | 'holder' | 'spelling' | 'slot' }>;

/** A server, or the slots of a group, whose wait cannot end by itself as far as is known. */
interface Node {
  readonly wait: OrderWait | undefined;
  /** How many of those that it waits for have to be taken away before it is. */
  missing: number;
  /** Those that wait for it. */
  readonly waiters: Node[];
  readonly name: string;
  /** The occupants of the slots of a group. */
  readonly occupants: readonly string[];
  isStuck: boolean;
}

/** More are found the next time. */
const CIRCLES_MAX = 100;

/** Returns the circles in which `servers`, or those that they wait for, wait. */
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

/** Returns a node for every server that these wait for, directly or not, and for every group in between. */
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

/** Returns whether only another server can end a wait. */
export function isOrderWait(wait: Wait): wait is OrderWait {
  if (wait.kind === 'dependency' || wait.kind === 'spelling') return true;
  if (wait.kind === 'holder') return true;
  return wait.kind === 'slot' && !wait.isAway;
}

/** Takes these away, and everybody whose wait can end then. */
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

/** Walks from a server that waits in vain to one that is met again; from there on it is a circle. */
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

/** Which kind of wait is broken off first. Two spellings of a name are never there at once, also not for this. */
const KINDS: readonly OrderWait['kind'][] = ['slot', 'dependency', 'holder'];

/** Returns the circle as it begins with the server that goes first: by the kind of its wait, then by name. Undefined: nobody may. */
function breakable(links: readonly Link[]): [Link, ...Link[]] | undefined {
  const kind = KINDS.find((one) => links.some(({ wait }) => wait.kind === one));
  const candidates = links.filter(({ wait }) => wait.kind === kind).map(({ server }) => server);
  const smallest = candidates.toSorted(compareNames)[0];
  const start = links.findIndex(({ server }) => server === smallest);
  const [first, ...others] = [...links.slice(start), ...links.slice(0, start)];
  return first === undefined || smallest === undefined ? undefined : [first, ...others];
}

/** Returns a circle for a person, `a waits for b, on which it depends; …`. A long one is cut short. */
export function circleWords({ links }: Circle): string {
  const words = links.slice(0, LINKS_TOLD).map(linkWords);
  const more = links.length > LINKS_TOLD ? `; and ${links.length - LINKS_TOLD} more` : '';
  return `${words.join('; ')}${more}`;
}

const LINKS_TOLD = 6;

function linkWords({ server, next, wait }: Link): string {
  if (wait.kind === 'dependency') return `${server} waits for ${next}, on which it depends`;
  if (wait.kind === 'holder') return `${server} waits for ${next}, which still needs it`;
  if (wait.kind === 'spelling') return `${server} waits for ${next}, whose name differs in case only`;
  return `${server} waits for a slot of ${wait.group}, which ${next} occupies`;
}
