// Has clients take turns in what is short, but often asked for: handling requests, and sending pieces of long answers.
import { systemClock } from '../base/clock.ts';
import { FairLine } from '../base/shares.ts';
import { WorkTurns } from '../base/slices.ts';

/** So much of a turn of the event loop; enough for 40 common reads. */
const TURN_MS = 2;

/**
 * Does short work for 2 ms in each turn of the event loop; the rest follows in later turns, in which clients take turns. So neither
 * other clients nor what follows commits wait for all that one client asks for.
 */
class ClientTurns {
  readonly #turns = new WorkTurns(systemClock, TURN_MS);
  readonly #line = new FairLine<() => void>();
  #isWorking = false;

  inTurn(client: string, work: () => void): void {
    if (!this.#isWorking && !this.#turns.isOver()) {
      work();
      return;
    }
    this.#line.add(client, work);
    if (!this.#isWorking) void this.#doAll();
  }

  async #doAll(): Promise<void> {
    this.#isWorking = true;
    for (let work = this.#line.takeNext(); work !== undefined; work = this.#line.takeNext()) {
      if (this.#turns.isOver()) await this.#turns.next();
      work();
    }
    this.#isWorking = false;
  }
}

/** Those of this process. */
export const clientTurns = new ClientTurns();
