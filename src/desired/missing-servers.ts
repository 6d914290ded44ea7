// Finds instances that depend on a server that no version has, and explains why: no instance has it, or the instance
// that has it cannot become active.

import { didYouMean } from '../base/wording.ts';
import { type ProblemText, problemAt } from '../model/entry.ts';
import { isValidUnit, type Refusal, type Unit } from './unit.ts';
import type { Versions } from './versions.ts';

/** A unit that depends on a missing server. `owner`: the active instance that has the server. */
interface Need {
  readonly key: string;
  readonly unit: Unit;
  readonly missing: Unit['outside'][number];
  readonly owner: string | undefined;
}

/**
 * Returns refusals of instances that depend on a missing server. If an active instance gives the server up, another
 * refusal may still pin that instance and keep the server, so such a need is refused only if `isFinal`, after all other
 * checks.
 */
export function missingRefusals(
  versions: Versions,
  missing: MissingServers,
  { isFinal }: { readonly isFinal: boolean },
): readonly Refusal[] {
  const needs = [...versions.newest].flatMap(([key, unit]) => needOf(key, unit, versions));
  const refused = isFinal
    ? decided(needs)
    : needs.filter(({ owner }) => owner === undefined || versions.pinned.has(owner));
  const names = (): Iterable<string> => versions.claims.all().map(({ name }) => name);
  return refused.map(({ key, unit, missing: { origin, ...need } }) => {
    const text = missing.textFor({ ...need, origin }, unit, names);
    return { key, problem: problemAt(origin.entry, origin.pointer, { ...text, instances: [unit.name] }) };
  });
}

function needOf(key: string, unit: Unit, { claims, baseline }: Versions): readonly Need[] {
  const missing = unit.outside.find(({ server }) => claims.ownerOf(server) === undefined);
  return missing === undefined ? [] : [{ key, unit, missing, owner: baseline.owners.get(missing.server) }];
}

/** Returns the needs whose owner does not itself miss a server; if all owners do, the first need. */
function decided(needs: readonly Need[]): readonly Need[] {
  const keys = new Set(needs.map(({ key }) => key));
  const found = needs.filter(({ key, owner = key }) => owner === key || !keys.has(owner));
  return found.length > 0 ? found : needs.slice(0, 1);
}

/** The most missing names for which a similar name is searched. */
const SUGGESTIONS_MAX = 20;
/** The most invalid instances that a problem names. */
const NAMED_MAX = 5;

/** Versions that cannot become active, by their servers. */
export class MissingServers {
  readonly makers = new Map<string, Unit>();
  /** Instances without an active version whose servers are unknown. */
  readonly #unknownMakers: string[] = [];
  readonly #hints = new Map<string, string | null>();

  /** Records a version that cannot become active. `isNew`: its instance has no active version. */
  refuse(unit: Unit, { isNew }: { readonly isNew: boolean }): void {
    if (isNew && unit.servers.size === 0 && !isValidUnit(unit)) this.#unknownMakers.push(unit.name);
    for (const server of unit.servers.keys()) this.makers.set(server, unit);
  }

  /**
   * Returns the text for a missing dependency. If another problem is the cause, this one is only a warning. `names`:
   * the existing servers.
   */
  textFor({ of, server }: Unit['outside'][number], { keys }: Unit, names: () => Iterable<string>): ProblemText {
    const wanted = `"${of}" depends on "${server}"`;
    const maker = this.makers.get(server);
    if (maker !== undefined) return waitingText(`${wanted}, a server of "${maker.name}", which cannot become active`);
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

  /** Searching for similar names is slow, and a thousand stacks may miss one server. */
  #suggest(missing: string, names: () => Iterable<string>): string | null {
    const known = this.#hints.get(missing);
    if (known !== undefined || this.#hints.size === SUGGESTIONS_MAX) return known ?? null;
    const hint = didYouMean(missing, names());
    this.#hints.set(missing, hint);
    return hint;
  }
}

/** The cause has a problem of its own; this text names the units that wait for its correction. */
function waitingText(message: string): ProblemText {
  const hint = 'correct that instance first; until then nothing of this one changes';
  return { code: 'dependency_waits', severity: 'warning', message, hint };
}
