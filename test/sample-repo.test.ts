// The sample repository as an editor opens it: it finds the schema of every file. test/golden.test.ts shows what the files mean.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { isPlainTypeName } from '../src/model/names.ts';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const SAMPLE = join(PROJECT, 'sample-repo');

const yamlFiles = readdirSync(SAMPLE, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.yaml'))
  .sort();

function textOf(path: string): string {
  return readFileSync(join(SAMPLE, path), 'utf8');
}

/** The name of the schema that a file's place in the layout calls for. */
function schemaOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  if (first === 'stacks') return second === 'templates' ? 'stack-template' : 'stack-instance';
  if (first === 'types') return second;
  return first === 'clients' ? 'client' : first.replace(/\.yaml$/, '');
}

describe('a file of the sample repository', () => {
  test.each(yamlFiles)('%s begins with a modeline that leads to its schema', (path) => {
    const [first = ''] = textOf(path).split('\n', 1);
    const target = /^# yaml-language-server: \$schema=(\S+)$/.exec(first)?.[1] ?? '(no modeline)';
    const resolved = relative(SAMPLE, join(SAMPLE, dirname(path), target));
    expect(resolved).toBe(join('schemas', `${schemaOf(path)}.schema.json`));
  });

  test.each([...new Set(yamlFiles.map(schemaOf))])(
    'the schema of %s exists, and equals that of the project',
    (type) => {
      const file = join('schemas', `${type}.schema.json`);
      expect(existsSync(join(SAMPLE, file)), `${file} is missing; run: treeline schemas sample-repo`).toBe(true);
      expect(JSON.parse(textOf(file))).toEqual(JSON.parse(readFileSync(join(PROJECT, file), 'utf8')));
    },
  );

  test('is part of the layout', () => {
    const strays = yamlFiles.filter(
      (path) =>
        !/^(tree|hierarchy)\.yaml$|^(stacks\/(templates|instances)|types|clients)\//.test(path) ||
        (path.startsWith('types/') && !isPlainTypeName(path.split('/')[1] ?? '')),
    );
    expect(strays).toEqual([]);
  });
});

test('README.md names only files that exist', () => {
  const named = [...textOf('README.md').matchAll(/`((?:[\w-]+\/)*[\w.-]+\.yaml)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((path) => !existsSync(join(SAMPLE, path)))).toEqual([]);
});

describe('.vscode', () => {
  /** The settings of the editor are JSON with comments, which stand on lines of their own. */
  function settingsIn(file: string): unknown {
    return JSON.parse(textOf(`.vscode/${file}`).replaceAll(/^\s*\/\/.*$/gm, ''));
  }

  const { 'yaml.schemas': schemas } = settingsIn('settings.json') as {
    readonly 'yaml.schemas': Readonly<Record<string, readonly string[]>>;
  };

  /** The schemas that the editor has for a file. Their paths begin at the folder that it opens: the root of the clone. */
  function schemasFor(path: string): readonly string[] {
    return Object.keys(schemas).filter((schema) => schemas[schema]?.some((glob) => matchesGlob(`/${path}`, glob)));
  }

  const layoutFiles = yamlFiles.filter((file) => !file.startsWith('.'));

  test('has the schema of every file by its path', () => {
    for (const path of layoutFiles) expect(schemasFor(path), path).toEqual([`./schemas/${schemaOf(path)}.schema.json`]);
    for (const schema of Object.keys(schemas)) expect(existsSync(join(SAMPLE, schema)), schema).toBe(true);
    expect(Object.keys(schemas)).toHaveLength(readdirSync(join(SAMPLE, 'schemas')).length);
  });

  test.each(layoutFiles)('has a schema that accepts %s and finds a mistake in it', (path) => {
    const [schema = ''] = schemasFor(path);
    // As an editor reads it: words that draft-07 does not have are ignored.
    const accepts = new Ajv({ strict: false }).compile(JSON.parse(textOf(schema)));
    const object = load(textOf(path)) as Readonly<Record<string, unknown>>;
    expect(accepts(object), JSON.stringify(accepts.errors)).toBe(true);
    expect(accepts({ ...object, type: 5, order: 5 })).toBe(false);
  });

  test('finds the place of every problem of treeline validate', () => {
    const { tasks } = settingsIn('tasks.json') as {
      readonly tasks: readonly { readonly problemMatcher: { readonly pattern: { readonly regexp: string } } }[];
    };
    const pattern = new RegExp(tasks[0]?.problemMatcher.pattern.regexp ?? '');
    const golden = readFileSync(join(PROJECT, 'test/texts/problems.txt'), 'utf8');
    // A folder has no lines, so no place that an editor could mark.
    const inFolder = /^(?:clients|stacks\/instances): /;
    const lines = golden.split('\n').filter((line) => /^\S.* \[[a-z_0-9]+\]$/.test(line) && !inFolder.test(line));
    expect(lines.length).toBeGreaterThan(40);
    expect(lines.filter((line) => !pattern.test(line))).toEqual([]);
    expect(golden.split('\n').filter((line) => pattern.test(line))).toHaveLength(lines.length);
  });
});
