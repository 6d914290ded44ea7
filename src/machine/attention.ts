// Decides from a server's row whether it needs an operator, and groups servers by cause. Pure. See docs/concepts.md,
// what needs an operator.
import { PROXIED } from '../model/names.ts';
import type { ServerRow } from '../model/rows.ts';
import { effectiveState } from './reasons.ts';

/**
 * A failed server counts as failed until it succeeds. Otherwise each later try would end the cause and begin a new one.
 */
function kindOf(row: ServerRow): 'failed' | 'blocked' | 'drifted' | undefined {
  const state = effectiveState(row);
  if (state === 'blocked' || state === 'drifted') return state;
  return state === 'failed' || row.gaveUp ? 'failed' : undefined;
}

/**
 * Returns the cause for which a server needs an operator, `<kind>:<subject>`, equal for all servers of one cause;
 * undefined if it needs none. The subject is the instance, unless the servers of a whole site are gone or no proxy asks
 * for work.
 */
export function attentionKeyOf(row: ServerRow): string | undefined {
  const { instance, reason, provider, proxyTags = [] } = row;
  const kind = kindOf(row);
  if (kind === undefined) return undefined;
  if (reason?.code === 'many_gone' && kind === 'drifted') {
    return `gone:${provider === PROXIED ? [provider, ...proxyTags].join('/') : provider}`;
  }
  if (reason?.code === 'no_proxy' && kind === 'blocked') return `proxies:${reason.tags?.join(',') ?? ''}`;
  return `${kind === 'blocked' && row.state === 'unknown' ? 'lost' : kind}:${instance}`;
}
