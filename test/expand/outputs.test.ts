import { describe, expect, test } from 'vitest';
import { checkTemplate } from '../../src/expand/check-template.ts';
import { expandStack } from '../../src/expand/expand-stack.ts';
import type { ExpandedServer } from '../../src/model/expanded.ts';
import { describeProblems, instanceEntry, templateEntry } from '../support/entries.ts';

const DB = '  db: { type: Platform::Server, properties: { port: "5432" } }\n';
const CACHES =
  '  cache: { type: Platform::ResourceGroup, properties: { count: "<<caches>>", resource_def: { properties: { name: "cache-<<index>>" } } } }\n';
const ADDRESS = "<<(Output)['db']['address']>>";
const ADDRESSES = "<<(Output)['cache']['address']>>";
/** Line 1 holds the parameters, `resources` begins in line 2. */
const HEAD = 'parameters: { caches: "2", port: "80" }\nresources:\n';

function web(properties: string): string {
  return `  web: { type: Platform::Server, properties: ${properties} }\n`;
}

/** The server `shop-web` of a template with that web server. */
function expandWeb(properties: string, instance = ''): ExpandedServer | undefined {
  const template = templateEntry(`${HEAD}${DB}${CACHES}${web(properties)}`);
  const { servers, problems } = expandStack(instanceEntry(`stackTemplate: web\n${instance}`), template);
  expect(describeProblems(problems)).toEqual([]);
  return servers.find(({ key }) => key === 'web');
}

function problemsOf(resources: string): string[] {
  return describeProblems(checkTemplate(templateEntry(`${HEAD}${DB}${CACHES}${resources}`)));
}

describe('a property with outputs has text parts instead of a value', () => {
  const address = { output: 'address', of: 'shop-db' };
  const addresses = { output: 'address', of: ['cache-1', 'cache-2'] };
  test.each<[what: string, value: string, texts: unknown]>([
    ['the whole text', `"${ADDRESS}"`, [[address]]],
    ['the output of a group', `"${ADDRESSES}"`, [[addresses]]],
    ['within a longer text', `"db://${ADDRESS}:<<port>>/x"`, [['db://', address, ':80/x']]],
    ['next to an Array placeholder', `"${ADDRESS},<<(Array)['cache']['name']>>"`, [[address, ',cache-1,cache-2']]],
    ['twice', `"${ADDRESS}${ADDRESSES}"`, [[address, addresses]]],
    ['in a list', `["${ADDRESS}", "x", "<<port>>"]`, [[address], ['x'], ['80']]],
    [
      'next to an Array placeholder in a list',
      `["<<(Array)['cache']['name']>>", "${ADDRESS}"]`,
      [['cache-1'], ['cache-2'], [address]],
    ],
  ])('%s', (_what, value, texts) => {
    const server = expandWeb(`{ size: s, db: ${value} }`);
    expect(server?.properties).toEqual({ name: 'shop-web', size: 's' });
    expect(server?.reads).toEqual({ db: { isList: value.startsWith('['), texts } });
  });

  test('an output next to an empty parameter is still joined as text', () => {
    const server = expandWeb(`{ db: "<<port>>${ADDRESSES}" }`, 'parameters: { port: "" }\n');
    expect(server?.reads).toEqual({ db: { isList: false, texts: [[addresses, '']] } });
  });

  test('a server without outputs has no reads', () => {
    expect(expandWeb('{ size: s }')).not.toHaveProperty('reads');
  });

  test('a server depends on the servers whose outputs it uses, and lists none', () => {
    expect(expandWeb(`{ db: "${ADDRESS}", all: "${ADDRESSES}", depends_on: elsewhere }`)).toMatchObject({
      dependsOn: ['cache-1', 'cache-2', 'elsewhere', 'shop-db'],
      lists: [],
      outside: [{ server: 'elsewhere' }],
    });
  });

  test('the output of an empty group is an empty list without a dependency', () => {
    const server = expandWeb(`{ all: "${ADDRESSES}" }`, 'parameters: { caches: "0" }');
    expect(server).toMatchObject({ reads: { all: { texts: [[{ output: 'address', of: [] }]] } }, dependsOn: [] });
  });

  test('members of a group share an output unless it contains their index', () => {
    const members = (text: string): readonly ExpandedServer[] => {
      const group = `  web: { type: Platform::ResourceGroup, properties: { count: "2", resource_def: { properties: { db: "${text}" } } } }\n`;
      return expandStack(instanceEntry('stackTemplate: web\n'), templateEntry(`${HEAD}${DB}${group}`)).servers.slice(1);
    };
    const [first, second] = members(ADDRESS);
    expect(first?.reads?.db).toBe(second?.reads?.db);
    expect(members(`${ADDRESS}/<<index>>`).map(({ reads }) => reads?.db?.texts[0]?.[1])).toEqual(['/1', '/2']);
  });

  test('an addition may bring an output for configuration only', () => {
    const added = `{ resources: { web: { properties: { db: "${ADDRESS}", configuration_only: db } } } }`;
    expect(expandWeb('{ db: none }', `stackTemplateAdditions: ${added}`)).toMatchObject({
      reads: { db: {} },
      configurationOnly: ['db'],
    });
  });
});

describe('an invalid Output placeholder', () => {
  const placed = 'its value must be known before any server is created';
  const advice = 'use a parameter, or put the output into another property';
  test.each<[what: string, resources: string, problem: string]>([
    ...['name', 'description', 'role', 'environment', 'ProxyTag', 'depends_on', 'configuration_only'].map(
      (property): [string, string, string] => [
        `in ${property}`,
        web(`{ ${property}: "${ADDRESS}" }`),
        `web.yaml:5:${50 + property.length} misplaced_output: "${ADDRESS}" cannot be in "${property}": ${placed} (${advice})`,
      ],
    ),
    [
      'in a count',
      `  web: { type: Platform::ResourceGroup, properties: { count: "${ADDRESS}", resource_def: { properties: {} } } }\n`,
      `web.yaml:5:62 misplaced_output: "${ADDRESS}" cannot be in a property of the group itself: ${placed} (${advice})`,
    ],
    ...[
      ['', '"" is empty'],
      ['db.address', '"db.address" contains "/" or "."'],
      ['constructor', '"constructor" is a reserved word'],
      ['addr\u200bess', '"addr\u200bess" with U+200B contains something other than letters, digits, "_", "-" and ":"'],
    ].map(([name, fault]): [string, string, string] => [
      `of a name that no answer can have: ${fault}`,
      web(`{ a: "<<(Output)['db']['${name}']>>" }`),
      `web.yaml:5:51 bad_key: "<<(Output)['db']['${name}']>>" names no output: ${fault} (write the name under which the provider reports it)`,
    ]),
    [
      'of itself',
      web(`{ a: "<<(Output)['web']['address']>>" }`),
      'web.yaml:5:51 dependency_cycle: dependencies go in a circle: web → web (remove one of these depends_on or Output placeholders)',
    ],
  ])('%s', (_what, resources, problem) => {
    expect(problemsOf(resources)).toEqual([problem]);
  });

  test('a cycle through the name of a server is reported', () => {
    const resources = `${web(`{ name: w, a: "<<(Output)['next']['address']>>" }`)}  next: { type: Platform::Server, properties: { depends_on: w } }\n`;
    const { problems } = expandStack(instanceEntry('stackTemplate: web\n'), templateEntry(`${HEAD}${resources}`));
    expect(describeProblems(problems)).toEqual([expect.stringContaining('dependencies go in a circle: ')]);
  });
});
