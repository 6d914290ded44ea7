import { describe, expect, test } from 'vitest';
import type { ResolvedNode } from '../../src/hiera/node.ts';
import { resolveNode } from '../../src/hiera/resolve-node.ts';
import type { Problem } from '../../src/model/problem.ts';
import { objectEntry, type ScopeParts, type ServerParts, scopeOf, serverOf } from './build.ts';

function resolveServer(parts: ServerParts, scope: ScopeParts = {}, clientcert?: string): ResolvedNode {
  const entry = clientcert === undefined ? undefined : objectEntry('types/clientcert/web-1.yaml', clientcert);
  return resolveNode({ server: serverOf(parts), clientcert: entry }, scopeOf(scope));
}

function resolveFile(text: string, scope: ScopeParts = {}, problems: readonly Problem[] = []): ResolvedNode {
  const clientcert = objectEntry('types/clientcert/lab/lab-db.yaml', text, problems);
  return resolveNode({ server: null, clientcert }, scopeOf(scope));
}

function problemAtLine(line: number, severity: Problem['severity'] = 'error'): Problem {
  return {
    code: 'bad_key',
    severity,
    file: 'f.yaml',
    line,
    column: 1,
    pointer: '',
    message: `line ${line}`,
    hint: null,
  };
}

describe('the node of a server', () => {
  test('shares what it selects, and has its properties below its clientcert file', () => {
    const objects = [objectEntry('types/role/web.yaml', 'port: 80')];
    const { node, problems } = resolveServer({ properties: { role: 'web', app: 'a' } }, { objects }, 'app: b');
    expect(problems).toEqual([]);
    expect(node).toMatchObject({ name: 'web-1', stackInstance: ['shop'], hierarchy: { merge: {} } });
    expect(node.shared.map(({ type, name }) => [type, name])).toEqual([['role', 'web']]);
    expect(node.own.map(({ values }) => ({ ...values }))).toEqual([{ role: 'web', app: 'a' }, { app: 'b' }]);
  });

  test.each<[string, ServerParts['properties'], string | undefined, string]>([
    ['is made of key and instance', {}, undefined, 'web of shop'],
    ['is that of its properties', { description: 'Front' }, undefined, 'Front'],
    ['is that of its clientcert file', { description: 'Front' }, 'description: Odd one', 'Odd one'],
    ['is not an empty one', { description: '' }, 'description: ""', 'web of shop'],
    ['is not a list', { description: ['a'] }, undefined, 'web of shop'],
  ])('its description %s', (_, properties = {}, clientcert, want) => {
    expect(resolveServer({ properties }, {}, clientcert).node.description).toBe(want);
  });
});

describe('the node of a clientcert that no stack makes', () => {
  test('selects by its own keys', () => {
    const objects = [objectEntry('types/role/db.yaml', 'port: 5432')];
    const { node, problems } = resolveFile('description: Lab\nrole: db\n', { objects });
    expect(problems).toEqual([]);
    expect(node).toMatchObject({ name: 'lab-db', description: 'Lab', stackInstance: [] });
    expect(node.shared.map(({ name }) => name)).toEqual(['db']);
    expect(node.own.map(({ values }) => ({ ...values }))).toEqual([{ role: 'db' }]);
  });

  test('its problems stop no instance', () => {
    const { problems } = resolveFile('role: no-such');
    expect(problems).toMatchObject([{ code: 'unknown_object', file: 'types/clientcert/lab/lab-db.yaml', line: 1 }]);
    expect(problems[0]).not.toHaveProperty('instances');
  });

  test('a wrong one has its own errors and no layers', () => {
    const { node, problems } = resolveFile('role: no-such', {}, [problemAtLine(1), problemAtLine(2, 'warning')]);
    expect(problems).toEqual([problemAtLine(1)]);
    expect(node).toMatchObject({ name: 'lab-db', shared: [], own: [] });
  });

  test('one that could not be read is named by its path', () => {
    const clientcert = { ...objectEntry('types/clientcert/lab/lab.db.yaml', '', [problemAtLine(3)]), object: null };
    const { node, problems } = resolveNode({ server: null, clientcert }, scopeOf({}));
    expect(node).toMatchObject({ name: 'lab.db', description: '', own: [] });
    expect(problems).toEqual([problemAtLine(3)]);
  });
});

