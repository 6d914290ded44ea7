// Compares the place that an answer names with where its server was found before: an answer from elsewhere, such as a
// folder whose disk is not mounted, says nothing about the server. Pure. docs/decisions/0020.

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

/** Other outcomes say nothing about the server, wherever they come from. */
const TELLING: ReadonlySet<Answer['outcome']> = new Set(['done', 'absent', 'replace']);

/**
 * Returns the result as it counts: one from another place than before, or from none where there was one, is an error
 * and no answer. A server that is not made yet is compared with the others of its entry, or of its proxies' site and
 * entry.
 */
export function judgePlace(row: ServerRow, result: CallResult, known: KnownPlaces): CallResult {
  const { answer, provider } = result;
  if (!TELLING.has(answer.outcome)) return result;
  const before = expectedPlace(row, result, known);
  if (before === undefined || before === answer.place) return result;
  const message = otherPlaceText(provider, before, answer.place);
  const nothing = { message, outputs: {}, observed: {}, isElsewhere: true } as const;
  return { ...result, answer: { outcome: result.kind === 'check' ? 'retryable' : 'lost', ...nothing } };
}

/** Returns the row with the place of a result that counts; the same object if that is known. */
export function withPlace(row: ServerRow, { answer, provider, tags }: CallResult): ServerRow {
  if (answer.place === undefined || !TELLING.has(answer.outcome)) return row;
  const place: ServerPlace = {
    name: answer.place,
    provider,
    ...(tags === undefined ? {} : { tags }),
    ...(answer.entry === undefined ? {} : { entry: answer.entry }),
  };
  return row.place !== undefined && isSame({ ...row.place }, { ...place }) ? row : { ...row, place };
}

/** Returns the keys under which a row's place is known: that of its site and entry, and that of the place there. */
export function placeKeys({ place, proxyTags }: ServerRow): readonly string[] {
  if (place === undefined) return [];
  const site = siteKey({ ...place, tags: place.tags ?? proxyTags });
  return [site, placeKey(site, place.name)];
}

function expectedPlace(row: ServerRow, { answer, provider, tags }: CallResult, known: KnownPlaces): string | undefined {
  // Who adopts it says that it is to be found elsewhere; and it may be created at another site than that which was
  // asked first.
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
    `the provider entry ${quote(provider)} ${found}, and was at ${quote(before)} before: ${advice}; where ` +
    `it has moved for good, "treeline adopt --provider ${provider}" accepts that`
  );
}
