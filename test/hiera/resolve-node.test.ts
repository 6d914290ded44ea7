import { describe, expect, test } from 'vitest';
import type { ResolvedNode } from '../../src/hiera/node.ts';
import { resolveNode } from '../../src/hiera/resolve-node.ts';
import { SELECTORS } from '../../src/model/keys.ts';
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
  const place = { file: 'f.yaml', line, column: 1, pointer: '' };
  return { ...place, code: 'bad_key', severity, message: `line ${line}`, hint: null };
}

describe('the node of a server', () => {
  test('shares selected layers, and has its properties below its clientcert file', () => {
    const objects = [objectEntry('types/role/web.yaml', 'port: 80')];
    const { node, problems } = resolveServer({ properties: { role: 'web', app: 'a' } }, { objects }, 'app: b');
    expect(problems).toEqual([]);
    expect(node).toMatchObject({ name: 'web-1', stackInstance: ['shop'], hierarchy: { merge: {} } });
    expect(node.shared.map(({ type, name }) => [type, name])).toEqual([['role', 'web']]);
    expect(node.own.map(({ values }) => ({ ...values }))).toEqual([{ role: 'web', app: 'a' }, { app: 'b' }]);
  });

  test.each<[string, ServerParts['properties'], string | undefined, string]>([
    ['is made of resource key and instance', {}, undefined, 'web of shop'],
    ['is that of its properties', { description: 'Front' }, undefined, 'Front'],
    ['is that of its clientcert file', { description: 'Front' }, 'description: Odd one', 'Odd one'],
    ['is not an empty one', { description: '' }, 'description: ""', 'web of shop'],
    ['is not a list', { description: ['a'] }, undefined, 'web of shop'],
  ])('its description %s', (_, properties = {}, clientcert, want) => {
    expect(resolveServer({ properties }, {}, clientcert).node.description).toBe(want);
  });
});

describe('the node of a hand-written clientcert', () => {
  test('has problems that stop no instance', () => {
    const { problems } = resolveFile('role: no-such');
    expect(problems).toMatchObject([{ code: 'unknown_object', file: 'types/clientcert/lab/lab-db.yaml', line: 1 }]);
    expect(problems[0]).not.toHaveProperty('instances');
  });

  test('has its own errors and no layers if it is invalid', () => {
    const { node, problems } = resolveFile('role: no-such', {}, [problemAtLine(1), problemAtLine(2, 'warning')]);
    expect(problems).toEqual([problemAtLine(1)]);
    expect(node).toMatchObject({ name: 'lab-db', shared: [], own: [] });
  });

  test('is named by its path if it cannot be read', () => {
    const clientcert = { ...objectEntry('types/clientcert/lab/lab.db.yaml', '', [problemAtLine(3)]), object: null };
    const { node, problems } = resolveNode({ server: null, clientcert }, scopeOf({}));
    expect(node).toMatchObject({ name: 'lab.db', description: '', own: [] });
    expect(problems).toEqual([problemAtLine(3)]);
  });
});

describe('problems of a server node', () => {
  test('name the instance for an invalid clientcert file', () => {
    const clientcert = objectEntry('types/clientcert/web-1.yaml', 'app: x', [problemAtLine(7)]);
    const { node, problems } = resolveNode({ server: serverOf({}), clientcert }, scopeOf({}));
    expect(problems).toEqual([{ ...problemAtLine(7), instances: ['shop'] }]);
    expect(node.own).toHaveLength(1);
  });

  test('are at the tenant of a clientcert file of another tenant', () => {
    const clientcert = objectEntry('types/clientcert/web-1.yaml', 'port: 1\ntenant: ta\n');
    const problemsFor = (tenant: string) =>
      resolveNode({ server: serverOf({}), clientcert }, scopeOf({ tenant })).problems;
    expect(problemsFor('ta')).toEqual([]);
    expect(problemsFor('tb')).toMatchObject([
      { code: 'foreign_layer', file: 'types/clientcert/web-1.yaml', line: 2, instances: ['shop'] },
    ]);
  });
});

test.each([...SELECTORS])('a clientcert file of a server may not set %s', (selector) => {
  const { problems } = resolveServer({}, {}, `app: x\n${selector}: ""\n`);
  expect(problems).toMatchObject([{ code: 'selector_in_layer', pointer: `/${selector}`, instances: ['shop'] }]);
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
      'are merged if there are two of a type',
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
