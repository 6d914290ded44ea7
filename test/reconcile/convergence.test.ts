// Random commits, answers, losses and crashes over a handful of servers: whatever happened, once the answers turn good,
// everything becomes as wanted. What must hold at every moment on the way is watched by model.ts.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { WantedServer } from '../../src/model/spec.ts';
import { countRuns } from '../support/count-runs.ts';
import { specOf } from './build.ts';
import { type Ending, Model, shortcomings } from './model.ts';

/** In the order in which they may depend on one another; members of a group never do. */
const NAMES: readonly string[] = ['db', 'web-1', 'web-2', 'web-3', 'api'];

interface Wish {
  readonly isWanted: boolean;
  readonly size: string;
  readonly dependsOn: readonly string[];
  readonly lists: readonly string[];
}

type Happening =
  | { readonly kind: 'commit'; readonly wishes: readonly Wish[] }
  /** The end of one of the calls that are under way: of the first one, or of the last. */
  | { readonly kind: 'end'; readonly isFirst: boolean; readonly ending: Ending }
  | { readonly kind: 'crash'; readonly affected: readonly string[] }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'ask'; readonly what: 'retry' | 'adopt' | 'replace'; readonly name: string }
  /** Somebody else builds a server of that name. */
  | { readonly kind: 'intrude'; readonly name: string };

const anyName = fc.constantFrom(...NAMES);
const someNames = fc.uniqueArray(anyName, { maxLength: 2 });
const wish: fc.Arbitrary<Wish> = fc.record({
  isWanted: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  size: fc.constantFrom('small', 'large'),
  dependsOn: someNames,
  lists: someNames,
});
const ending: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 6, arbitrary: fc.constant('good' as const) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Ending>(
      'retryable',
      'failed',
      'odd',
      'lost before',
      'lost after',
      'replace',
      'vanished',
    ),
  },
);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      wishes: fc.array(wish, { minLength: NAMES.length, maxLength: NAMES.length }),
    }),
  },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('end' as const), isFirst: fc.boolean(), ending }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), affected: someNames }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(1, 5, 60) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      what: fc.constantFrom('retry' as const, 'adopt' as const, 'replace' as const),
      name: anyName,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('intrude' as const), name: anyName }) },
);

/** Dependencies on servers that are wanted too and come earlier, as admission sees to it. */
function wantedBy(wishes: readonly Wish[]): ReadonlyMap<string, WantedServer> {
  const isWanted = (name: string): boolean => wishes[NAMES.indexOf(name)]?.isWanted === true;
  const wanted = new Map<string, WantedServer>();
  for (const [index, name] of NAMES.entries()) {
    const { size, dependsOn, lists }: Omit<Wish, 'isWanted'> = wishes[index] ?? { size: '', dependsOn: [], lists: [] };
    const earlier = NAMES.slice(0, index).filter(
      (each) => dependsOn.includes(each) && isWanted(each) && groupOf(each) !== groupOf(name),
    );
    const others = NAMES.filter((each) => lists.includes(each) && isWanted(each) && each !== name);
    if (!isWanted(name)) continue;
    wanted.set(name, {
      ...{ name, instance: 'shop', key: groupOf(name), index: null },
      spec: specOf(size, { properties: { name, size }, dependsOn: earlier, lists: others }),
      policy: { maxUnavailable: '1', pauseSeconds: 0, drift: null, deletion: 'delete', protected: false, adopt: false },
    });
  }
  return wanted;
}

function groupOf(name: string): string {
  return name.startsWith('web-') ? 'web' : name;
}

function happen(model: Model, event: Exclude<Happening, { kind: 'commit' }>): void {
  if (event.kind === 'end') model.end([...model.inFlight.keys()].at(event.isFirst ? 0 : -1) ?? '', event.ending);
  else if (event.kind === 'wait') model.wait(event.seconds);
  else if (event.kind === 'ask') model.ask(event.what, event.name);
  else if (event.kind === 'intrude') model.intrude(event.name, specOf('large', { properties: { name: event.name } }));
  else model.crash((name) => event.affected.includes(name));
}

/** Lets every call end well, and waits whenever none runs. */
function calm(model: Model): void {
  for (let quiet = 0, round = 0; quiet < 3 && round < 1_000; round += 1) {
    const [name] = model.inFlight.keys();
    if (name === undefined) {
      quiet += 1;
      model.wait(60);
    } else {
      quiet = 0;
      model.end(name, 'good');
    }
  }
}

it('ends with everything as wanted, on whatever way', () => {
  const history = fc.array(happening, { minLength: 10, maxLength: 80, size: 'max' });
  fc.assert(
    fc.property(history, fc.array(wish, { minLength: NAMES.length, maxLength: NAMES.length }), (events, last) => {
      const model = new Model();
      for (const event of events) {
        if (event.kind === 'commit') model.commit(wantedBy(event.wishes));
        else happen(model, event);
      }
      const wanted = wantedBy(last);
      model.takeBack();
      model.commit(wanted);
      calm(model);
      expect(shortcomings(model, wanted)).toEqual([]);
      expect([...model.inFlight.keys()]).toEqual([]);
      expect(model.commit(wanted), 'the same commit again changes rows').toBe(0);
    }),
    { numRuns: countRuns(400) },
  );
});
