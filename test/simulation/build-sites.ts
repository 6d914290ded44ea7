// Builds the sites of a run, and the machines with proxies that look after the one at which no controller calls.
import type { Script } from './script.ts';
import type { SimulatedProxyOptions } from './simulated-proxy.ts';
import { entryOf } from './simulated-settings.ts';
import { SimulatedSite, type SiteParts } from './simulated-site.ts';
import { SITES } from './themes/theme.ts';

/** The site that proxies look after. */
const REMOTE = { name: 'east', ignoresCase: false, lostActionEnds: 'with its call', isRemote: true } as const;
/** The machines with a proxy: two of one tag at the east site, and one of another tag. */
const MACHINES = [
  { serial: 'B1', tags: ['east'] },
  { serial: 'B2', tags: ['east'] },
  { serial: 'B3', tags: ['west'] },
];

/** Returns the sites that a script asks for. */
export function buildSites(script: Omit<Script, 'actions'>, parts: SiteParts): readonly SimulatedSite[] {
  const { ignoresCase, outlives, endsWithCall } = script;
  const ending = endsWithCall ? 'with its call' : 'with the controller';
  const lostActionEnds = outlives ? 'after its deadline' : ending;
  const near = SITES.map((name) => {
    const isPretending = name === 'south' && script.pretends === true;
    return new SimulatedSite({ name, ignoresCase, lostActionEnds, isPretending }, parts);
  });
  return script.proxies ? [...near, new SimulatedSite(REMOTE, parts)] : near;
}

/** Returns the options of each proxy: none where no site is remote. */
export function proxiesOf(sites: readonly SimulatedSite[], seed: number): readonly SimulatedProxyOptions[] {
  const site = sites.find(({ options }) => options.isRemote === true);
  if (site === undefined) return [];
  const entry = { ...entryOf(REMOTE.name, 'report'), match: { kind: null, properties: {} } };
  return MACHINES.map(({ serial, tags }) => ({ serial, tags, seed, site, entry }));
}
