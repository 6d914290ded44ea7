// Compares the place of an answer with the place where the server was found before. An answer from another place, such
// as a folder whose disk is not mounted, says nothing about the server. Pure. docs/decisions/0020.

import { quote } from '../base/wording.ts';
import type { Answer, CallResult } from '../model/call-result.ts';
import { isSame } from '../model/json.ts';
import type { ServerPlace, ServerRow } from '../model/rows.ts';
import { mayBeThere } from './existence.ts';
import { isSameSite, siteKey } from './responsibility.ts';

/** The places of all servers. */
export interface KnownPlaces {
  /** Returns the names of the servers under a key of {@link placeKeys}. */
  readonly under: (key: string) => ReadonlySet<string>;
  readonly rowOf: (server: string) => ServerRow | undefined;
}

/** Outcomes that say something about the server. */
const CONCLUSIVE: ReadonlySet<Answer['outcome']> = new Set(['done', 'absent', 'replace']);

/**
 * Returns the result, or an error in its place if it comes from another place than before, or names none although one
 * is known. A server that is not created yet is compared with the others of its entry, or of its proxies' site and
 * entry.
 */
export function judgePlace(row: ServerRow, result: CallResult, known: KnownPlaces): CallResult {
  const { answer, provider } = result;
  if (!CONCLUSIVE.has(answer.outcome)) return result;
  const before = expectedPlace(row, result, known);
  if (before === undefined || before === answer.place) return result;
  const message = otherPlaceText(provider, before, answer.place);
  const nothing = { message, outputs: {}, observed: {}, isElsewhere: true } as const;
  return { ...result, answer: { outcome: result.kind === 'check' ? 'retryable' : 'lost', ...nothing } };
}

/** Returns the row with the place of a conclusive result; the same object if the row already has it. */
export function withPlace(row: ServerRow, { answer, provider, tags }: CallResult): ServerRow {
  if (answer.place === undefined || !CONCLUSIVE.has(answer.outcome)) return row;
  const place: ServerPlace = {
    name: answer.place,
    provider,
    ...(tags === undefined ? {} : { tags }),
    ...(answer.entry === undefined ? {} : { entry: answer.entry }),
  };
  return row.place !== undefined && isSame({ ...row.place }, { ...place }) ? row : { ...row, place };
}

/** Returns the keys of a row's place: the key of its site and entry, and the key of the place there. */
export function placeKeys({ place, proxyTags }: ServerRow): readonly string[] {
  if (place === undefined) return [];
  const site = siteKey({ ...place, tags: place.tags ?? proxyTags });
  return [site, placeKey(site, place.name)];
}

function expectedPlace(row: ServerRow, { answer, provider, tags }: CallResult, known: KnownPlaces): string | undefined {
  // An adopted server may be at another place, and a server may be created at another site than the one asked first.
  const { place, proxyTags } = row;
  const isOfSite = place !== undefined && isSameSite({ ...place, tags: place.tags ?? proxyTags }, { provider, tags });
  if (isOfSite && mayBeThere(row) && !row.adopting) return place.name;
  const site = siteKey({ provider, tags, entry: answer.entry });
  const [other] = known.under(site);
  if (other === undefined) return undefined;
  if (answer.place !== undefined && known.under(placeKey(site, answer.place)).size > 0) return answer.place;
  return known.rowOf(other)?.place?.name;
}

function placeKey(site: string, name: string): string {
  return JSON.stringify([site, name]);
}

function otherPlaceText(provider: string, before: string, now: string | undefined): string {
  const found = now === undefined ? 'names no place' : `answers from the place ${quote(now)}`;
  const advice = 'bring its storage back, or the marker in it';
  return (
    `the provider entry ${quote(provider)} ${found}, but was at ${quote(before)} before: ${advice}; if ` +
    `it has moved permanently, "treeline adopt --provider ${provider}" accepts that`
  );
}
