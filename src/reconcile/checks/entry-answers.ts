// Knows which provider entries answer nothing: none of their last calls had a definite answer. So a dead site is one
// cause, and not one for each of its servers. In memory of the process that calls them: the first calls after a start
// show it again.
import type { Clock } from '../../base/clock.ts';
import { momentOf } from '../../base/wording.ts';
import type { Answer } from '../../model/call-result.ts';
import { PROXIED } from '../../model/names.ts';
import type { CallInFlight } from '../calls/capacity.ts';

/** A provider entry that answers nothing. */
export interface SilentEntry {
  readonly entry: string;
  /** When the first call began that had no answer; RFC 3339, with milliseconds. */
  readonly since: string;
  /** The servers of these calls. */
  readonly servers: ReadonlySet<string>;
  /** How the last call ended. */
  readonly reason: string;
}

interface Unanswered extends SilentEntry {
  readonly begun: number;
  readonly count: number;
  readonly servers: Set<string>;
}

/** So many calls without an answer, over so long. */
const CALLS_LEAST = 3;
const SILENT_MS = 60_000;

/** How the calls of provider entries end. Those of proxies are not looked at. */
export class EntryAnswers {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By entry, since its last answer. */
  readonly #unanswered = new Map<string, Unanswered>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Notes how a call has ended. `because`: why it has no answer, where `answer` is undefined. */
  ended(
    server: string,
    call: CallInFlight,
    { answer, because }: { readonly answer: Answer | undefined; readonly because: string | undefined },
  ): void {
    const { provider, claimed, isRoutine } = call;
    // A routine check that is in the way of an action is ended without an answer.
    if (provider === PROXIED || (answer === undefined && isRoutine)) return;
    if (answer !== undefined && answer.outcome !== 'retryable' && answer.outcome !== 'lost') {
      this.#unanswered.delete(provider);
      return;
    }
    const known = this.#unanswered.get(provider);
    const reason = answer?.message ?? because ?? 'it ended without an answer';
    const servers = (known?.servers ?? new Set()).add(server);
    const first = known ?? { entry: provider, since: momentOf(claimed.wall), begun: claimed.monotonic, count: 0 };
    this.#unanswered.set(provider, { ...first, count: first.count + 1, reason, servers });
  }

  /**
   * Returns true if the last call of a server had no answer because its entry answers nothing: then the server is no
   * cause of its own.
   */
  explains(server: string): boolean {
    return this.silent().some(({ servers }) => servers.has(server));
  }

  /**
   * Returns since when the calls of an entry have no answer, also if it is not silent yet; undefined if the last one
   * had an answer.
   */
  unansweredOf(entry: string): SilentEntry | undefined {
    return this.#unanswered.get(entry);
  }

  /** Returns the entries that answer nothing. */
  silent(): readonly SilentEntry[] {
    const now = this.#clock.monotonic();
    return [...this.#unanswered.values()].filter(
      ({ begun, count }) => count >= CALLS_LEAST && now - begun >= SILENT_MS,
    );
  }
}
