import { readdirSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { checkSchema, compileSchema, SCHEMAS } from '../../src/catalog/schemas.ts';
import { parseYaml } from '../../src/catalog/yaml.ts';
import { isMap } from '../../src/model/json.ts';
import { SELECTORS } from '../../src/model/keys.ts';
import { isPlainTypeName, TYPE_NAMES } from '../../src/model/names.ts';

const TYPES = [
  'tree',
  'hierarchy',
  'stack-template',
  'stack-instance',
  'client',
  ...TYPE_NAMES.filter(isPlainTypeName),
];

test('each type has one schema, and the checks use the published file', () => {
  expect(Object.keys(SCHEMAS).sort()).toEqual([...TYPES].sort());
  const files = readdirSync('schemas');
  for (const [type, schema] of Object.entries(SCHEMAS)) {
    expect(files).toContain(`${type}.schema.json`);
    expect(JSON.parse(readFileSync(`schemas/${type}.schema.json`, 'utf8'))).toEqual(schema);
  }
});

test.each(readdirSync('schemas').filter((file) => file.endsWith('.schema.json')))(
  '%s is a valid schema, which no start checks',
  (file) => {
    const schema: unknown = JSON.parse(readFileSync(`schemas/${file}`, 'utf8'));
    expect(isMap(schema) && new Ajv({ strict: false }).validateSchema(schema)).toBe(true);
  },
);

/** Every schema inside a schema: those that describe a property, and all others. */
function* partsOf(value: unknown, path: string): Generator<[path: string, schema: Record<string, unknown>]> {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* partsOf(item, `${path}/${index}`);
  if (!isMap(value)) return;
  yield [path, value];
  for (const [key, part] of Object.entries(value)) yield* partsOf(part, `${path}/${key}`);
}

describe.each(Object.entries(SCHEMAS))('%s', (_, schema) => {
  const parts = [...partsOf(schema, '')];

  test('names its subject, in draft-07', () => {
    expect(schema).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: expect.any(String),
      description: expect.any(String),
      type: 'object',
    });
  });

  test('describes every property', () => {
    const properties = parts.filter(([path]) => /\/properties\/[^/]+$/.test(path) && !/\/if\/|\/then\//.test(path));
    expect(properties.length).toBeGreaterThan(0);
    for (const [path, property] of properties) {
      // A property that is a reference alone is described where it points.
      const described = property.$ref === undefined ? property.description : 'by reference';
      expect(described, path).toEqual(expect.any(String));
    }
  });

  test('refers to no other file', () => {
    const references = parts.map(([, { $ref }]) => $ref).filter((reference) => reference !== undefined);
    expect(references.filter((reference) => !/^#\/definitions\/\w+$/.test(String(reference)))).toEqual([]);
  });
});

describe('editors with these schemas', () => {
  /** As any validator takes a schema, and with nothing added to what it says. */
  function isValidEntry(type: keyof typeof SCHEMAS, text: string): boolean {
    return new Ajv({ strict: false }).compile(SCHEMAS[type])(parseYaml('a.yaml', text).value);
  }

  test.each<[type: keyof typeof SCHEMAS, written: string, corrected: string]>([
    ['stack-template', serverWith('port: 8080'), serverWith('port: "8080"')],
    ['stack-template', groupWith('port: 8080'), groupWith('port: "8080"')],
    ['stack-instance', additionsWith('port: 8080'), additionsWith('port: "8080"')],
    [
      'stack-instance',
      'stackTemplate: a\nparameters: { port: 8080 }',
      'stackTemplate: a\nparameters: { port: "8080" }',
    ],
    ...(['common', 'environment', 'location', 'zone', 'shape', 'role', 'configuration'] as const).flatMap((type) =>
      [...SELECTORS].map((key): [typeof type, string, string] => [type, `${key}: x`, 'port: 80']),
    ),
    ['clientcert', 'role: [web]', 'role: web'],
  ])('find the mistake in a %s: %j', (type, written, corrected) => {
    expect([isValidEntry(type, written), isValidEntry(type, corrected)]).toEqual([false, true]);
  });
});

function serverWith(property: string): string {
  return `resources: { a: { type: "Platform::Server", properties: { ${property} } } }`;
}

function groupWith(property: string): string {
  const member = `resource_def: { properties: { ${property} } }`;
  return `resources: { a: { type: "Platform::ResourceGroup", properties: { count: "1", ${member} } } }`;
}

function additionsWith(property: string): string {
  return `stackTemplate: a\nstackTemplateAdditions: { resources: { a: { properties: { ${property} } } } }`;
}

describe('a foreign schema', () => {
  const check = compileSchema({
    type: 'object',
    properties: {
      port: { type: 'integer', minimum: 0 },
      any: { type: ['number', 'boolean'] },
      list: { type: 'array', items: { type: 'object', required: ['a'] } },
      level: { enum: ['low', 'high'] },
      never: false,
    },
  });

  test.each([
    ['port: x', '1:7', 'wrong_type', '"port" is the text "x", but has to be a whole number'],
    ['port: -1', '1:7', 'wrong_value', '"port" is the number -1, but must be >= 0'],
    ['never: 1', '1:1', 'no_effect', '"never" has no effect here'],
    ['port:', '1:1', 'wrong_type', '"port" is empty, but has to be a whole number'],
    [
      `port: ${'x'.repeat(90)}`,
      '1:7',
      'wrong_type',
      `"port" is the text "${'x'.repeat(80)}…", but has to be a whole number`,
    ],
    ['any: []', '1:6', 'wrong_type', '"any" is a list, but has to be a number or true or false'],
    ['list: [{}, { a: 1 }]', '1:8', 'missing_field', 'item 1 of "list" lacks the field "a"'],
    ['level: mid', '1:8', 'wrong_value', '"level" is the text "mid", but has to be one of "low", "high"'],
  ])('%s', (text, place, code, message) => {
    const problems = check('settings.yaml', parseYaml('settings.yaml', text));
    expect(problems.map((problem) => [`${problem.line}:${problem.column}`, problem.code, problem.message])).toEqual([
      [place, code, message],
    ]);
  });

  test('an unreadable document has no further problems', () => {
    expect(check('a.yaml', parseYaml('a.yaml', 'a: b: c'))).toEqual([]);
  });
});

test('a file of 20,000 unknown fields is read as often as a file of one', () => {
  function countReads(fields: number): number {
    let reads = 0;
    const names = Array.from({ length: fields }, (_, i) => [`field${i}`, 1] as const);
    const value = new Proxy(Object.fromEntries(names), {
      ownKeys(target) {
        reads += 1;
        return Reflect.ownKeys(target);
      },
    });
    const document = parseYaml('stacks/templates/a.yaml', 'a: 1');
    checkSchema('stack-template', 'stacks/templates/a.yaml', { ...document, value });
    return reads;
  }
  expect(countReads(20_000)).toBe(countReads(1));
});
