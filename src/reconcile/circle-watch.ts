// Breaks circles of waits: soon after a server has begun to wait, it looks whether it waits in one, and lets one server of
// the circle go first. What begins to wait within that time is looked at together, so that each server is walked over once.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { type Circle, circleWords, findCircles, type OrderWait, type WaitGraph } from '../machine/circles.ts';
import type { Reason, ServerRow } from '../model/rows.ts';

/** How long waits are collected before they are looked at. */
const LOOK_MS = 1_000;
/** So many are looked at together; the rest follows. */
const SERVERS_MAX = 20_000;

export interface CircleWatchOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly graph: WaitGraph;
  readonly rowOf: (server: string) => ServerRow | undefined;
  /** Whether a server waits in a way of which every circle has at least one. */
  readonly mayBeCircles: () => boolean;
  readonly wake: (server: string) => void;
}

/** A server may go although its wait is not over. */
export interface Leave {
  /** The generation of its row for which this holds. */
  readonly generation: number;
  /** Which of its waits is not waited for. */
  readonly wait: OrderWait['kind'];
  readonly reason: Reason;
}

export class CircleWatch {
  readonly #options: CircleWatchOptions;
  /** Servers that have begun to wait for another. */
  readonly #begun = new Set<string>();
  readonly #leaves = new Map<string, Leave>();
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: CircleWatchOptions) {
    this.#options = options;
  }

  /** Notes that a server waits for another one, or for a slot. */
  note(server: string): void {
    this.#begun.add(server);
    this.#searchSoon();
  }

  /** Returns why a server goes first although its wait is not over; undefined where it does not. */
  leaveOf(server: string, { generation }: ServerRow): Leave | undefined {
    const leave = this.#leaves.get(server);
    return leave?.generation === generation ? leave : undefined;
  }

  /** Ends the leave of a server: it went, or waits for something else. */
  endLeave(server: string): void {
    this.#leaves.delete(server);
  }

  /** Looks no more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #searchSoon(): void {
    if (this.#isStopped) return;
    this.#cancel ??= this.#options.clock.after(LOOK_MS, () => {
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
    for (const circle of findCircles(servers, graph)) {
      // The others of it may wait in further ones.
      if (this.#break(circle)) for (const { server } of circle.links) this.#begun.add(server);
    }
    if (this.#begun.size > 0) this.#searchSoon();
  }

  /** Returns false where that server may go already, and its pass is still to come. */
  #break(circle: Circle): boolean {
    const { log, rowOf, wake } = this.#options;
    const [{ server, wait }] = circle.links;
    const row = rowOf(server);
    if (row === undefined || this.leaveOf(server, row) !== undefined) return false;
    const how = wait.kind === 'slot' ? 'takes a slot beyond max_unavailable' : 'goes first';
    const reason: Reason = { code: 'circle_broken', text: `${circleWords(circle)}: ${server} ${how}` };
    this.#leaves.set(server, { generation: row.generation, wait: wait.kind, reason });
    log.warn({ server, servers: circle.links.length, reason }, 'servers waited in a circle');
    wake(server);
    return true;
  }
}
