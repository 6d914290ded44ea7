import { describe, expect, test } from 'vitest';
import { checkTemplate } from '../../src/expand/check-template.ts';
import { describeProblems, templateEntry } from '../support/entries.ts';

/** Line 3 holds the parameters; `resources` begins in line 4. */
function problemsOf(resources: string, parameters = '{ zone: a, size: "" }'): string[] {
  return describeProblems(checkTemplate(templateEntry(`description: x\n\nparameters: ${parameters}\n${resources}`)));
}

function server(properties: string): string {
  return `resources:\n  db:\n    type: Platform::Server\n    properties: ${properties}\n`;
}

function group(fields: string, properties = '{}'): string {
  return `resources:
  web:
    type: Platform::ResourceGroup
    properties:
      resource_def: { properties: ${properties} }
      ${fields}
`;
}

describe('a valid template has no problems', () => {
  test.each([
    ['an empty template', ''],
    [
      'every form of placeholder',
      group('count: "<<size>>"', `{ a: "<<zone>>", b: "<<index>>", c: "<<(Array)['web']['b']>>" }`),
    ],
    ['a single server without properties', 'resources: { db: { type: Platform::Server } }'],
    ['a group that lists itself', group('count: "2"', `{ peers: "<<(Array)['web']['name']>>" }`)],
    ['a literal <<', server('{ page: "<<<nowhere>> cat <<EOF" }')],
    ['an index with leading zeros', group('count: "0"\n      index_start: "01"')],
    ['a percentage', group('count: "3"\n      max_unavailable: "25%"\n      pause_seconds: "0"')],
    ['a server name in depends_on', server('{ depends_on: [elsewhere, ""] }')],
  ])('%s', (_what, resources) => {
    expect(problemsOf(resources)).toEqual([]);
  });
});

describe('placeholders', () => {
  test.each<[what: string, resources: string, problem: string]>([
    [
      'a misspelt parameter',
      server('{ a: "<<zoen>>" }'),
      'web.yaml:7:22 undeclared_placeholder: "<<zoen>>" names no parameter (did you mean "zone"?)',
    ],
    [
      'a misspelt index in a member',
      group('count: "1"', '{ a: "<<idnex>>" }'),
      'web.yaml:8:40 undeclared_placeholder: "<<idnex>>" names no parameter (did you mean "index"?)',
    ],
    [
      'a name of every object',
      server('{ a: "<<constructor>>" }'),
      'web.yaml:7:22 undeclared_placeholder: "<<constructor>>" names no parameter (declare "constructor" under parameters, or write "<<<constructor>>" for the text itself)',
    ],
    [
      'an Array placeholder of a misspelt resource',
      server(`{ a: "<<(Array)['dbs']['name']>>" }`),
      `web.yaml:7:22 unknown_array_resource: "<<(Array)['dbs']['name']>>" names no resource (did you mean "db"?)`,
    ],
    [
      'an Array placeholder of a misspelt property',
      server(`{ port: "1", a: "<<(Array)['db']['prot']>>" }`),
      `web.yaml:7:33 unknown_array_property: "<<(Array)['db']['prot']>>" names no property of "db" (did you mean "port"?)`,
    ],
    [
      'an Array placeholder of a structural property',
      server(`{ depends_on: x, a: "<<(Array)['db']['depends_on']>>" }`),
      `web.yaml:7:37 unknown_array_property: "<<(Array)['db']['depends_on']>>" names no property of "db" ("depends_on" is structure and has no values)`,
    ],
  ])('%s', (_what, resources, problem) => {
    expect(problemsOf(resources)).toEqual([problem]);
  });

  test.each([`$${'{zone}'}`, '{{ zone }}', '{{zone}}'])(
    '%s of a parameter is not accepted as a placeholder here',
    (written) => {
      expect(problemsOf(server(`{ a: "${written}" }`), '{ zone: x }')).toEqual([
        `warning web.yaml:7:22 not_a_placeholder: "${written}" looks like a placeholder but is not one (write <<parameter>>, <<index>>, <<(Array)['resource']['property']>> or <<(Output)['resource']['name']>>, without spaces)`,
      ]);
      expect(problemsOf(server(`{ a: "${written}" }`), '{ other: x }')).toEqual([]);
    },
  );

  test('report a placeholder in a default value', () => {
    expect(problemsOf('', '{ a: "<<b>>", b: "" }')).toEqual([
      'web.yaml:3:18 placeholder_in_parameter: the placeholder in "<<b>>" would never be replaced (parameters contain plain text; put the placeholder into the property)',
    ]);
  });

  test('report the first hundred problems, errors before warnings', () => {
    const properties = Array.from({ length: 150 }, (_, item) => `p${item}: "<< zone >>"`);
    const problems = problemsOf(server(`{ ${properties.join(', ')}, z: "<<nowhere>>" }`));
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toContain('undeclared_placeholder');
  });
});

