import { expect, test } from 'vitest';
import { patternFault } from '../../src/catalog/pattern-fault.ts';

test.each([
  '_password$',
  '^secret/[a-z0-9/-]+$',
  '^(vault|kv):.+$',
  '^(?:a|b)c{2}$',
  '(ab)+',
  '(?:a)*(b)+',
  '^[(+)]+$',
  '\\(a+\\)+',
  '(?=.*x)y',
  '(a{2})b+',
  '(a+)?',
])('%s may be used', (pattern) => {
  expect(patternFault(pattern)).toBeUndefined();
});

test.each([
  ['(a+)+', 'a group that repeats or chooses is itself repeated'],
  ['^(/[a-z]+)+$', 'a group that repeats or chooses is itself repeated'],
  ['(a|a)*b', 'a group that repeats or chooses is itself repeated'],
  ['((a+)b)*', 'a group that repeats or chooses is itself repeated'],
  ['((a)+b)*', 'a group that repeats or chooses is itself repeated'],
  ['(?:a?){30}', 'a group that repeats or chooses is itself repeated'],
  ['(?<x>a*){2,}', 'a group that repeats or chooses is itself repeated'],
  ['(a)\\1', 'it refers back to a group'],
  ['(?<x>a)\\k<x>', 'it refers back to a group'],
])('%s can take for ever', (pattern, why) => {
  expect(patternFault(pattern)).toEqual({
    code: 'bad_pattern',
    message: `${JSON.stringify(pattern)} can take for ever: ${why}`,
    hint: 'repeat a character class instead, such as [a-z/]+ for (/[a-z]+)+',
  });
});

test.each([
  ['(', 'Unterminated group'],
  ['[a', 'Unterminated character class'],
  ['\\-', 'Invalid escape'],
])('%s is no regular expression', (pattern, reason) => {
  expect(patternFault(pattern)).toEqual({
    code: 'bad_pattern',
    message: `${JSON.stringify(pattern)} is no regular expression: ${reason}`,
    hint: 'in single quotes YAML leaves backslashes as they are',
  });
});
