// Tests that an amended template is checked by the schema of templates; the additions pass by the schema of instances.
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

test.each<[what: string, additions: JsonMap, problem: string]>([
  [
    'null',
    { resources: { db: { properties: { role: null } } } },
    '2:25 wrong_type: "role" is empty, but has to be a text (for an empty text write ""; to take it away, name it in stackTemplateSubstractions)',
  ],
  [
    'properties that are null',
    { resources: { db: { properties: null } } },
    '2:25 wrong_type: "properties" is empty, but has to be a map (leave the field out, or write {}; to take it away, name it in stackTemplateSubstractions)',
  ],
  [
    'a list of numbers',
    { resources: { db: { properties: { x: ['1', 2] } } } },
    '2:25 wrong_type: item 2 of "x" is the number 2, but has to be a text (put it in quotes: "2")',
  ],
  [
    'a parameter that is a number',
    { parameters: { a: 1 } },
    '2:25 wrong_type: "a" is the number 1, but has to be a text (put it in quotes: "1")',
  ],
])('readBlueprints reports %s in additions', (_what, additions, problem) => {
  expect(problemsOf(additions)).toEqual([`shop.yaml:${problem} [shop]`]);
});
