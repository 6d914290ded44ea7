// Decides from a server's row which proxies are responsible for it, and whether its provider entry may change. Proxies
// match by tags: the key ProxyTag of a server's record and the tags of a client. Pure; see docs/concepts.md, proxies.
// reconcile/passes/decision-context.ts chooses the entry.

import { fieldOf } from '../model/json.ts';
import { PROXY_TAG } from '../model/keys.ts';
import { PROXIED } from '../model/names.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Reason, ServerRow } from '../model/rows.ts';
import { mayBeThere } from './existence.ts';

/** Returns true if the responsible entry has found the server absent, so the entry that matches now may create it. */
export function isHandedOn({ applied, mayExist, action, checked }: ServerRow): boolean {
  return applied === null && !mayExist && action === null && checked;
}

/**
 * Returns true if an operator requested to adopt the server, so the entry that matches now looks for it. An unwanted
 * server is no longer adopted: the entry that created it deletes it.
 */
export function isBeingAdopted({ adopting, state, wanted }: ServerRow): boolean {
  return adopting && state !== 'unknown' && wanted !== null;
}

/**
 * Returns true if an operator requested the replacement. The entry that created the server deletes it and finds it
 * absent.
 */
export function isReplacedOnRequest({ replacing, applied, mayExist, approved }: ServerRow): boolean {
  return replacing && (applied === null ? !mayExist : approved);
}

/** Returns the proxy tags of a server, sorted, without repeats; none if its record has no ProxyTag or an empty one. */
export function proxyTagsOf(record: NodeRecord): readonly string[] {
  const value = fieldOf(record, PROXY_TAG);
  const tags = Array.isArray(value) ? value : [value ?? ''];
  return [...new Set(tags.map(String))].filter((tag) => tag !== '').sort();
}

/** Returns true if a proxy with the tags `own` manages a server with the tags `tags`: one of them, or none at all. */
export function fitsProxy(tags: readonly string[], own: readonly string[]): boolean {
  return tags.length === 0 ? own.length === 0 : tags.some((tag) => own.includes(tag));
}

/** What may fail or answer wrongly for many servers together: a provider entry, or proxies of one place. */
export interface Site {
  readonly provider: string;
  /** Of proxies: the tags of the server that the asked proxy also has. */
  readonly tags?: readonly string[] | undefined;
  /** The entry in the proxy's own settings that answered. Omitted: entries are not distinguished. */
  readonly entry?: string | undefined;
}

/** Returns the key of a site in a map. */
export function siteKey({ provider, tags = [], entry = '' }: Site): string {
  return JSON.stringify([provider, provider === PROXIED ? tags : [], entry]);
}

/** Returns the key of the site that created the server or was asked to; undefined if there is none. */
export function siteKeyOfRow({ provider, proxyTags }: ServerRow): string | undefined {
  return provider === null ? undefined : siteKey({ provider, tags: proxyTags });
}

/** Returns true if both see the same servers: proxies that share a tag manage one site. */
export function isSameSite(a: Site, b: Site): boolean {
  return a.provider === b.provider && fitsProxy(a.tags ?? [], b.tags ?? []);
}

/**
 * Returns true if the proxies that created a server, or were asked to, share no tag with those that would get it now.
 * So the new proxies are at another site and do not see it.
 */
export function hasOtherTags(row: ServerRow, present: readonly string[]): boolean {
  const { proxyTags } = row;
  return proxyTags !== undefined && isBoundToSite(row) && !fitsProxy(proxyTags, present);
}

/**
 * Returns true if a server may be at the site of the proxy that created it, so that only proxies of that site see it.
 */
function isBoundToSite(row: ServerRow): boolean {
  if (row.provider !== PROXIED || isHandedOn(row) || isBeingAdopted(row)) return false;
  return mayBeThere(row) || row.replacing || row.state === 'unknown';
}

/**
 * Returns the tags of the proxies for the next call of a server: tags of its record that its creators have, so that
 * another site does not create it a second time. If its record has none of these tags, the creators may only delete it
 * and report how an action ended; for all other calls the result is undefined, and an operator has to decide.
 */
export function responsibleTags(row: ServerRow, present: readonly string[]): readonly string[] | undefined {
  const { proxyTags } = row;
  if (proxyTags === undefined || !isBoundToSite(row)) return present;
  if (!hasOtherTags(row, present)) return present.filter((tag) => proxyTags.includes(tag));
  return row.wanted === null || row.state === 'unknown' || isReplacedOnRequest(row) ? proxyTags : undefined;
}

/** Returns the reason of a server that would now go to other proxies than those that created it. */
export function otherTagsReason(row: ServerRow, present: readonly string[]): Reason {
  const makers = row.proxyTags ?? [];
  const others = present.filter((tag) => !makers.includes(tag));
  const text = `a proxy ${tagWords(makers)} ${madeWords(row)} it, but it would go to a proxy ${tagWords(others)} now`;
  return { code: 'provider_changed', text };
}

/** Returns the verb for a message: a provider or proxy "made" the server, or "may have made" it by a failed create. */
export function madeWords({ applied, mayExist }: Pick<ServerRow, 'applied' | 'mayExist'>): string {
  return applied === null && mayExist ? 'may have made' : 'made';
}

/** Returns the words that follow "a proxy": `with the tag "lab"`. */
export function tagWords(tags: readonly string[]): string {
  const [first, ...others] = tags.map((tag) => `"${tag}"`);
  if (first === undefined) return 'without tags';
  return others.length === 0 ? `with the tag ${first}` : `with one of the tags ${[first, ...others].join(', ')}`;
}

/** Returns the reason of a server with these tags whose registered proxies do not ask for work. */
export function silentProxyReason(tags: readonly string[]): Reason {
  const text =
    `no proxy ${tagWords(tags)} has asked for work for 5 minutes: look at "treeline proxy" where it runs, ` +
    'or at the line from there';
  return { code: 'no_proxy', text, tags };
}

/** Returns a text as one word of a shell command. Single quotes, because a shell expands text in double quotes. */
function shellWord(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the reason of a server with these tags for which no proxy is registered. */
export function noProxyReason(tags: readonly string[]): Reason {
  const [first] = tags;
  const register = `treeline client add CERTIFICATE --role proxy${first === undefined ? '' : ` --tag ${shellWord(first)}`}`;
  const text = `no entry under execution.providers matches it, and no proxy ${tagWords(tags)} is registered; "${register}" registers one`;
  return { code: 'no_proxy', text, tags };
}
