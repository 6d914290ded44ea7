// A core whose commit statuses go to a list instead of a forge.
import type { Clock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { stallsIn } from '../../src/reconcile/waits/wait-graph.ts';
import type { Attempt } from '../../src/statuses/post-once.ts';
import { StatusReporter } from '../../src/statuses/status-reporter.ts';
import type { WantedStatus } from '../../src/statuses/wanted-statuses.ts';
import { Core, type CoreOptions } from '../reconcile/core.ts';

export const ACCEPTED: Attempt = { isAccepted: true, answer: '201', isOnlyThis: false, waitMs: undefined };
export const UNREACHABLE: Attempt = {
  ...{ isAccepted: false, answer: 'connect ECONNREFUSED', isOnlyThis: false, waitMs: undefined },
};
export const REFUSED: Attempt = { isAccepted: false, answer: 'refused (422)', isOnlyThis: true, waitMs: undefined };

export class ReportingCore {
  core: Core;
  /** Each request, in order. */
  readonly requests: WantedStatus[] = [];
  readonly lines: JsonMap[] = [];
  /** The answer of the forge. */
  answer: (status: WantedStatus) => Attempt | Promise<Attempt> = () => ACCEPTED;
  takesProgress = true;
  sentTo = 'here';
  /** Of the reporter that runs; one that was killed does nothing more. */
  #life = { isOver: false };
  reporter: StatusReporter;

  constructor(options: CoreOptions = {}) {
    this.core = new Core(options);
    this.reporter = this.#report();
  }

  /** Commits, polls, and lets the changes of a second be gathered. */
  async commit(...change: Parameters<Core['source']['commit']>): Promise<string> {
    const commit = this.core.source.commit(...change);
    await this.core.poll();
    await this.core.pass(1_000);
    return commit;
  }

  pass(ms: number): Promise<void> {
    return this.core.pass(ms);
  }

  /** What was sent of a commit, as `state: description`. */
  told(commit: string, context: 'validate' | 'apply'): readonly string[] {
    return this.requests
      .filter((status) => status.commit === commit && status.context === context)
      .map(({ state, description }) => `${state}: ${description}`);
  }

  /** Goes on from the same rows after a stop; `isKilled`: what the reporter would do at a stop is left out. */
  async restart({ isKilled = false } = {}): Promise<void> {
    if (!isKilled) await this.reporter.stop();
    this.#life.isOver = true;
    this.core = await this.core.restart();
    this.reporter = this.#report();
    await this.core.poll();
    await this.core.pass(1_000);
  }

  #report(): StatusReporter {
    const { current, ledger, clock: real } = this.core;
    const life = { isOver: false };
    this.#life = life;
    const clock: Clock = {
      now: () => real.now(),
      monotonic: () => real.monotonic(),
      after: (ms, wake) => real.after(ms, () => (life.isOver ? undefined : wake())),
      nextTurn: () => real.nextTurn(),
    };
    return new StatusReporter({
      ...{ current, ledger, clock, random: () => 0.5, takesProgress: this.takesProgress, sentTo: this.sentTo },
      stallsOf: stallsIn(ledger, clock),
      log: createLog('info', { write: (line) => this.lines.push(JSON.parse(line)) }),
      send: async ({ commit, context, state, description }) => {
        const status = { commit, context, state, description };
        this.requests.push(status);
        return await this.answer(status);
      },
    });
  }
}