describe('problems of a server name the instance that they stop', () => {
  test('a wrong object that it draws on', () => {
    const objects = [objectEntry('types/role/web.yaml', '{}', [problemAtLine(7), problemAtLine(8, 'warning')])];
    const { problems } = resolveServer({ properties: { role: 'web' } }, { objects });
    expect(problems).toEqual([{ ...problemAtLine(7), instances: ['shop'] }]);
  });

  test('a wrong clientcert file', () => {
    const clientcert = objectEntry('types/clientcert/web-1.yaml', 'app: x', [problemAtLine(7)]);
    const { node, problems } = resolveNode({ server: serverOf({}), clientcert }, scopeOf({}));
    expect(problems).toEqual([{ ...problemAtLine(7), instances: ['shop'] }]);
    expect(node.own).toHaveLength(1);
  });

  test('a wrong selector, and values against the rules of the hierarchy', () => {
    const hierarchy = 'merge: { ntp: unique }\nsecrets: { keys: [password], reference: "^secret/" }';
    const properties = { role: 'no-such', ntp: 'a', password: 'hunter2' };
    const { problems } = resolveServer({ properties }, { hierarchy });
    expect(problems.map(({ code, line, instances }) => [code, line, instances])).toEqual([
      ['unknown_object', 4, ['shop']],
      ['unique_not_list', 5, ['shop']],
      ['secret_not_reference', 6, ['shop']],
    ]);
  });

  test('a clientcert file of another tenant than its stack is reported at its tenant', () => {
    const clientcert = objectEntry('types/clientcert/web-1.yaml', 'port: 1\ntenant: ta\n');
    const problemsFor = (tenant: string) =>
      resolveNode({ server: serverOf({}), clientcert }, scopeOf({ tenant })).problems;
    expect(problemsFor('ta')).toEqual([]);
    expect(problemsFor('tb')).toMatchObject([
      { code: 'foreign_layer', file: 'types/clientcert/web-1.yaml', line: 2, instances: ['shop'] },
    ]);
  });
});

describe('keys that a server sets itself', () => {
  test.each([
    ['stackInstance', 'is a reserved word'],
    ['lookup_options', 'is a reserved word'],
    ['constructor', 'is a reserved word'],
    ['a/b', 'holds "/" or "."'],
    ['app.version', 'holds "/" or "."'],
    ['a\u0007b', 'holds something else than letters, digits, "_", "-" and ":"'],
  ])('the property %j is an error at its key', (property, fault) => {
    const { problems } = resolveServer({ properties: { app: 'x', [property]: 'y' } });
    expect(problems).toEqual([
      {
        code: 'bad_key',
        severity: 'error',
        file: 'stacks/templates/shop.yaml',
        line: 5,
        column: 7,
        pointer: expect.stringContaining('/resources/web/properties/'),
        message: `the property "${property}" ${fault}, so it can be no key of a record`,
        hint: 'rename it',
        instances: ['shop'],
      },
    ]);
  });

  test.each(['type', 'tenant'])('the property "%s" is told to be unseen', (property) => {
    expect(resolveServer({ properties: { [property]: 'x' } }).problems).toMatchObject([
      {
        code: 'unseen_key',
        severity: 'warning',
        line: 4,
        message: `the property "${property}" is in no record: there "${property}" describes an object`,
      },
    ]);
  });

  test.each(['environment', 'location', 'zone', 'shape', 'role', 'configuration'])(
    'its clientcert file may not set %s',
    (selector) => {
      const { problems } = resolveServer({}, {}, `app: x\n${selector}: ""\n`);
      expect(problems).toEqual([
        {
          code: 'selector_in_layer',
          severity: 'error',
          file: 'types/clientcert/web-1.yaml',
          line: 2,
          column: 1,
          pointer: `/${selector}`,
          message: `"${selector}" selects a layer, and only the properties of a stack's server do so: "web-1" is made by "shop"`,
          hint: `set "${selector}" in the properties of the server, by the template or the instance, and remove it here`,
          instances: ['shop'],
        },
      ]);
    },
  );
});

describe('the content of provisioning layers', () => {
  const objects = [
    objectEntry('types/shape/small.yaml', 'description: tiny\ntenant: t\ncpu: 1\nold: null\n'),
    objectEntry('types/shape/empty.yaml', 'description: nothing'),
    objectEntry('types/configuration/prod.yaml', 'a: general\nb: general'),
    objectEntry('types/configuration/shop.yaml', 'a: specific\nc: null'),
    objectEntry('types/environment/prod.yaml', 'x: y'),
  ];
  const TWO =
    'order: [environment, { type: configuration, name: "<<environment>>" }, configuration]\nprovisioning: [configuration]';

  test.each<[string, NonNullable<ServerParts['properties']>, string, Record<string, unknown>]>([
    [
      'are the object of the shape by default',
      { shape: 'small', environment: 'prod' },
      '{}',
      { shape: { cpu: 1, old: null } },
    ],
    ['are none without a shape', { environment: 'prod' }, '{}', {}],
    ['are none of an object without keys', { shape: 'empty' }, '{}', {}],
    [
      'are of the named types',
      { shape: 'small', environment: 'prod' },
      'provisioning: [environment]',
      { environment: { x: 'y' } },
    ],
    ['are none where no type is named', { shape: 'small' }, 'provisioning: []', {}],
    [
      'are laid over each other where there are two of a type',
      { environment: 'prod', configuration: 'shop' },
      TWO,
      { configuration: { a: 'specific', b: 'general', c: null } },
    ],
  ])('%s', (_, properties, hierarchy, want) => {
    const { provisioning, problems } = resolveServer({ properties }, { objects, hierarchy, tenant: 't' });
    expect(problems).toEqual([]);
    expect(JSON.parse(JSON.stringify(provisioning))).toEqual(want);
  });
});
