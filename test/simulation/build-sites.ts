// Builds the sites of a run, and the machines with proxies that look after those at which no controller calls.
import { PROXIED } from '../../src/model/names.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Script } from './script.ts';
import type { SimulatedProxyOptions } from './simulated-proxy.ts';
import { entryOf } from './simulated-settings.ts';
import { SimulatedSite, type SiteParts } from './simulated-site.ts';
import { REMOTE_SITES, SITES } from './themes/theme.ts';

/** What the sites that proxies look after have in common. */
const REMOTE = { ignoresCase: false, lostActionEnds: 'with its call', isRemote: true } as const;
/** The machines with a proxy, by site: two of one tag at the east site, and one of another tag at the west site. */
const MACHINES = { B1: 'east', B2: 'east', B3: 'west' } as const;

/** Returns the sites that a script asks for. */
export function buildSites(script: Omit<Script, 'actions'>, parts: SiteParts): readonly SimulatedSite[] {
  const { ignoresCase, outlives, endsWithCall } = script;
  const ending = endsWithCall ? 'with its call' : 'with the controller';
  const lostActionEnds = outlives ? 'after its deadline' : ending;
  const near = SITES.map((name) => new SimulatedSite({ name, ignoresCase, lostActionEnds }, parts));
  if (!script.proxies) return near;
  return [...near, ...REMOTE_SITES.map((name) => new SimulatedSite({ name, ...REMOTE }, parts))];
}

/** Returns the options of each proxy: none where no site is remote. */
export function proxiesOf(sites: readonly SimulatedSite[], seed: number): readonly SimulatedProxyOptions[] {
  return Object.entries(MACHINES).flatMap(([serial, tag]) => {
    const site = sites.find(({ options }) => options.name === tag);
    const entry = { ...entryOf(tag, 'report'), match: { kind: null, properties: {} } };
    return site === undefined ? [] : { serial, tags: [tag], seed, site, entry };
  });
}

/** Returns the site of a recorded server: its provider entry, or the tag of the proxies that made it; null: it has none yet. */
export function siteOfRow({ provider, proxyTags = [] }: ServerRow): string | null {
  return provider === PROXIED ? (proxyTags[0] ?? null) : provider;
}
