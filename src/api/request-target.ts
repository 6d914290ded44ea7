// The first line of a request, before routes look at it (RFC 9112, 3.2).

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]+(?=[/?#]|$)/i;

/**
 * Returns the target of a request as a path with its query, also where it came with scheme and authority, as proxies send
 * it. Undefined where it names no path: Express would answer such a one by itself, without asking who sent it.
 */
export function originForm(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return target;
  const authority = ABSOLUTE_FORM.exec(target)?.[0];
  if (authority === undefined) return undefined;
  const path = target.slice(authority.length);
  return path.startsWith('/') ? path : `/${path}`;
}
