// Matches servers with proxies by tags: the key ProxyTag of a server's record, and the tags of a client. Pure. See
// docs/concepts.md, proxies.
import { fieldOf } from '../model/json.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Reason } from '../model/rows.ts';

const PROXY_TAG = 'ProxyTag';

/** Returns the proxy tags of a server, sorted, without repeats; none if its record has no ProxyTag or an empty one. */
export function proxyTagsOf(record: NodeRecord): readonly string[] {
  const value = fieldOf(record, PROXY_TAG);
  const tags = Array.isArray(value) ? value : [value ?? ''];
  return [...new Set(tags.map(String))].filter((tag) => tag !== '').sort();
}

/** Returns true if a proxy with the tags `own` looks after a server with the tags `tags`: one of them, or none at all. */
export function fitsProxy(tags: readonly string[], own: readonly string[]): boolean {
  return tags.length === 0 ? own.length === 0 : tags.some((tag) => own.includes(tag));
}

/** Returns the words that follow "a proxy": `with the tag "lab"`. */
export function tagWords(tags: readonly string[]): string {
  const [first, ...others] = tags.map((tag) => `"${tag}"`);
  if (first === undefined) return 'without tags';
  return others.length === 0 ? `with the tag ${first}` : `with one of the tags ${[first, ...others].join(', ')}`;
}

/** Returns the reason for which a server with these tags has no proxy. */
export function noProxyReason(tags: readonly string[]): Reason {
  const [first] = tags;
  const register = `treeline client add CERTIFICATE --role proxy${first === undefined ? '' : ` --tag ${/^[\w.-]+$/.test(first) ? first : JSON.stringify(first)}`}`;
  const text = `no entry under execution.providers matches it, and no proxy ${tagWords(tags)} is registered; "${register}" registers one`;
  return { code: 'no_proxy', text };
}
