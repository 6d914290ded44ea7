import { expect, test } from 'vitest';
import { problemsFor } from '../../src/api/routes/operations.ts';
import { ROLES, type Role } from '../../src/model/names.ts';
import type { Client } from '../../src/model/objects.ts';
import type { Problem } from '../../src/model/problem.ts';

function clientOf(role: Role): Client {
  return { name: '0A1B', type: 'client', description: '', role, fingerprint: '', serial: '0A1B', tenant: '' };
}

function problemIn(file: string): Problem {
  const place = { file, line: 2, column: 3, pointer: '/hunter2' };
  const words = { message: '"password" is the text "hunter2", but …', hint: 'did you mean "hunter3"?' };
  return { code: 'wrong_value', severity: 'error', ...place, ...words };
}

const OWN = 'clients/office/0a1b.yaml';
const OTHERS = ['clients/0A1C.yaml', 'clients/C0FFEE.yml', 'clients/lab/0A1D.yaml', 'clients/'];
const REST = ['types/role/web.yaml', 'stacks/instances/shop.yaml', 'tree.yaml'];
const ALL = { commit: 'c', problems: [OWN, ...OTHERS, ...REST].map(problemIn) };

test.each(ROLES.filter((role) => role !== 'proxy'))('problemsFor shows all to %s', (role) => {
  expect(problemsFor(clientOf(role), ALL)).toEqual(ALL);
});

test('problemsFor shows a proxy its own client file, and only the places of other problems', () => {
  const { commit, problems } = problemsFor(clientOf('proxy'), ALL);
  expect(commit).toBe('c');
  expect(problems.map(({ file }) => file)).toEqual([OWN, ...REST]);
  expect(problems[0]).toEqual(problemIn(OWN));
  expect(JSON.stringify(problems.slice(1))).not.toMatch(/hunter|0A1C|C0FFEE/);
  expect(problems[1]).toEqual({
    ...problemIn('types/role/web.yaml'),
    pointer: '',
    message: 'only administrators and automation endpoints may see the problem',
    hint: null,
  });
});
