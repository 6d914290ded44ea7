// Holds the sample repository to its purpose: every feature of docs/concepts.md occurs in it, and editors find the
// schema of every file. It reads text only; whether the files are right is for `treeline validate`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { isPlainTypeName, TYPE_NAMES } from '../src/model/names.ts';
import { canonicalFingerprint, canonicalSerial } from '../src/model/serial.ts';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const SAMPLE = join(PROJECT, 'sample-repo');
const SHOP = 'stacks/templates/shop.yaml';
const DATABASE = 'stacks/templates/database.yaml';
const STAGING = 'stacks/instances/shop/shop-staging.yaml';
const PRODUCTION = 'stacks/instances/shop/shop-production.yaml';
const ORDERS = 'stacks/instances/orders-db.yaml';

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

describe('every feature occurs', () => {
  test.each<[feature: string, path: string, pattern: RegExp]>([
    ['a single server', SHOP, /type: Platform::Server$/m],
    ['a group', SHOP, /type: Platform::ResourceGroup$/m],
    ['a parameter without default', SHOP, /^ {2}environment: ""$/m],
    ['a parameter with default', SHOP, /^ {2}zone: internal$/m],
    ['<<parameter>> as the whole value', SHOP, /environment: "<<environment>>"/],
    ['<<parameter>> and <<index>> inside a longer string', SHOP, /name: "<<prefix>>-web-<<index>>"/],
    ['an Array placeholder as the whole value', SHOP, /backends: "<<\(Array\)\['web'\]\['name'\]>>"/],
    ['an Array placeholder inside a longer string', SHOP, /"redis:\/\/<<\(Array\)\['cache'\]\['name'\]>>:6379"/],
    [
      'a group that lists itself',
      SHOP,
      /^ {2}web:[\s\S]*?peers: "<<\(Array\)\['web'\]\['name'\]>>"[\s\S]*?^ {2}worker:/m,
    ],
    ['a literal <<', SHOP, /"<<<shop>> is closed/],
    ['count from a parameter', SHOP, /count: "<<web_count>>"/],
    ['index_start with a leading zero', SHOP, /index_start: "01"/],
    ['a group without explicit names', SHOP, /^ {2}worker:(?:(?!\n {2}\w)(?! name:)[\s\S])*\n {2}#/m],
    ['max_unavailable as a number', SHOP, /max_unavailable: "1"/],
    ['max_unavailable as a percentage', SHOP, /max_unavailable: "50%"/],
    ['pause_seconds', SHOP, /pause_seconds: "\d+"/],
    ['configuration_only', SHOP, /configuration_only: \[peers\]/],
    ['depends_on with one key', SHOP, /depends_on: cache$/m],
    ['depends_on with a list of keys', SHOP, /depends_on: \[web\]/],
    ['depends_on with a server name of another stack', PRODUCTION, /depends_on: \[cache, orders-db\]/],
    ['a single server with an explicit name', DATABASE, /name: "<<name>>"/],
    ['a quoted number', DATABASE, /postgres_version: "17\.10"/],
    ['a value that looks like a number', PRODUCTION, /app_version: "1\.10"/],
    ['an explicit empty value', PRODUCTION, /banner: ""/],
    ['additions that merge maps', PRODUCTION, /^stackTemplateAdditions:\n {2}resources:\n {4}web:\n {6}properties:\n/m],
    ['additions that replace a value', PRODUCTION, /shape: large/],
    ['additions that bring a resource', PRODUCTION, /reports:\n {6}type: Platform::Server/],
    ['an empty selector', PRODUCTION, /zone: ""/],
    ['substractions of a resource', PRODUCTION, /^stackTemplateSubstractions:\n {2}resources:\n {4}mailtrap: \{\}/m],
    ['substractions of a property', PRODUCTION, /debug_port: \{\}/],
    ['a retired member', PRODUCTION, /index: \["2"\]/],
    ['the instance field protected', ORDERS, /^protected: true/m],
    ['the instance field deletion', ORDERS, /^deletion: retain/m],
    ['the instance field drift', ORDERS, /^drift: report/m],
    ['the instance field tenant', STAGING, /^tenant: /m],
    ['an order of layers', 'hierarchy.yaml', /^order:\n {2}- common\n/m],
    ['a compound layer', 'hierarchy.yaml', /name: "<<environment>>-<<location>>"/],
    ['an object that a compound layer finds', 'types/configuration/production-frankfurt.yaml', /^description:/m],
    ['merge: unique', 'hierarchy.yaml', /packages: unique/],
    ['merge: first', 'hierarchy.yaml', /log_level: first/],
    ['provisioning layers', 'hierarchy.yaml', /^provisioning: \[shape\]/m],
    ['the rule for secrets', 'hierarchy.yaml', /^secrets:\n {2}keys: .*\n {2}reference: /m],
    ['a reference to a secret', 'types/configuration/production-frankfurt.yaml', /_password: secret\//],
    ['the base layer, named as the root', 'tree.yaml', /^name: global$/m],
    ['a zone at several locations', 'tree.yaml', /name: internal,[\s\S]*name: internal,[\s\S]*name: internal,/],
    ['a list of strings', 'types/common/global.yaml', /open_ports: \["22"\]/],
    ['a joined list from a second layer', 'types/role/web.yaml', /packages: \[nginx\]/],
    ['a number', 'types/shape/small.yaml', /cpus: 2$/m],
    ['a boolean', 'types/shape/small.yaml', /dedicated: false/],
    ['a removed key', 'types/environment/staging.yaml', /alert_contact: null/],
    ['ProxyTag', 'types/location/lab.yaml', /ProxyTag: lab/],
    [
      'a node that no stack makes',
      'types/clientcert/lab-db.yaml',
      /environment: staging\nlocation: lab\nzone: internal/,
    ],
    ['the last layer of a server', 'types/clientcert/prod-web-4.yaml', /log_level: debug/],
    ['an action', 'types/action/restart-web.yaml', /^description:/m],
    ['a stack snapshot', 'types/stack-snapshot/shop-production-1.9.yaml', /^description:/m],
    ['an administrator', 'clients/A110C0DE0000000000000001.yaml', /role: administrator/],
    ['an automation endpoint', 'clients/A110C0DE0000000000000002.yaml', /role: automation-endpoint/],
    [
      'a proxy with tags and tenant',
      'clients/A110C0DE0000000000000003.yaml',
      /role: proxy[\s\S]*tenant: [\s\S]*tags: \[/,
    ],
  ])('%s', (_feature, path, pattern) => {
    expect(textOf(path)).toMatch(pattern);
  });

  test('every type of the interface has an object', () => {
    const used = new Set(yamlFiles.map(schemaOf));
    expect(TYPE_NAMES.filter((type) => type !== 'all' && !used.has(type))).toEqual([]);
  });
});

describe('every file', () => {
  test.each(yamlFiles)('%s begins with a modeline that leads to its schema', (path) => {
    const [first = ''] = textOf(path).split('\n', 1);
    const target = /^# yaml-language-server: \$schema=(\S+)$/.exec(first)?.[1] ?? '(no modeline)';
    const resolved = relative(SAMPLE, join(SAMPLE, dirname(path), target));
    expect(resolved).toBe(join('schemas', `${schemaOf(path)}.schema.json`));
  });

  test.each([...new Set(yamlFiles.map(schemaOf))])('the schema of %s is there, and as in the project', (type) => {
    const file = join('schemas', `${type}.schema.json`);
    expect(existsSync(join(SAMPLE, file)), `${file} is missing; run: treeline schemas sample-repo`).toBe(true);
    expect(JSON.parse(textOf(file))).toEqual(JSON.parse(readFileSync(join(PROJECT, file), 'utf8')));
  });

  test('stands where the layout has a place for it', () => {
    const strays = yamlFiles.filter(
      (path) =>
        !/^(tree|hierarchy)\.yaml$|^(stacks\/(templates|instances)|types|clients)\//.test(path) ||
        (path.startsWith('types/') && !isPlainTypeName(path.split('/')[1] ?? '')),
    );
    expect(strays).toEqual([]);
  });
});

describe('client files', () => {
  const clients = yamlFiles.filter((path) => path.startsWith('clients/'));

  test.each(clients)('%s is made up, says so, and is spelled in the canonical way', (path) => {
    const serial = path.slice('clients/'.length, -'.yaml'.length);
    const fingerprint = /^fingerprint: "(.*)"$/m.exec(textOf(path))?.[1] ?? '';
    expect(canonicalSerial(serial)).toBe(serial);
    expect(canonicalFingerprint(fingerprint)).toBe(fingerprint);
    expect(textOf(path)).toContain('made-up serial');
    expect(textOf(path)).toMatch(/^description: Example /m);
  });
});

describe('README.md', () => {
  const readme = textOf('README.md');

  test('names only files that are there', () => {
    const named = [...readme.matchAll(/`((?:[\w-]+\/)*[\w.-]+\.yaml)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((path) => !existsSync(join(SAMPLE, path)))).toEqual([]);
  });

  test('says where to find each kind of file', () => {
    for (const place of [
      'tree.yaml',
      'hierarchy.yaml',
      'stacks/templates/',
      'stacks/instances/',
      'types/',
      'clients/',
    ]) {
      expect(readme).toContain(place);
    }
  });
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

  test('has the schema of every file, by its place', () => {
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

  test('finds the place of every problem that treeline validate prints', () => {
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
