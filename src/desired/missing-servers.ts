// Explains why a server that is depended on is missing: no instance makes it, or the one that does cannot become
// active.

import { didYouMean } from '../base/wording.ts';
import type { ProblemText } from '../model/entry.ts';
import type { Unit } from './unit.ts';

/** Number of missing names for which a similar name is searched. */
const SUGGESTIONS_MAX = 20;
/** Number of invalid instances that a problem names. */
const NAMED_MAX = 5;

/** Versions that cannot become active, by the servers that they would make. */
export class MissingServers {
  readonly #makers = new Map<string, Unit>();
  /** Instances without an active version whose newest version does not tell its servers. */
  readonly #unknownMakers: string[] = [];
  readonly #hints = new Map<string, string | null>();

  /** Notes a version that cannot come into force. */
  refuse(unit: Unit): void {
    for (const server of unit.servers.keys()) this.#makers.set(server, unit);
  }

  /** Notes an invalid instance that was never active, so that it may make any server. */
  refuseUnknown(name: string): void {
    this.#unknownMakers.push(name);
  }

  /** Returns the instance that would make a server if it could become active. */
  makerOf(server: string): Unit | undefined {
    return this.#makers.get(server);
  }

  /**
   * Returns the text for a missing dependency. If another problem is the cause, that one has to be fixed, and this is a
   * warning. `names`: the existing servers.
   */
  textFor({ of, server }: Unit['outside'][number], { keys }: Unit, names: () => Iterable<string>): ProblemText {
    const wanted = `"${of}" depends on "${server}"`;
    const maker = this.#makers.get(server);
    if (maker !== undefined) return waitingText(`${wanted}, a server of "${maker.name}", which cannot come into force`);
    if (this.#unknownMakers.length > 0)
      return waitingText(`${wanted}, which may be a server of ${this.#unknownMakersText()}`);
    return {
      code: 'unknown_dependency',
      message: `${wanted}, which is neither a resource of its template nor a server of any stack`,
      hint: didYouMean(server, keys) ?? this.#suggest(server, names),
    };
  }

  #unknownMakersText(): string {
    const names = this.#unknownMakers.slice(0, NAMED_MAX).map((name) => `"${name}"`);
    const more = this.#unknownMakers.length - names.length;
    return `${names.join(', ')}${more > 0 ? ` or ${more} more` : ''}, which ${names.length > 1 ? 'are' : 'is'} wrong`;
  }

  /** A thousand stacks may miss a server, and searching similar names is slow. */
  #suggest(missing: string, names: () => Iterable<string>): string | null {
    const known = this.#hints.get(missing);
    if (known !== undefined || this.#hints.size === SUGGESTIONS_MAX) return known ?? null;
    const hint = didYouMean(missing, names());
    this.#hints.set(missing, hint);
    return hint;
  }
}

/** The cause is reported where it has to be fixed: this text only names the units that wait for the fix. */
function waitingText(message: string): ProblemText {
  const hint = 'correct that instance first; until then nothing of this one changes';
  return { code: 'dependency_waits', severity: 'warning', message, hint };
}
