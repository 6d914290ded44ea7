// Why a server that something depends on is not there: nobody makes it, or whoever does cannot come into force.
import type { ProblemText } from '../model/entry.ts';
import { didYouMean } from '../model/suggest.ts';
import type { Unit } from './unit.ts';

/** Names for which the nearest one is looked for. */
const SUGGESTIONS_MAX = 20;
/** Wrong instances that a problem names. */
const NAMED_MAX = 5;

/** Versions that cannot come into force, by the servers that they would make. */
export class MissingServers {
  readonly #makers = new Map<string, Unit>();
  /** Instances that have no version in force, and of whose newest nobody knows what servers it makes. */
  readonly #unknownMakers: string[] = [];
  readonly #hints = new Map<string, string | null>();

  /** Notes a version that cannot come into force. */
  refuse(unit: Unit): void {
    for (const server of unit.servers.keys()) this.#makers.set(server, unit);
  }

  /** Notes an instance that is wrong and was never in force, so that it may make any server. */
  refuseUnknown(name: string): void {
    this.#unknownMakers.push(name);
  }

  /** Returns the instance that would make a server if it could come into force. */
  makerOf(server: string): Unit | undefined {
    return this.#makers.get(server);
  }

  /**
   * Returns what is said of a dependency that is not there. Where another mistake is the cause, that one has to be mended,
   * and this is none. `names`: the servers that there are.
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

  /** A thousand stacks may miss a server, and looking for the nearest name is slow. */
  #suggest(missing: string, names: () => Iterable<string>): string | null {
    const known = this.#hints.get(missing);
    if (known !== undefined || this.#hints.size === SUGGESTIONS_MAX) return known ?? null;
    const hint = didYouMean(missing, names());
    this.#hints.set(missing, hint);
    return hint;
  }
}

/** The mistake is reported where it has to be mended: this only says who waits for that. */
function waitingText(message: string): ProblemText {
  const hint = 'mend that instance first; until then nothing of this one changes';
  return { code: 'dependency_waits', severity: 'warning', message, hint };
}
