// Tests that expansion refuses the shapes that the schemas of the files refuse; the tests pass by the schemas.
import { expect, test } from 'vitest';
import { expandStack } from '../../src/expand/expand-stack.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { describeProblems, instanceEntry, templateEntry } from '../support/entries.ts';

const TEMPLATE = templateEntry(`
resources:
  db: { type: Platform::Server, properties: { role: db } }
  app: { type: Platform::Server, properties: { role: "<<(Array)['db']['role']>>", x: "<<(Array)['new']['name']>>" } }
  new: { type: Platform::Server }
`);

function problemsOf(additions: JsonMap): string[] {
  const right = instanceEntry('stackTemplate: web\nstackTemplateAdditions: {}');
  const instance = { ...right, object: { ...right.object, stackTemplateAdditions: additions } };
  const { servers, problems } = expandStack(instance, TEMPLATE);
  expect(servers).toEqual([]);
  return describeProblems(problems);
}

test.each<[what: string, resources: JsonMap, problem: string]>([
  [
    'a number',
    { db: { properties: { role: 8080 } } },
    'wrong_type: role must be a string, and not 8080 (write it in quotes: "8080")',
  ],
  [
    'a boolean',
    { db: { properties: { role: true } } },
    'wrong_type: role must be a string, and not true (write it in quotes: "true")',
  ],
  [
    'null',
    { db: { properties: { role: null } } },
    'wrong_type: role must be a string, and not null (write "" for an empty value, or take it away in stackTemplateSubstractions)',
  ],
  [
    'a map',
    { db: { properties: { role: { a: '1' } } } },
    'wrong_type: role must be a string, and not {"a":"1"} (values are strings or lists of strings)',
  ],
  [
    'a list of numbers',
    { db: { properties: { role: ['1', 2] } } },
    'wrong_type: an item of the list must be a string, and not 2 (write it in quotes: "2")',
  ],
  ['properties that are none', { db: { properties: 'x' } }, 'wrong_type: properties must be a map, and not "x"'],
  [
    'properties of nothing',
    { db: { properties: null } },
    'wrong_type: properties must be a map, and not null (to take something away, name it in stackTemplateSubstractions)',
  ],
  ['a resource that is none', { new: ['x'] }, 'wrong_type: new must be a map, and not ["x"]'],
  [
    'an unknown kind',
    { new: { type: 'Platform::Sever' } },
    'unknown_kind: "Platform::Sever" is no kind of resource (did you mean "Platform::Server"?)',
  ],
  [
    'a kind that is no text',
    { new: { type: 1 } },
    'unknown_kind: 1 is no kind of resource (a resource is of type Platform::Server or Platform::ResourceGroup)',
  ],
  [
    'a count that is a number',
    { new: { type: 'Platform::ResourceGroup', properties: { count: 2, resource_def: {} } } },
    'wrong_type: count must be a string, and not 2 (write it in quotes: "2")',
  ],
  [
    'a resource_def that is none',
    { new: { type: 'Platform::ResourceGroup', properties: { count: '2', resource_def: 'x' } } },
    'wrong_type: resource_def must be a map, and not "x"',
  ],
  [
    'group properties that are none',
    { new: { type: 'Platform::ResourceGroup', properties: 'x' } },
    'wrong_type: properties must be a map, and not "x"',
  ],
  [
    'properties of members that are none',
    { new: { type: 'Platform::ResourceGroup', properties: { count: '2', resource_def: { properties: [] } } } },
    'wrong_type: properties must be a map, and not []',
  ],
])('%s', (_what, resources, problem) => {
  expect(problemsOf({ resources })).toEqual([`shop.yaml:2:25 ${problem} [shop]`]);
});

test.each<[what: string, resources: JsonMap, problem: string]>([
  ['of a resource', { db: { propertys: {} } }, 'unknown field "propertys" (did you mean "properties"?)'],
  ['of a resource, like none', { db: { x: {} } }, 'unknown field "x" (a resource has "type" and "properties")'],
  [
    'of resource_def',
    { new: { type: 'Platform::ResourceGroup', properties: { count: '2', resource_def: { type: 'x' } } } },
    'unknown field "type" (resource_def has "properties")',
  ],
])('an unknown field %s', (_what, resources, problem) => {
  expect(problemsOf({ resources })).toEqual([`shop.yaml:2:1 unknown_field: ${problem} [shop]`]);
});

test.each<[what: string, parameters: JsonMap, problem: string]>([
  ['a number', { a: 1 }, 'wrong_type: the value of a parameter must be a string, and not 1 (write it in quotes: "1")'],
  ['a list', { a: [] }, 'wrong_type: the value of a parameter must be a string, and not [] (write "" for no default)'],
  [
    'a placeholder',
    { a: '<<b>>' },
    'placeholder_in_parameter: the placeholder in "<<b>>" would never be replaced (parameters hold plain text; put the placeholder into the property)',
  ],
])('a parameter that is %s', (_what, parameters, problem) => {
  expect(problemsOf({ parameters })).toEqual([`shop.yaml:2:25 ${problem} [shop]`]);
});

test('a section that is no map', () => {
  expect(problemsOf({ resources: ['x'] })).toEqual([
    'shop.yaml:2:25 bad_amendment: resources must be a map, and not ["x"] (name each of the resources that is meant) [shop]',
  ]);
});
