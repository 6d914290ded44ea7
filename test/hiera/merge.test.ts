import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeKey, mergeValues } from '../../src/hiera/merge.ts';
import type { Layer, LayerValues } from '../../src/hiera/node.ts';
import type { MergeRule } from '../../src/model/objects.ts';

const RULES = { list: 'unique', plain: 'first' } as const satisfies Record<string, MergeRule>;

function layersOf(values: readonly LayerValues[]): Layer[] {
  return values.map((one, index) => {
    const bare = Object.assign(Object.create(null), one);
    return { type: 'role', name: `layer-${index}`, values: bare, origin: () => null };
  });
}

describe('merging layers, general to specific', () => {
  test.each<[string, LayerValues[], Record<string, unknown>]>([
    ['null removes', [{ a: 'x', b: 'y' }, { a: null }], { b: 'y' }],
    ['null removes for all layers below', [{ a: 'x' }, { a: 'y' }, { a: null }], {}],
    ['unique without repeats', [{ list: ['x', 'y'] }, { list: ['y', 'z', 'y'] }], { list: ['y', 'z', 'x'] }],
    ['null ends a joined list', [{ list: ['x'] }, { list: null }, { list: ['z'] }], { list: ['z'] }],
    [
      'a single value counts as a list of one',
      [{ list: ['x'] }, { list: 5 }, { list: 'y' }],
      { list: ['y', '5', 'x'] },
    ],
  ])('%s', (_, layers, want) => {
    expect(Object.fromEntries(mergeValues(layersOf(layers), RULES))).toEqual(want);
  });

  test('"__proto__" is an ordinary key', () => {
    const merged = mergeValues(layersOf([{ ['__proto__']: 'x', constructor: 'a' }, { constructor: 'b' }]), {});
    expect([...merged.keys()]).toContain('constructor');
    expect(merged.get('constructor')).toBe('b');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});

const KEY = fc.constantFrom('list', 'plain', 'a', 'b', 'constructor');
const VALUE = fc.oneof(
  fc.constant(null),
  fc.string({ maxLength: 3 }),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 4 }),
);
const LAYERS = fc.array(fc.dictionary(KEY, VALUE, { maxKeys: 4 }), { maxLength: 6 });

describe('properties of merging', () => {
  test('"first" is the value of the most specific layer', () => {
    fc.assert(
      fc.property(LAYERS, KEY, (layers, key) => {
        const last = layers.findLast((one) => Object.hasOwn(one, key))?.[key];
        expect(mergeValues(layersOf(layers), {}).get(key)).toEqual(last ?? undefined);
      }),
    );
  });

  test('"unique" has every item after the last null once', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.constantFrom('x', 'y', 'z')), { minLength: 1 }), (lists) => {
        const joined = mergeValues(layersOf(lists.map((list) => ({ list }))), RULES).get('list');
        expect(joined).toEqual([...new Set(lists.toReversed().flat())]);
      }),
    );
  });

  test('a key merged alone has the same value', () => {
    fc.assert(
      fc.property(LAYERS, KEY, (values, key) => {
        const layers = layersOf(values);
        expect(mergeKey(key, layers, RULES)?.value).toEqual(mergeValues(layers, RULES).get(key));
      }),
    );
  });
});
