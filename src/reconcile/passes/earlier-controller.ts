// Keeps actions from beginning where an earlier controller may have begun one of which this store knows nothing: a lost store
// starts over, a restored one is behind the world. docs/decisions/0007-a-lost-store.md.

import { momentOf } from '../../base/wording.ts';
import type { ResponsibleEntry } from '../../machine/decision.ts';
import { siteKey } from '../../machine/responsibility.ts';
import type { WaitOfKind } from '../../machine/wait.ts';
import type { Change, ServerRow } from '../../model/rows.ts';
import type { ProviderRegistry } from '../../providers/provider-registry.ts';
import type { Ledger } from '../ledger.ts';

/** The name of the one row of the kind `beginning`. */
export const STORE = 'store';
/** The sign of every provider entry is kept under this name. */
const EVERY_ENTRY = '*';
/** How long a create waits at most for the first checks of the other servers of its entry; for proxies, which pause 30 s before they ask again. */
const FIRST_CHECKS_MS = 30_000;
const FIRST_CHECKS_OF_PROXIES_MS = 60_000;

type Rows = Pick<Ledger, 'read' | 'index' | 'server'>;

/** What tells how long an action of the earlier controller may run. */
export interface EarlierSources {
  readonly ledger: Rows;
  readonly registry: Pick<ProviderRegistry, 'byName'>;
  readonly graceMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * Returns the changes of a store that begins now; none if it has begun before and nothing new shows an earlier controller. With
 * a sign something does, and what the store has recorded is behind that.
 */
export function beginningChanges(store: Pick<Ledger, 'list'>, now: number, sign?: string): readonly Change[] {
  const expected = store.list('beginning').get(STORE);
  const head = store.list('head').get('head');
  if (sign === undefined && (expected !== undefined || head !== undefined)) return [];
  const signs = sign === undefined ? {} : { [EVERY_ENTRY]: sign };
  const beginning: Change = { kind: 'beginning', name: STORE, value: { began: momentOf(now), signs }, expected };
  if (head === undefined) return [beginning];
  return [beginning, { kind: 'head', name: 'head', value: { ...head, isBehind: true }, expected: head }];
}

/** Returns true where something else than servers shows that the store is not the first one here. */
export function isLostStore(ledger: Pick<Ledger, 'read'>): boolean {
  return ledger.read('beginning', STORE)?.signs[EVERY_ENTRY] !== undefined;
}

/**
 * Returns until when no action of an entry begins, and why: an action that the earlier controller had begun there is over
 * then. Undefined if none may run any more, and if nothing shows an earlier controller.
 */
export function earlierWait(entry: ResponsibleEntry, sources: EarlierSources): WaitOfKind<'earlier'> | undefined {
  const { ledger, now } = sources;
  const until = windowEnd(entry.name, sources);
  if (until === undefined || until <= now) return undefined;
  const { signs = {} } = ledger.read('beginning', STORE) ?? {};
  const sign = signs[entry.name] ?? signs[EVERY_ENTRY];
  return sign === undefined ? undefined : { kind: 'earlier', until, sign };
}

/**
 * Returns the wait for another server of the entry, for proxies also of the site, that was not checked yet: what is there
 * already would show an earlier controller. Undefined once that took too long, and where no action of an earlier controller
 * can run.
 */
export function firstCheckWait(
  entry: ResponsibleEntry,
  sources: EarlierSources & { readonly isOfSite: (server: string, row: ServerRow) => boolean },
): WaitOfKind<'first check'> | undefined {
  const { ledger, now, isOfSite } = sources;
  const beginning = ledger.read('beginning', STORE);
  if (beginning === undefined || windowEnd(entry.name, sources) === undefined) return undefined;
  const waitMs = entry.tags === undefined ? FIRST_CHECKS_MS : FIRST_CHECKS_OF_PROXIES_MS;
  const until = Date.parse(beginning.began) + waitMs;
  if (until <= now) return undefined;
  const site = siteKey({ provider: entry.name, tags: entry.tags });
  const isUncheckedOfSite = (name: string): boolean => {
    const row = ledger.server(name);
    return row !== undefined && isOfSite(name, row);
  };
  const server = ledger.index.lastUnseen(site, isUncheckedOfSite, ledger.read('head', 'head'));
  return server === undefined ? undefined : { kind: 'first check', server, until };
}

/** Returns the change that notes what a check has found: a server that this store has not made. */
export function presenceSign(
  { name, row, provider }: { readonly name: string; readonly row: ServerRow; readonly provider: string },
  sources: EarlierSources,
): readonly Change[] {
  // No call was made to make it.
  if (row.provider !== null || row.applied !== null || row.mayExist || row.wanted === null) return [];
  return signChange(provider, `${name} was there already`, sources);
}

/** Returns the change that notes an action which a proxy carries out and this store does not know. */
export function unknownActionSign(id: string, provider: string, sources: EarlierSources): readonly Change[] {
  const began = sources.ledger.read('beginning', STORE)?.began ?? '';
  const incarnation = Number(/\.(\d+)\.(?:create|(?:update|delete)\.\d+)$/.exec(id)?.[1] ?? Number.NaN);
  return incarnation < Date.parse(began) ? signChange(provider, `a proxy is at work on ${id}`, sources) : [];
}

function signChange(provider: string, sign: string, sources: EarlierSources): readonly Change[] {
  const expected = sources.ledger.read('beginning', STORE);
  const until = windowEnd(provider, sources);
  if (expected === undefined || until === undefined || until <= sources.now) return [];
  if (expected.signs[provider] !== undefined || expected.signs[EVERY_ENTRY] !== undefined) return [];
  const value = { ...expected, signs: { ...expected.signs, [provider]: sign } };
  return [{ kind: 'beginning', name: STORE, value, expected }];
}

/** Returns when the last action is over that an earlier controller can have begun; undefined if each is over at a start. */
function windowEnd(provider: string, { ledger, registry, graceMs }: EarlierSources): number | undefined {
  const entry = registry.byName(provider);
  const beginning = ledger.read('beginning', STORE);
  if (entry === undefined || beginning === undefined) return undefined;
  const { lostActionEnds, isShared } = entry.provider;
  if (lostActionEnds !== 'after its deadline' && isShared !== true) return undefined;
  return Date.parse(beginning.began) + entry.timeoutSeconds * 1000 + graceMs;
}