describe('groups', () => {
  test.each<[fields: string, problem: string]>([
    [
      'count: three',
      '9:14 bad_group_property: count of "web" is "three"; it must be a whole number from 0 to 10,000 (write digits in quotes, such as "2")',
    ],
    [
      'count: "10001"',
      '9:14 bad_group_property: count of "web" is "10001"; it must be a whole number from 0 to 10,000 (write digits in quotes, such as "2")',
    ],
    [
      'count: "1"\n      index_start: a',
      '10:20 bad_group_property: index_start of "web" is "a"; it must be a whole number of at most nine digits (write digits in quotes, such as "1")',
    ],
    [
      'count: "1"\n      max_unavailable: "101%"',
      '10:24 bad_group_property: max_unavailable of "web" is "101%"; it must be a whole number from 1 to 10,000, or a percentage from "1%" to "100%" (write digits in quotes, such as "1" or "25%")',
    ],
    [
      'count: "1"\n      pause_seconds: 5m',
      '10:22 bad_group_property: pause_seconds of "web" is "5m"; it must be a whole number of seconds from 0 to 86,400 (write digits in quotes, such as "30")',
    ],
  ])('%s', (fields, problem) => {
    expect(problemsOf(group(fields))).toEqual([`web.yaml:${problem}`]);
  });

  test.each(['"0"', '"10000"', '"007"', '"<<size>>"'])('count: %s is right', (count) => {
    expect(problemsOf(group(`count: ${count}`))).toEqual([]);
  });
});

describe('names', () => {
  test('refuse an Array placeholder in a name', () => {
    expect(problemsOf(group('count: "1"', `{ x: a, name: "<<(Array)['web']['x']>>" }`))).toEqual([
      'web.yaml:8:49 bad_server_name: name is a list; it must be one string (a server has one name)',
    ]);
  });
});

describe('cycles', () => {
  const hint = '(let one of them be written without an Array placeholder)';

  test.each<[what: string, resources: string, problems: readonly string[]]>([
    [
      'a property that lists itself',
      group('count: "0"', `{ peers: "x<<(Array)['web']['peers']>>" }`),
      [`web.yaml:8:44 value_cycle: values need one another in a circle: web.peers → web.peers ${hint}`],
    ],
    [
      'two resources that list one another',
      `resources:
  a: { type: Platform::Server, properties: { x: "<<(Array)['b']['y']>>" } }
  b: { type: Platform::Server, properties: { y: ["1", "<<(Array)['a']['x']>>"] } }
`,
      [`web.yaml:5:49 value_cycle: values need one another in a circle: a.x → b.y → a.x ${hint}`],
    ],
    [
      'resources that depend on one another, an empty group among them',
      `resources:
  a: { type: Platform::Server, properties: { depends_on: [x, b] } }
  b:
    type: Platform::ResourceGroup
    properties: { count: "0", resource_def: { properties: { depends_on: c } } }
  c: { type: Platform::Server, properties: { depends_on: [a] } }
`,
      ['web.yaml:5:58 dependency_cycle: dependencies go in a circle: a → b → c → a (remove one of these depends_on)'],
    ],
  ])('%s', (_what, resources, problems) => {
    expect(problemsOf(resources)).toEqual(problems);
  });

  test('accept different properties of the same resources', () => {
    const resources = `resources:
  a: { type: Platform::Server, properties: { x: "<<(Array)['b']['name']>>", depends_on: b } }
  b: { type: Platform::Server, properties: { y: "<<(Array)['a']['x']>>" } }
`;
    expect(problemsOf(resources)).toEqual([]);
  });
});
