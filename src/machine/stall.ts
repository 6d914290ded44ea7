// Finds out whether servers that wait can go on without a person: whoever waits, directly or not, for a server that is
// failed or blocked cannot. docs/concepts.md, states.
import type { State } from '../model/state.ts';

/** Why a waiting server does not go on before somebody acts. */
export type Stall = 'failed' | 'blocked';

/** Who waits for whom, as it is recorded. */
export interface StallGraph {
  /** The state of a server; undefined where none of that name is recorded. */
  readonly stateOf: (server: string) => State | undefined;
  /** Why a waiting server does not go on, apart from other servers that it names; undefined where nothing keeps it. */
  readonly ownStallOf: (server: string) => Stall | undefined;
  /** The servers all of which a waiting server has to wait for; undefined for each that was looked at and is none of them. */
  readonly needsOf: (server: string) => Iterable<string | undefined>;
  /** Whether a waiting server is known to need this one, without a look at the others that it needs. */
  readonly isNeeded: (other: string, server: string) => boolean;
}

/** So many others are looked at for one answer; see {@link stallsOf}. */
const STEPS_MAX = 200_000;

const WAITING: ReadonlySet<State> = new Set(['pending', 'marked for delete']);

/** Returns whether a server in this state has not begun and waits for something. */
export function isWaiting(state: State): boolean {
  return WAITING.has(state);
}

/**
 * Returns the stall of each of these waiting servers, or undefined as soon as one has none. Each server is walked over
 * once. After `looksMax` looks it gives up and returns undefined too: an answer in time is worth more than a right one late.
 */
export function stallsOf(
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
  /** What is known of a server; undefined: it has no stall, or is on the way that is being walked. */
  readonly #known = new Map<string, Stall | undefined>();
  /** The last one found that stalls another: many servers mostly wait for the same one of all that they need. */
  #last: { readonly server: string; readonly stall: Stall } | undefined;
  #stepsLeft: number;

  constructor(graph: StallGraph, stepsMax: number) {
    this.#graph = graph;
    this.#stepsLeft = stepsMax;
  }

  /** Walks depth first, without recursion: a chain of dependencies may be as long as there are servers. */
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
    // Everybody on the way waits for the one that was found.
    for (const visit of path) this.#known.set(visit.server, stall);
    return stall;
  }

  #stallByLast(server: string): Stall | undefined {
    return this.#last !== undefined && this.#graph.isNeeded(this.#last.server, server) ? this.#last.stall : undefined;
  }

  /** Returns the stall of a server where it is known without its needs; else adds it to the path where it has any. */
  #enter(server: string, path: Visit[]): Stall | undefined {
    if (this.#known.has(server)) return this.#known.get(server);
    const state = this.#graph.stateOf(server);
    if (state === 'failed' || state === 'blocked') return state;
    const isOpen = state !== undefined && isWaiting(state);
    const stall = isOpen ? (this.#graph.ownStallOf(server) ?? this.#stallByLast(server)) : undefined;
    this.#known.set(server, stall);
    if (isOpen && stall === undefined) path.push({ server, needs: this.#graph.needsOf(server)[Symbol.iterator]() });
    return stall;
  }
}
