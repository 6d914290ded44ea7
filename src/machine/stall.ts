// Tells whether waiting servers can continue without a person: a server that waits, directly or indirectly, for a
// failed or blocked one cannot. docs/concepts.md, states.
import type { State } from '../model/state.ts';

/** The reason for which a waiting server does not continue until a person acts. */
export type Stall = 'failed' | 'blocked';

/** The recorded waits between servers. */
export interface StallGraph {
  /** Returns the state of a server; undefined if none of that name is recorded. */
  readonly stateOf: (server: string) => State | undefined;
  /** Returns why a waiting server does not continue, apart from servers it waits for; undefined if nothing stops it. */
  readonly judgeStall: (server: string) => Stall | undefined;
  /** Returns the servers that a waiting server waits for; undefined for each that was checked and is none of them. */
  readonly needsOf: (server: string) => Iterable<string | undefined>;
  /** Returns true if a waiting server is known to need this one, without reading its other needs. */
  readonly isNeeded: (other: string, server: string) => boolean;
}

/** Number of needs that are read for one answer; see {@link findStalls}. */
const STEPS_MAX = 200_000;

const WAITING: ReadonlySet<State> = new Set(['pending', 'marked for delete']);

/** Returns true if a server in this state has not begun and waits for something. */
export function isWaiting(state: State): boolean {
  return WAITING.has(state);
}

/**
 * Returns the stall of each of these waiting servers, or undefined as soon as one has none. Visits each server once.
 * Gives up and returns undefined after reading `stepsMax` needs: the answer must be quick.
 */
export function findStalls(
  servers: Iterable<string>,
  graph: StallGraph,
  stepsMax = STEPS_MAX,
): readonly Stall[] | undefined {
  const search = new StallSearch(graph, stepsMax);
  const stalls: Stall[] = [];
  for (const server of servers) {
    const stall = search.of(server);
    if (stall === undefined) return undefined;
    stalls.push(stall);
  }
  return stalls;
}

interface Visit {
  readonly server: string;
  readonly needs: Iterator<string | undefined>;
}

class StallSearch {
  readonly #graph: StallGraph;
  /** Stall by server; undefined: it has none, or is on the path of the current walk. */
  readonly #known = new Map<string, Stall | undefined>();
  /** The server last found to stall another: most servers wait for the same one. */
  #last: { readonly server: string; readonly stall: Stall } | undefined;
  #stepsLeft: number;

  constructor(graph: StallGraph, stepsMax: number) {
    this.#graph = graph;
    this.#stepsLeft = stepsMax;
  }

  /** Walks depth first without recursion: a chain of dependencies may be as long as the number of servers. */
  of(server: string): Stall | undefined {
    const path: Visit[] = [];
    let stall = this.#enter(server, path);
    while (stall === undefined) {
      const visit = path.at(-1);
      if (visit === undefined) return undefined;
      const next = this.#stepsLeft > 0 ? visit.needs.next() : undefined;
      if (next === undefined) return undefined;
      this.#stepsLeft -= 1;
      if (next.done) path.pop();
      else if (next.value !== undefined) {
        stall = this.#enter(next.value, path);
        if (stall !== undefined) this.#last = { server: next.value, stall };
      }
    }
    // Every server on the path waits for the one that was found.
    for (const visit of path) this.#known.set(visit.server, stall);
    return stall;
  }

  #stallByLast(server: string): Stall | undefined {
    return this.#last !== undefined && this.#graph.isNeeded(this.#last.server, server) ? this.#last.stall : undefined;
  }

  /** Returns the stall of a server if it is known without its needs; else adds it to the path if it has needs. */
  #enter(server: string, path: Visit[]): Stall | undefined {
    if (this.#known.has(server)) return this.#known.get(server);
    const state = this.#graph.stateOf(server);
    if (state === 'failed' || state === 'blocked') return state;
    const isOpen = state !== undefined && isWaiting(state);
    const stall = isOpen ? (this.#graph.judgeStall(server) ?? this.#stallByLast(server)) : undefined;
    this.#known.set(server, stall);
    if (isOpen && stall === undefined) path.push({ server, needs: this.#graph.needsOf(server)[Symbol.iterator]() });
    return stall;
  }
}
