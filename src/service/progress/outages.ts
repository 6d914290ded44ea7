// Words for what is away beside the servers: the store, the repository, provider entries, proxies. What needs a person
// lists each once, and `why` of an instance has those that keep it from being looked after.
import { momentOf } from '../../base/wording.ts';
import { tagWords } from '../../machine/responsibility.ts';
import type { SilentEntry } from '../../reconcile/checks/entry-answers.ts';
import type { Outage, OutageName, Outages } from '../answers.ts';

/** Something that is away, for a person. */
export interface ToldOutage {
  /** As of {@link AttentionItem}. */
  readonly id: string;
  readonly reason: string;
  /** RFC 3339; null where it was never there. */
  readonly since: string | null;
  readonly action: string;
}

interface OutageWords {
  readonly id: string;
  readonly means: string;
  readonly action: string;
}

const BY_ITSELF = 'correct that; it is tried again by itself';
const WORDS: Readonly<Record<OutageName, OutageWords>> = {
  store: { id: 'store:unsaved', means: 'nothing is saved, so nothing new begins', action: BY_ITSELF },
  repository: {
    id: 'repository:unread',
    means: 'the repository cannot be followed, and newer commits are not known',
    action: 'correct that; it is read again by itself',
  },
  programs: {
    id: 'programs:running',
    means: 'a program runs on after its call',
    action: 'end that process as root; its server continues after the deadline of the call and graceSeconds',
  },
  statuses: {
    id: 'statuses:unsent',
    means: 'commit statuses are not sent',
    action: 'correct that; they are sent again by themselves',
  },
  notifications: {
    id: 'notifications:unsent',
    means: 'a subscriber is not told',
    action: 'correct that; treeline notifications shows each attempt, and it is sent again by itself',
  },
  audit: {
    id: 'audit:unwritten',
    means: 'the audit log loses lines',
    action: 'make room for it, or correct its path',
  },
};
/** In the order in which they are told. */
export const OUTAGE_NAMES = Object.keys(WORDS) as readonly OutageName[];

/** Returns those of these outages that there are. */
export function tellOutages(outages: Outages = {}, names = OUTAGE_NAMES): readonly ToldOutage[] {
  return names.flatMap((name) => {
    const outage = outages[name];
    const { id, means, action } = WORDS[name];
    return outage === undefined
      ? []
      : [{ id, reason: `${means}: ${reasonSince(outage)}`, since: outage.since, action }];
  });
}

/** Returns the reason, and whether it may have been so before its beginning that is told. */
export function reasonSince({ reason, sinceStart }: Omit<Outage, 'since'>): string {
  return sinceStart ? `${reason} (the controller has started then; it may have been so before)` : reason;
}

/** Returns since when a provider entry has answered nothing, and how its last call ended. */
export function silentWords({ since, reason }: Pick<SilentEntry, 'since' | 'reason'>): string {
  return `has answered nothing since ${since}, the last time: ${reason}`;
}

/** Describes a provider entry that answers nothing. */
export function tellSilent({ entry, since, reason: last }: Omit<SilentEntry, 'servers'>): ToldOutage {
  const reason = `the provider entry "${entry}" ${silentWords({ since, reason: last })}`;
  const action = `correct that, or its entry in the settings; its servers are tried again by themselves, and at once with: treeline retry --provider ${entry}`;
  return { id: `provider:${entry}`, since, reason, action };
}

/**
 * Describes proxies with these tags, none of which is heard of; `last`: when the last one was, in milliseconds since 1970;
 * null: none is registered.
 */
export function tellUnheard(tags: readonly string[], last: number | null): ToldOutage {
  const since = last === null ? null : momentOf(last);
  const what = since === null ? 'is registered' : `has asked for work since ${since}`;
  const advice =
    'see that it runs where it should, and that its certificate is good; who was seen when: treeline client list';
  return {
    id: `proxies:${tags.join(',')}`,
    since,
    reason: `no proxy ${tagWords(tags)} ${what}: nothing is done with its servers, and nothing checks them`,
    action: since === null ? 'register a proxy for them, and start it' : advice,
  };
}
