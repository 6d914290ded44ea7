// Random commits, answers and orders of people over groups that depend on one another, with little capacity: whatever
// happened, everybody is woken who can go on, nobody waits in a circle, and all becomes as wanted.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import { countRuns } from '../support/count-runs.ts';
import { untilAborted } from '../support/scripted-provider.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';

const KEYS = ['db', 'link', 'web'] as const;
type Key = (typeof KEYS)[number];

interface Part {
  readonly count: number;
  readonly version: string;
  readonly away: string;
  readonly pause: string;
  /** Whether it depends on the one before it in the order of the commit, member by member. */
  readonly isNeedy: boolean;
  readonly listed: Key | null;
}

interface Wish {
  readonly order: readonly Key[];
  readonly parts: Readonly<Record<Key, Part | null>>;
}

type Fate = 'good' | 'retryable' | 'failed' | 'replace' | 'silent';
type Happening =
  | { readonly kind: 'commit'; readonly wish: Wish }
  | { readonly kind: 'fates'; readonly fates: readonly Fate[] }
  | { readonly kind: 'suspend'; readonly key: Key | null; readonly seconds: number | null }
  | { readonly kind: 'resume'; readonly key: Key | null }
  | { readonly kind: 'retry' | 'approve' }
  | { readonly kind: 'pass'; readonly seconds: number };

const part: fc.Arbitrary<Part> = fc.record({
  count: fc.integer({ min: 1, max: 3 }),
  version: fc.constantFrom('1', '2', '3'),
  away: fc.constantFrom('1', '2', '50%'),
  pause: fc.constantFrom('0', '20'),
  isNeedy: fc.boolean(),
  listed: fc.option(fc.constantFrom(...KEYS)),
});
const wish: fc.Arbitrary<Wish> = fc.record({
  order: fc.shuffledSubarray([...KEYS], { minLength: 3 }),
  parts: fc.record({
    ...{ db: fc.option(part, { freq: 4 }), link: fc.option(part, { freq: 4 }), web: fc.option(part, { freq: 8 }) },
  }),
});
const anyKey = fc.option(fc.constantFrom(...KEYS));
const fate = fc.constantFrom<Fate>('good', 'good', 'good', 'retryable', 'failed', 'replace', 'silent');
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('commit' as const), wish }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fates' as const), fates: fc.array(fate, { maxLength: 6 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant('suspend' as const), key: anyKey, seconds: fc.option(fc.constantFrom(5, 90)) },
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resume' as const), key: anyKey }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('retry' as const, 'approve' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.constantFrom(1, 10, 70) }) },
);

/** An instance for each key that is wanted; dependencies follow the order of the commit, so that they form no circle. */
function filesOf({ order, parts }: Wish): Record<string, string | null> {
  const files: Record<string, string | null> = {};
  for (const [place, key] of order.entries()) {
    const own = parts[key];
    const earlier = order.slice(0, place).findLast((other) => parts[other] !== null);
    files[`stacks/instances/${key}.yaml`] = own === null ? null : `stackTemplate: ${key}\n`;
    if (own !== null) files[`stacks/templates/${key}.yaml`] = templateOf(key, own, earlier);
  }
  return files;
}

function templateOf(key: Key, own: Part, earlier: Key | undefined): string {
  const properties = [
    `name: "${key}-<<index>>"`,
    `version: "${own.version}"`,
    ...(own.isNeedy && earlier !== undefined ? [`depends_on: "${earlier}-1"`] : []),
    ...(own.listed === null ? [] : [`peers: "<<(Array)['${key}']['name']>>"`, 'configuration_only: [peers]']),
  ];
  return `resources:
  ${key}:
    type: Platform::ResourceGroup
    properties:
      count: "${own.count}"
      max_unavailable: "${own.away}"
      pause_seconds: "${own.pause}"
      resource_def: { properties: { ${properties.join(', ')} } }
`;
}

const CALM: Wish = {
  order: KEYS,
  parts: { db: null, link: null, web: { count: 2, version: '9', away: '1', pause: '0', isNeedy: false, listed: null } },
};

class Site {
  readonly core = new Core({
    ...{ budget: { percent: 100, least: 100, most: 100 }, concurrency: 3 },
    retry: { attempts: 2, failedSeconds: 120 },
    entries: [
      { name: 'a', match: { kind: null, properties: { version: '2' } } },
      { name: 'lab', match: { kind: null, properties: {} } },
    ].slice(1),
  });
  #fates: Fate[] = [];

  constructor() {
    this.core.provider.script = ({ operation }, signal) => {
      const next = this.#fates.shift() ?? 'good';
      if (next === 'good' || (next === 'replace' && operation !== 'update')) return undefined;
      return next === 'silent' ? untilAborted(signal) : Promise.resolve<Answer>(answerOf(next));
    };
    this.core.source.commit({
      'tree.yaml': 'name: global\ntype: common\n',
      'clients/A1.yaml': 'role: administrator\n',
    });
    this.core.source.commit(filesOf(CALM));
  }

  async happen(event: Happening): Promise<void> {
    const { core } = this;
    const { order, operator, clock } = core;
    if (event.kind === 'commit') core.source.commit(filesOf(event.wish));
    if (event.kind === 'commit') await core.poll();
    if (event.kind === 'fates') this.#fates.push(...event.fates);
    if (event.kind === 'pass') await core.pass(event.seconds * 1000);
    if (event.kind === 'suspend') {
      const until = event.seconds === null ? null : new Date(clock.now() + event.seconds * 1000).toISOString();
      await operator.suspend(order, { instance: event.key, until }).catch(() => undefined);
    }
    if (event.kind === 'resume') await operator.resume(order, event.key).catch(() => undefined);
    if (event.kind === 'retry') await operator.retry(order, { all: true }).catch(() => undefined);
    if (event.kind === 'approve') for (const { digest } of operator.held()) await operator.approve(order, digest);
    await core.settle();
  }

  /** Lets every call end well and nobody hold anything up. */
  async calm(): Promise<void> {
    this.#fates = [];
    for (const key of [null, ...KEYS]) await this.happen({ kind: 'resume', key });
    this.core.source.commit(filesOf(CALM));
    await this.core.poll();
    await this.happen({ kind: 'approve' });
    for (let minute = 0; minute < 30; minute += 1) await this.core.pass(60_000);
  }
}

it('nobody is forgotten, and nobody waits in a circle', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 30, size: 'max' }), async (events) => {
      const site = new Site();
      await site.core.poll();
      for (const event of events) await site.happen(event);
      expect(await site.core.missedWakeUps()).toBe(0);
      await site.calm();
      expect(site.core.states()).toEqual({ 'web-1': 'done', 'web-2': 'done' });
      expect(await site.core.missedWakeUps()).toBe(0);
      await site.core.stop();
    }),
    { numRuns: countRuns(40) },
  );
});
