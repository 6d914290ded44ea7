// Chooses the provider entry that is responsible for a server, or the tags of the proxies, from the settings and the
// registered proxies. Read-only.
import { plainRecord } from '../../hiera/record.ts';
import type { ResponsibleEntry, ResponsibleProvider } from '../../machine/decision.ts';
import {
  fitsProxy,
  hasOtherTags,
  isBeingAdopted,
  isHandedOn,
  isReplacedOnRequest,
  madeWords,
  noProxyReason,
  otherTagsReason,
  proxyTagsOf,
  responsibleTags,
} from '../../machine/responsibility.ts';
import { PROXIED } from '../../model/names.ts';
import type { NodeRecord } from '../../model/record.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { ProviderRegistry } from '../../providers/provider-registry.ts';
import type { Ledger } from '../ledger.ts';
import type { ProxyPresence } from '../waits/proxy-presence.ts';

/** The sources for the choice of a provider. */
export interface ProviderSources {
  readonly registry: ProviderRegistry;
  /** Returns the merged configuration of a server, or the last recorded one. Omitted: no proxy has servers. */
  readonly recordOf?: (server: string) => NodeRecord;
  /** The registered proxies. Omitted: no proxy is registered. */
  readonly proxies?: Pick<ProxyPresence, 'registered' | 'isAsking'>;
}

/** Returns the provider that is responsible for a server, or the reason why there is none. */
export function providerFor(name: string, row: ServerRow, sources: ProviderSources): ResponsibleProvider {
  const responsible = responsibleProvider(sources.registry, row);
  return responsible.name === PROXIED ? responsibleProxy(name, row, { ...sources, entry: responsible }) : responsible;
}

/** Returns the tags of the proxies that are responsible for a server; for a new server, the tags in its record. */
export function proxyTagsFor(
  name: string,
  row: ServerRow | undefined,
  { recordOf }: Pick<ProviderSources, 'recordOf'>,
): readonly string[] {
  const present = proxyTagsOf(recordOf?.(name) ?? {});
  return (row && responsibleTags(row, present)) ?? present;
}

/** Returns a function that returns the record of a server, or its last record if it has none now. */
export function knownRecords(
  ledger: Pick<Ledger, 'server'>,
  recordOf: (server: string) => NodeRecord,
): (server: string) => NodeRecord {
  return (server) => {
    try {
      return recordOf(server);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return plainRecord(ledger.server(server)?.lastRecord ?? {});
    }
  };
}

/**
 * Returns the entry of proxies with the tags that are responsible for the server. Returns a reason instead if an
 * operator has to choose the proxies, or if no registered proxy has one of the tags.
 */
function responsibleProxy(
  name: string,
  row: ServerRow,
  { recordOf, proxies, entry }: ProviderSources & { readonly entry: ResponsibleEntry },
): ResponsibleProvider {
  const present = proxyTagsOf(recordOf?.(name) ?? {});
  const tags = responsibleTags(row, present);
  if (tags === undefined) return { name: null, reason: otherTagsReason(row, present) };
  const registered = proxies?.registered ?? [];
  if (registered.some((own) => fitsProxy(tags, own.tags)))
    return { ...entry, tags, isSilent: proxies?.isAsking(tags) === false };
  // If other proxies would get the server now, an operator can let them take it over: `treeline adopt`.
  const hasOthers = hasOtherTags(row, present) || registered.some((own) => fitsProxy(present, own.tags));
  const isOther = row.wanted !== null && hasOthers;
  return { name: null, reason: isOther ? otherTagsReason(row, present) : noProxyReason(tags) };
}

/** Returns the responsible entry: the one that created the server, or for a new server the first entry that matches. */
export function responsibleProvider(
  registry: Pick<ProviderRegistry, 'byName' | 'match'>,
  row: ServerRow,
): ResponsibleProvider {
  const match = row.wanted === null ? undefined : registry.match(row.wanted);
  const isAssigned = row.provider !== null && !isHandedOn(row) && !(match !== undefined && isBeingAdopted(row));
  const entry = isAssigned ? registry.byName(row.provider ?? '') : match;
  // Only the entry whose action was lost can find out its outcome, whatever entry matches now.
  const isReplaced = match !== undefined && isReplacedOnRequest(row);
  const isOther = row.wanted !== null && match !== entry && !isReplaced && row.state !== 'unknown';
  if (isAssigned && (entry === undefined || isOther)) {
    const now = nowWords(match?.name);
    const maker = row.provider === PROXIED ? 'a proxy' : `the provider entry "${row.provider}" of the settings`;
    const words = `${maker} ${madeWords(row)} it, but ${now}`;
    return { name: null, reason: { code: 'provider_changed', text: words } };
  }
  if (entry === undefined) {
    const words = 'no entry under execution.providers of the settings matches its kind and properties';
    return { name: null, reason: { code: 'no_provider', text: words } };
  }
  const { lostActionEnds } = entry.provider;
  return { name: entry.name, timeoutMs: entry.timeoutSeconds * 1000, lostActionEnds };
}

function nowWords(match: string | undefined): string {
  if (match === undefined) return 'none matches it now';
  return match === PROXIED ? 'none matches it now, so that it would go to a proxy' : `"${match}" matches it now`;
}
