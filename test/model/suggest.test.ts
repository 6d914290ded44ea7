import { expect, it } from 'vitest';
import { didYouMean } from '../../src/base/wording.ts';

it.each([
  ['shop', ['shpo', 'shops'], 'shops'],
  ['shop', ['shpo'], 'shpo'],
  ['Shop', ['shop'], 'shop'],
  ['production', ['prodduktion'], 'prodduktion'],
  ['production', ['productoin', 'production-2'], 'productoin'],
  ['production', ['prodokshun'], null],
  ['nope', ['name'], null],
  ['x', ['y'], null],
  ['shop', ['shop'], null],
  ['ab', ['b'], 'b'],
  ['web1', ['web3', 'web2'], 'web2'],
  ['database', ['tabdase'], null],
  ['', ['a', ''], null],
  [`${'x'.repeat(240)}-a`, [`${'x'.repeat(240)}-b`], `${'x'.repeat(240)}-b`],
  ['x'.repeat(251), ['x'.repeat(250)], null],
])('didYouMean(%s) among %j suggests %s', (name, candidates, meant) => {
  expect(didYouMean(name, candidates)).toBe(meant === null ? null : `did you mean "${meant}"?`);
});

it('didYouMean compares the first thousand candidates', () => {
  let seen = 0;
  function* candidates(): Generator<string> {
    for (;;) yield `other-${seen++}`;
  }
  expect(didYouMean('shop', candidates())).toBeNull();
  expect(seen).toBeLessThanOrEqual(1_001);
  expect(didYouMean('shop', [...Array.from({ length: 999 }, () => 'other'), 'shops'])).toBe('did you mean "shops"?');
});

it('didYouMean compares long names of equal letters with little work', () => {
  const candidates = Array.from({ length: 1_000 }, (_, index) => `${'a'.repeat(240)}${index}bcd`);
  expect(didYouMean(`${'a'.repeat(245)}`, candidates)).toBeNull();
});
