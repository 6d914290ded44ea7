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

it('looks at the first thousand candidates, however many there are', () => {
  let seen = 0;
  function* candidates(): Generator<string> {
    for (;;) yield `other-${seen++}`;
  }
  expect(didYouMean('shop', candidates())).toBeNull();
  expect(seen).toBeLessThanOrEqual(1_001);
  expect(didYouMean('shop', [...Array.from({ length: 999 }, () => 'other'), 'shops'])).toBe('did you mean "shops"?');
});

it('compares a name of many equal letters with as long ones in little work', () => {
  const candidates = Array.from({ length: 1_000 }, (_, index) => `${'a'.repeat(240)}${index}bcd`);
  expect(didYouMean(`${'a'.repeat(245)}`, candidates)).toBeNull();
});
