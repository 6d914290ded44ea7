import { describe, expect, test } from 'vitest';
import { layerOf } from '../../src/hiera/layers.ts';
import { checkValues } from '../../src/hiera/resolve-node.ts';
import { objectEntry, scopeOf } from './build.ts';

function check(hierarchy: string, files: Readonly<Record<string, string>>) {
  const layers = Object.entries(files).map(([path, text]) => layerOf(objectEntry(path, text)));
  return checkValues(layers, scopeOf({ hierarchy }).hierarchy);
}

describe('unique', () => {
  const RULES = 'merge:\n  # joined\n  ntp: unique\n  level: first\n';

  test('accepts lists and null, and ignores keys of other rules', () => {
    const files = { 'types/common/base.yaml': 'ntp: [a]\nlevel: info', 'types/role/web.yaml': 'ntp: null\nport: 1' };
    expect(check(RULES, files)).toEqual([]);
  });

  test('shows a list in its hint', () => {
    const files = { 'types/common/base.yaml': '\nntp:\n  - a\n', 'types/role/web.yaml': 'ntp: 5' };
    expect(check(RULES, files)).toMatchObject([
      {
        message: '"ntp" is merged as a list (hierarchy.yaml:3), but 5 is not a list',
        hint: 'write ["5"]; it is a list at types/common/base.yaml:2',
      },
    ]);
  });

  test('does not quote a secret', () => {
    const secrets = 'merge: { tokens: unique }\nsecrets: { keys: ["^tokens$"], reference: "^secret/" }';
    const problems = check(secrets, { 'types/role/web.yaml': 'tokens: hunter2' });
    expect(problems.map(({ code }) => code)).toEqual(['unique_not_list', 'secret_not_reference']);
    expect(problems[0]).toMatchObject({
      message: '"tokens" is merged as a list (hierarchy.yaml:1), but this value is not a list',
      hint: 'write a list of references',
    });
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });
});

describe('secrets', () => {
  const SECRETS = 'secrets: { keys: ["_password$", "^api_token"], reference: "^secret/[a-z/]+$" }';

  test.each([
    ['a reference', 'db_password: secret/shop/db'],
    ['a list of references', 'db_password: [secret/a, secret/b]'],
    ['null, which removes one', 'db_password: null'],
    ['another key', 'db_password_file: hunter2\npassword: hunter2'],
    ['fields that are no keys', 'description: hunter2'],
  ])('accept %s', (_, text) => {
    expect(check(SECRETS, { 'types/role/db.yaml': text })).toEqual([]);
  });

  test.each([
    ['a secret', 'port: 1\ndb_password: hunter2', 'hunter2'],
    ['a text that only ends like a reference', 'port: 1\ndb_password: "xsecret/a"', 'xsecret'],
    ['an empty string', 'port: 1\ndb_password: ""', '""'],
    ['a number', 'port: 1\ndb_password: 4711', '4711'],
    ['a list with one wrong item', 'port: 1\ndb_password: [secret/a, hunter2]', 'hunter2'],
  ])('refuse %s at its place without quoting it', (_, text, value) => {
    const problems = check(SECRETS, { 'types/role/db.yaml': text });
    expect(problems).toEqual([
      {
        code: 'secret_not_reference',
        severity: 'error',
        file: 'types/role/db.yaml',
        line: 2,
        column: expect.any(Number),
        pointer: '/db_password',
        message: '"db_password" is not a reference to a secret',
        hint: 'write a reference that matches ^secret/[a-z/]+$; a secret that was committed is known and has to be changed',
      },
    ]);
    expect(JSON.stringify(problems)).not.toContain(value);
  });

  test('apply every pattern to every layer, even hidden ones', () => {
    const files = {
      'types/common/base.yaml': 'api_token_x: a\n',
      'types/role/db.yaml': 'api_token_x: secret/a\nx_password: b',
    };
    const found = check(SECRETS, files).map(({ file, pointer }) => `${file}#${pointer}`);
    expect(found).toEqual(['types/common/base.yaml#/api_token_x', 'types/role/db.yaml#/x_password']);
  });
});

test.each(['".*"'.repeat(40), '((a+)+)+b'])('checkValues matches without backtracking: %s', (pattern) => {
  const rule = JSON.stringify({ secrets: { keys: [pattern], reference: '^secret/' } });
  expect(check(rule, { 'types/role/web.yaml': `${'a'.repeat(250)}: x` })).toEqual([]);
});
