// A stack may ask for more than a machine can hold: it is refused in time, and what is within the limits is shared.
import { describe, expect, test } from 'vitest';
import { type Expansion, expandStack } from '../../src/expand/expand-stack.ts';
import { describeProblems, instanceEntry, templateEntry } from '../support/entries.ts';

function expand(resources: string, value = ''): Expansion {
  const template = templateEntry(`parameters: { big: x }\nresources:\n${resources}`);
  return expandStack(instanceEntry(`stackTemplate: web\nparameters: { big: "${value || 'x'}" }`), template);
}

function group(key: string, count: number, properties = '{}'): string {
  return `  ${key}: { type: Platform::ResourceGroup, properties: { count: "${count}", resource_def: { properties: ${properties} } } }\n`;
}

function codesOf({ problems }: Expansion): string[] {
  return problems.map(({ code }) => code);
}

test('expandStack refuses more than 50,000 servers', () => {
  const five = [1, 2, 3, 4, 5].map((each) => group(`g${each}`, 10_000, '{ a: "<<big>>", b: "<<index>>" }')).join('');
  expect(expand(five).servers).toHaveLength(50_000);
  const { servers, problems } = expand(`${five}  one: { type: Platform::Server }\n`);
  expect(servers).toEqual([]);
  expect(describeProblems(problems)).toEqual([
    'web.yaml:8:8 stack_too_large: with these servers the stack has more than 50,000 (divide it into several stacks) [shop]',
  ]);
});

test('expandStack refuses too many groups before it expands them', () => {
  const groups = Array.from({ length: 3000 }, (_, each) => group(`g${each}`, 10_000)).join('');
  expect(describeProblems(expand(groups).problems)).toEqual([
    'web.yaml:8:61 stack_too_large: with these servers the stack has more than 50,000 (divide it into several stacks) [shop]',
  ]);
});

describe('a group that lists itself', () => {
  test('of 1,000 members shares one list', () => {
    const { servers, problems } = expand(group('web', 1000, `{ peers: "<<(Array)['web']['name']>>" }`));
    expect(problems).toEqual([]);
    expect(new Set(servers.map(({ properties }) => properties.peers)).size).toBe(1);
    expect(servers[0]?.properties.peers).toHaveLength(1000);
  });

  test.each([
    ['as a list', `"<<(Array)['web']['name']>>"`],
    ['within a text', `"<<(Array)['web']['a']>>."`],
    ['once for each member', `"<<(Array)['web']['a']>><<index>>"`],
  ])('of 10,000 members is refused: %s', (_what, value) => {
    const expansion = expand(group('web', 10_000, `{ a: "", peers: ${value} }`));
    expect(describeProblems(expansion.problems)).toEqual([
      expect.stringContaining(
        'stack_too_large: with web.peers the servers of this stack have more than 64 MiB of values together (list fewer servers, or divide the stack) [shop]',
      ),
    ]);
    expect(expansion.servers).toEqual([]);
  });
});

describe('one value', () => {
  const big = 'x'.repeat(1000);

  test('may have at most 65,536 characters', () => {
    const properties = (extra: string): string =>
      `  a: { type: Platform::Server, properties: { v: "${'<<big>>'.repeat(65)}${extra}" } }\n`;
    expect(codesOf(expand(properties('y'.repeat(536)), big))).toEqual([]);
    expect(describeProblems(expand(properties('y'.repeat(537)), big).problems)).toEqual([
      'web.yaml:3:49 value_too_large: a.v becomes longer than 65,536 characters or 10,000 items (shorten it) [shop]',
    ]);
  });

  test('that joins many names gets a hint to use a list', () => {
    const resources = `${group('web', 10_000)}  a: { type: Platform::Server, properties: { v: "of <<(Array)['web']['name']>>" } }\n`;
    expect(describeProblems(expand(resources).problems)).toEqual([
      'web.yaml:4:49 value_too_large: a.v becomes longer than 65,536 characters or 10,000 items (let the Array placeholder be the whole value: a list may be longer than a text) [shop]',
    ]);
  });

  test.each([
    ['in one placeholder', `"<<(Array)['web']['two']>>"`],
    ['in several', `["<<(Array)['web']['name']>>", x]`],
  ])('may have 10,000 items: %s', (_what, value) => {
    const resources = `${group('web', 10_000, '{ two: [a, b] }')}  a: { type: Platform::Server, properties: { v: ${value} } }\n`;
    expect(codesOf(expand(resources))).toEqual(['value_too_large']);
  });

  test('of gigabytes is refused before it is built', () => {
    // As long as a file may write it: half a gigabyte.
    const resources = `  a: { type: Platform::Server, properties: { v: "${'<<big>>'.repeat(9_000)}" } }\n`;
    expect(codesOf(expand(resources, 'x'.repeat(60_000)))).toEqual(['value_too_large']);
  });
});

test('expandStack limits work without a result', () => {
  const nothing = "<<(Array)['none']['name']>>".repeat(2_000);
  const values = Array.from({ length: 10 }, (_, each) => `v${each}: "<<index>>${nothing}"`);
  const properties = `{ ${values.join(', ')} }`;
  expect(codesOf(expand(`${group('none', 0)}${group('web', 10_000, properties)}`))).toEqual(['stack_too_large']);
});

test('expandStack limits a chain of values that each read all earlier ones', () => {
  const link = (each: number): string =>
    `  r${each}: { type: Platform::Server, properties: { v: "<<(Array)['r${each - 1}']['v']>>" } }\n`;
  const chain = (length: number): string =>
    `  r0: { type: Platform::Server, properties: { v: x } }\n${Array.from({ length }, (_, each) => link(each + 1)).join('')}`;
  const { servers, problems } = expand(chain(500));
  expect(problems).toEqual([]);
  expect(servers.at(-1)?.lists).toHaveLength(500);
  expect(codesOf(expand(chain(4000)))).toEqual(['stack_too_large']);
});

describe('dependencies', () => {
  test('of a group on a group share one list', () => {
    const { servers, problems } = expand(`${group('a', 1000)}${group('b', 1000, '{ depends_on: a }')}`);
    expect(problems).toEqual([]);
    expect(new Set(servers.slice(1000).map(({ dependsOn }) => dependsOn)).size).toBe(1);
  });

  test('have a maximum number', () => {
    const { servers, problems } = expand(`${group('a', 10_000)}${group('b', 1000, '{ depends_on: a }')}`);
    expect(servers).toEqual([]);
    expect(describeProblems(problems)).toEqual([
      'web.yaml:4:110 stack_too_large: with those of "b" the servers of this stack have more than 1,000,000 dependencies (depend on fewer servers, or divide the stack) [shop]',
    ]);
  });
});

test('a very large number is shown as written', () => {
  const resources = `  web: { type: Platform::ResourceGroup, properties: { count: "${'<<big>>'.repeat(2)}", resource_def: { properties: {} } } }\n`;
  expect(describeProblems(expand(resources, 'x'.repeat(40_000)).problems)).toEqual([
    'web.yaml:3:62 bad_group_property: count of "web" is "<<big>><<big>>"; it must be a whole number from 0 to 10,000 (write digits in quotes, such as "2") [shop]',
  ]);
});

test('the number of warnings is limited', () => {
  const names = Array.from({ length: 300 }, (_, each) => `p${each}`).join(', ');
  expect(
    codesOf(expand(`  a: { type: Platform::Server, properties: { configuration_only: [${names}] } }\n`)),
  ).toHaveLength(100);
});
