import { expect, test } from 'vitest';
import { patternFault, patternFaults } from '../../src/catalog/hierarchy.ts';

test.each([
  '_password$',
  '^secret/[a-z0-9/-]+$',
  '^(vault|kv):.+$',
  '^(?:a|b)c{2}$',
  '^[(+)]+$',
  '\\(a+\\)+',
  '(?i)^api_token',
  '\\p{L}+',
  // These took for ever once.
  '(a+)+',
  '^(/[a-z]+)+$',
  '(a|a)*b',
  '(?:a?){30}',
  '".*"'.repeat(40),
  'kv/.*/.*/.*#',
])('the pattern %s is accepted', (pattern) => {
  expect(patternFault(pattern)).toBeUndefined();
});

test.each([
  ['(?=.*x)y', 'look-ahead'],
  ['a(?!b)', 'look-ahead'],
  ['(?<=a)b', 'look-behind'],
  ['(?<!a)b', 'look-behind'],
  ['(a)\\1', 'a back-reference'],
  ['(?<x>a)\\k<x>', 'a back-reference'],
  ['(?P=x)', 'a back-reference'],
  ['(?>a)', 'an atomic group'],
  ['a++', 'a possessive quantifier'],
  ['\\u0041', 'the escape \\u'],
  ['\\cA', 'the escape \\c'],
])('the pattern %s is refused with its name: %s', (pattern, name) => {
  expect(patternFault(pattern)).toEqual({
    code: 'bad_pattern',
    message: `${JSON.stringify(pattern)} uses ${name}, which RE2 does not know`,
    hint: expect.stringMatching(/^(write|repeat|leave) /),
  });
});

test.each([
  ['(', 'missing closing ): ('],
  ['[a', 'missing closing ]: [a'],
  ['\\é', 'invalid escape sequence: \\é'],
  ['a{1001}', 'invalid repeat count: {1001}'],
])('the pattern %s is no regular expression', (pattern, reason) => {
  expect(patternFault(pattern)).toEqual({
    code: 'bad_pattern',
    message: `${JSON.stringify(pattern)} is not a regular expression: ${reason}`,
    hint: 'in single quotes YAML leaves backslashes as they are',
  });
});

test('a pattern with a named group is refused', () => {
  expect(patternFault('(?<x>a*){2,}')).toMatchObject({ message: '"(?<x>a*){2,}" names the group "x"' });
});

test('a pattern that compiles to too many instructions is refused', () => {
  const large = '.{1000}'.repeat(140);
  expect(patternFaults(Array.from({ length: 100 }, () => large))).toEqual([
    [
      0,
      {
        code: 'bad_pattern',
        message: expect.stringMatching(/^"\.\{1000\}.* compiles to 140002 instructions, and at most 1000 are run$/),
        hint: 'repeat less often by {…}, or write fewer alternatives',
      },
    ],
  ]);
});

test('the patterns of a list have the same limit together', () => {
  expect(patternFaults(Array.from({ length: 100 }, (_, index) => `_k${index}$`))).toEqual([]);
  expect(patternFaults(Array.from({ length: 100 }, (_, index) => `k${index}_password_[a-z]{5}$`))).toMatchObject([
    [null, { message: expect.stringMatching(/^the list compiles to \d+ instructions, and at most 1000 are run$/) }],
  ]);
});
