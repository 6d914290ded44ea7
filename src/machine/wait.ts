// Defines the wait of a server as data, and its text for operators. A server has at most one wait; decide.ts determines
// it.

import { toRfc3339 } from '../base/wording.ts';
import { failuresDigest } from './hold-digests.ts';
import { tagWords } from './responsibility.ts';

/** What a server waits for. `until`: when the wait ends at the latest, milliseconds since 1970. */
export type Wait =
  /** It depends on that server, which is not up. */
  | { readonly kind: 'dependency'; readonly server: string }
  /**
   * It uses an output of that server that was not reported or cannot be used. `until`: when that server is checked
   * again.
   */
  | { readonly kind: 'output'; readonly server: string; readonly output: string; readonly until?: number }
  /** It is to be deleted, and that server still needs it. */
  | { readonly kind: 'holder'; readonly server: string }
  /** Its group has no free slot, or pauses until a time. */
  | { readonly kind: 'slot'; readonly group: string; readonly until: number | undefined }
  /**
   * `tags`: a proxy with one of these tags, or without tags if the list is empty, has to take the call. `isRoutine`: a
   * check that comes after all actions. `isChecked`: a create that comes before them, while its check is fresh.
   */
  | {
      readonly kind: 'capacity';
      readonly provider: string;
      readonly instance: string;
      readonly tags?: readonly string[];
      readonly isRoutine?: true;
      readonly isChecked?: true;
    }
  /** Too many updates of its commit have failed. */
  | { readonly kind: 'failures'; readonly commit: string }
  /** Its instance is suspended or held; infinity: until an operator resumes it. */
  | { readonly kind: 'instance'; readonly instance: string; readonly until: number }
  /** Its replacement exceeds the delete budget, which is judged again at that time. */
  | { readonly kind: 'budget'; readonly until: number }
  /** It is gone, and it is not known yet whether its whole site is gone. */
  | { readonly kind: 'site'; readonly until: number }
  | { readonly kind: 'time'; readonly until: number };

/** A wait of one kind. */
export type WaitOfKind<K extends Wait['kind']> = Extract<Wait, { readonly kind: K }>;

/** Returns when a wait ends at the latest; undefined if no time ends it. */
export function latestEnd(wait: Wait): number | undefined {
  return 'until' in wait && wait.until !== undefined && Number.isFinite(wait.until) ? wait.until : undefined;
}

/** Returns the text of a wait. */
export function waitReason(wait: Wait): string {
  switch (wait.kind) {
    case 'dependency':
      return `waits until ${wait.server} is done, on which it depends`;
    case 'output':
      return `waits for the output "${wait.output}" of ${wait.server}, which its provider has not reported yet`;
    case 'holder':
      return `waits until ${wait.server} does not need it any more`;
    case 'slot':
      if (wait.until !== undefined) return `waits until ${toRfc3339(wait.until)}: the group ${wait.group} rests`;
      return `waits for a slot of the group ${wait.group}: a member is failed, or as many are away as may be`;
    case 'capacity':
      if (wait.tags !== undefined) return `waits for a proxy ${tagWords(wait.tags)}`;
      return `waits until the provider entry "${wait.provider}" has capacity`;
    case 'failures':
      return `waits, for too many updates of the commit ${wait.commit} have failed; approve it, or push another commit`;
    case 'instance':
      return `waits until ${wait.instance} is not suspended or held${untilWords(wait.until)}`;
    case 'budget':
      return `waits until ${toRfc3339(wait.until)}: its replacement is beyond the delete budget`;
    case 'site':
      return `waits until another server of its site is found, for the whole site may be gone${untilWords(wait.until)}`;
    case 'time':
      return `waits until ${toRfc3339(wait.until)}`;
  }
}

/**
 * Returns a wait in the form of the interface; undefined if there is none. `requestWords` returns when a proxy with
 * these tags last asked for work. `cycle`: the cycle that the server waits in.
 */
export function waitView(
  wait: Wait | undefined,
  requestWords: (tags: readonly string[]) => string,
  cycle?: { readonly reason: string; readonly action: string },
): WaitView | undefined {
  if (wait === undefined) return undefined;
  const cycleText = cycle === undefined ? '' : `; ${cycle.reason}`;
  const until = latestEnd(wait);
  const tags = wait.kind === 'capacity' ? wait.tags : undefined;
  return {
    reason: tags === undefined ? `${waitReason(wait)}${cycleText}` : `${waitReason(wait)}; ${requestWords(tags)}`,
    server: 'server' in wait ? wait.server : null,
    provider: wait.kind === 'capacity' ? wait.provider : null,
    until: until === undefined ? null : toRfc3339(until),
    action: wait.kind === 'failures' ? `treeline approve ${failuresDigest(wait.commit)}` : (cycle?.action ?? null),
  };
}

function untilWords(until: number): string {
  return Number.isFinite(until) ? `, at the latest ${toRfc3339(until)}` : '';
}

/** A wait in the form of the interface. */
export interface WaitView {
  readonly reason: string;
  /** The server whose change ends the wait; null if something else ends it. */
  readonly server: string | null;
  /** The provider entry whose capacity is missing; null if the wait is for something else. */
  readonly provider: string | null;
  /** When it ends at the latest, RFC 3339 with milliseconds; null if unknown. */
  readonly until: string | null;
  /** The command that ends it; null if none does. */
  readonly action: string | null;
}
