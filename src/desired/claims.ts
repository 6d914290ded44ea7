// Tracks which instances claim each server name while instances change versions. It does not decide conflicts.
import type { Unit } from './unit.ts';

/** A server name as one instance spells it. */
export interface NameClaim {
  readonly key: string;
  readonly name: string;
}

/** The claim itself if one instance claims the name, as for almost every name; else the claims by key. */
type ClaimsOfName = NameClaim | Map<string, NameClaim>;

/** Tracks claims without regard to case: most systems treat names that differ in case only as equal. */
export class Claims {
  readonly #byName = new Map<string, ClaimsOfName>();
  #contested = new Set<string>();

  add(key: string, unit: Unit): void {
    for (const name of unit.servers.keys()) {
      const folded = name.toLowerCase();
      const known = this.#byName.get(folded);
      if (known === undefined) {
        this.#byName.set(folded, { key, name });
        continue;
      }
      const several = known instanceof Map ? known : new Map([[known.key, known]]);
      this.#byName.set(folded, several.set(key, { key, name }));
      this.#contested.add(folded);
    }
  }

  remove(key: string, unit: Unit): void {
    for (const name of unit.servers.keys()) {
      const folded = name.toLowerCase();
      const known = this.#byName.get(folded);
      if (known instanceof Map) known.delete(key);
      if (known instanceof Map ? known.size === 0 : known?.key === key) this.#byName.delete(folded);
    }
  }

  /** Returns the claims of each name that has become contested since the last call and still is. */
  takeContested(): readonly (readonly NameClaim[])[] {
    const contested = [...this.#contested].map((folded) => claimsIn(this.#byName.get(folded)));
    this.#contested = new Set();
    return contested.filter(({ length }) => length > 1);
  }

  /** Returns the key of the instance that makes a server of exactly this spelling, or undefined. */
  ownerOf(server: string): string | undefined {
    const claim = firstOf(this.#byName.get(server.toLowerCase()));
    return claim?.name === server ? claim.key : undefined;
  }

  /** Yields one claim per name: every claim, if no name is contested. */
  *all(): Generator<NameClaim> {
    for (const claimed of this.#byName.values()) {
      const claim = firstOf(claimed);
      if (claim !== undefined) yield claim;
    }
  }
}

function claimsIn(claimed: ClaimsOfName | undefined): readonly NameClaim[] {
  if (claimed instanceof Map) return [...claimed.values()];
  return claimed === undefined ? [] : [claimed];
}

function firstOf(claimed: ClaimsOfName | undefined): NameClaim | undefined {
  return claimed instanceof Map ? claimed.values().next().value : claimed;
}
