// Tells from a server's row which provider entry is responsible for it where that changes from one entry to another,
// and which proxies: they match by tags, the key ProxyTag of a server's record and the tags of a client. Pure; see
// docs/concepts.md, proxies. reconcile/passes/decision-context.ts chooses the entry.

import { fieldOf } from '../model/json.ts';
import { PROXY_TAG } from '../model/keys.ts';
import { PROXIED } from '../model/names.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Reason, ServerRow } from '../model/rows.ts';
import { mayBeThere } from './existence.ts';

/**
 * Returns true if whoever made the server, or was to, has found it absent: the entry that matches now creates the next
 * one.
 */
export function isHandedOn({ applied, mayExist, action, checked }: ServerRow): boolean {
  return applied === null && !mayExist && action === null && checked;
}

/**
 * Returns true if an operator asked to adopt the server: the entry that matches now is to look for it. An unwanted server
 * is not adopted any more: the entry that created it deletes it.
 */
export function isBeingAdopted({ adopting, state, wanted }: ServerRow): boolean {
  return adopting && state !== 'unknown' && wanted !== null;
}

/** Returns true if an operator had the server replaced: the entry that created it deletes it, and finds it absent. */
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

/** What may answer wrongly, or be away, for many servers at once: a provider entry, for proxies with its place. */
export interface Site {
  readonly provider: string;
  /** Of proxies: those tags of the server that the one which is asked, or was, has itself. */
  readonly tags?: readonly string[] | undefined;
  /** The entry of the proxy's own settings that has answered. Omitted: the entries are not distinguished. */
  readonly entry?: string | undefined;
}

/** Returns the key of a site in a map. */
export function siteKey({ provider, tags = [], entry = '' }: Site): string {
  return JSON.stringify([provider, provider === PROXIED ? tags : [], entry]);
}

/** Returns the key of the site that made a server, or was asked to; undefined: none was. */
export function siteKeyOfRow({ provider, proxyTags }: ServerRow): string | undefined {
  return provider === null ? undefined : siteKey({ provider, tags: proxyTags });
}

/**
 * Returns true if what one of them finds is what the other one would find: proxies that share a tag manage one site.
 */
export function isSameSite(a: Site, b: Site): boolean {
  return a.provider === b.provider && fitsProxy(a.tags ?? [], b.tags ?? []);
}

/**
 * Returns true if the proxies that made a server, or were asked to, share no tag with those that would get it now. They
 * are at another site, and do not see it.
 */
export function hasOtherTags(row: ServerRow, present: readonly string[]): boolean {
  const { proxyTags } = row;
  return proxyTags !== undefined && isBoundToSite(row) && !fitsProxy(proxyTags, present);
}

/** Returns true if a server may be at the site of the proxy that made it: only proxies of that site can find out. */
function isBoundToSite(row: ServerRow): boolean {
  if (row.provider !== PROXIED || isHandedOn(row) || isBeingAdopted(row)) return false;
  return mayBeThere(row) || row.replacing || row.state === 'unknown';
}

/**
 * Returns the tags of the proxies that the next call of a server is for: those that made it and are in its record, so
 * that other sites in a list do not make it a second time. Undefined if an operator has to decide first, since its record
 * has none of them. The proxies that made it report how an action ended, and delete it; they do not change it to what
 * others are to have.
 */
export function responsibleTags(row: ServerRow, present: readonly string[]): readonly string[] | undefined {
  const { proxyTags } = row;
  if (proxyTags === undefined || !isBoundToSite(row)) return present;
  if (!hasOtherTags(row, present)) return present.filter((tag) => proxyTags.includes(tag));
  return row.wanted === null || row.state === 'unknown' || isReplacedOnRequest(row) ? proxyTags : undefined;
}

/** Returns the reason of a server that other proxies would get now than those that made it. */
export function otherTagsReason(row: ServerRow, present: readonly string[]): Reason {
  const makers = row.proxyTags ?? [];
  const others = present.filter((tag) => !makers.includes(tag));
  const text = `a proxy ${tagWords(makers)} ${madeWords(row)} it, but it would go to a proxy ${tagWords(others)} now`;
  return { code: 'provider_changed', text };
}

/** Returns the verb for a provider or proxy and the server that it made, or that its failed create may have left. */
export function madeWords({ applied, mayExist }: Pick<ServerRow, 'applied' | 'mayExist'>): string {
  return applied === null && mayExist ? 'may have made' : 'made';
}

/** Returns the words that follow "a proxy": `with the tag "lab"`. */
export function tagWords(tags: readonly string[]): string {
  const [first, ...others] = tags.map((tag) => `"${tag}"`);
  if (first === undefined) return 'without tags';
  return others.length === 0 ? `with the tag ${first}` : `with one of the tags ${[first, ...others].join(', ')}`;
}

/**
 * Returns the reason for which a server with these tags has no proxy that asks for its actions, though one is
 * registered.
 */
export function silentProxyReason(tags: readonly string[]): Reason {
  const text =
    `no proxy ${tagWords(tags)} has asked for work for 5 minutes: look at "treeline proxy" where it runs, ` +
    'or at the line from there';
  return { code: 'no_proxy', text, tags };
}

/** Returns a text as one word of a command that an operator pastes: a shell would run what stands in double quotes. */
function shellWord(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the reason for which a server with these tags has no proxy. */
export function noProxyReason(tags: readonly string[]): Reason {
  const [first] = tags;
  const register = `treeline client add CERTIFICATE --role proxy${first === undefined ? '' : ` --tag ${shellWord(first)}`}`;
  const text = `no entry under execution.providers matches it, and no proxy ${tagWords(tags)} is registered; "${register}" registers one`;
  return { code: 'no_proxy', text, tags };
}
