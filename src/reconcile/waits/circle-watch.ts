// Breaks circles of waits: shortly after a server begins to wait, searches for a circle it is part of, and lets one
// server of the circle go first. Servers that begin to wait within that time are searched together, so that each server
// is visited once.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type Circle, circleWords, findCircles, type OrderWait, type WaitGraph } from '../../machine/circles.ts';
import type { Reason, ServerRow } from '../../model/rows.ts';

/** How long waits are collected before the search. */
const SEARCH_DELAY_MS = 1_000;
/** Servers per search, which is one step; the rest follows in the next one. */
const SERVERS_MAX = 2_000;
/** After so long, so that other work has its turn in between. */
const REST_DELAY_MS = 10;

interface CircleWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly graph: WaitGraph;
  readonly rowOf: (server: string) => ServerRow | undefined;
  /** Returns true if servers wait for something that every possible circle contains. */
  readonly mayBeCircles: () => boolean;
  readonly wake: (server: string) => void;
}

/** Permission for a server to continue although its wait is not over. */
export interface WaitExemption {
  /** The generation of its row for which the permission is valid. */
  readonly generation: number;
  /** The kind of wait that is skipped. */
  readonly wait: OrderWait['kind'];
  readonly reason: Reason;
}

/** Searches for circles, and keeps the exemptions that break them. */
export class CircleWatch {
  readonly #options: CircleWatchOptions;
  /** Servers that have begun to wait for another since the last search. */
  readonly #begun = new Set<string>();
  readonly #exemptions = new Map<string, WaitExemption>();
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: CircleWatchOptions) {
    this.#options = options;
  }

  /** Has the next search begin at this server too: it waits for another server or for a slot. */
  searchFrom(server: string): void {
    this.#begun.add(server);
    this.#searchAfter(SEARCH_DELAY_MS);
  }

  /** Returns the permission of a server to go first; undefined if it has none. */
  exemptionOf(server: string, { generation }: ServerRow): WaitExemption | undefined {
    const exemption = this.#exemptions.get(server);
    return exemption?.generation === generation ? exemption : undefined;
  }

  /** Ends the permission of a server: it went, or waits for something else. */
  endExemption(server: string): void {
    this.#exemptions.delete(server);
  }

  /** Ends the search. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #searchAfter(ms: number): void {
    if (this.#isStopped) return;
    this.#cancel ??= this.#options.clock.after(ms, () => {
      this.#cancel = undefined;
      this.#search();
    });
  }

  #search(): void {
    const { mayBeCircles, graph } = this.#options;
    if (!mayBeCircles()) {
      this.#begun.clear();
      return;
    }
    const servers = [...this.#begun.values().take(SERVERS_MAX)];
    for (const server of servers) this.#begun.delete(server);
    if (this.#begun.size > 0) this.#searchAfter(REST_DELAY_MS);
    for (const circle of findCircles(servers, graph)) {
      // The other servers of the circle may be part of further ones.
      if (this.#break(circle)) for (const { server } of circle.links) this.#begun.add(server);
    }
    if (this.#begun.size > 0) this.#searchAfter(SEARCH_DELAY_MS);
  }

  /** Returns false if that server has a permission already and its pass is pending. */
  #break(circle: Circle): boolean {
    const { log, rowOf, wake } = this.#options;
    const [{ server, wait }] = circle.links;
    const row = rowOf(server);
    if (row === undefined || this.exemptionOf(server, row) !== undefined) return false;
    const how = wait.kind === 'slot' ? 'takes a slot beyond max_unavailable' : 'goes first';
    const reason: Reason = { code: 'circle_broken', text: `${circleWords(circle)}: ${server} ${how}` };
    this.#exemptions.set(server, { generation: row.generation, wait: wait.kind, reason });
    log.warn({ server, servers: circle.links.length, reason }, 'servers waited in a circle');
    wake(server);
    return true;
  }
}
