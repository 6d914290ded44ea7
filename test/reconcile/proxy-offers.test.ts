// Tests that work for proxies wakes only the requests of proxies with a tag of the server.
import { expect, it } from 'vitest';
import { ProxyOffers } from '../../src/reconcile/waits/proxy-offers.ts';

const WATCHERS = { lab: ['lab'], both: ['edge', 'lab', 'lab'], edge: ['edge'], plain: [] } as const;

it('wakes proxies with a tag of the server, each once, and all when it ends', () => {
  const offers = new ProxyOffers();
  const woken: string[] = [];
  const forget = Object.entries(WATCHERS).map(([name, tags]) => offers.watch(tags, () => void woken.push(name)));
  function wokenBy(tags?: readonly string[]): readonly string[] {
    woken.length = 0;
    offers.wake(tags);
    return woken.toSorted();
  }
  expect(wokenBy(['lab'])).toEqual(['both', 'lab']);
  expect(wokenBy(['lab', 'edge'])).toEqual(['both', 'edge', 'lab']);
  expect(wokenBy([])).toEqual(['plain']);
  expect(wokenBy(['other'])).toEqual([]);
  expect(wokenBy()).toEqual(['both', 'edge', 'lab', 'plain']);
  forget[1]?.();
  expect(wokenBy(['edge', 'lab'])).toEqual(['edge', 'lab']);
  for (const end of forget) end();
  expect(wokenBy()).toEqual([]);
});
