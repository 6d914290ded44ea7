// The cases of the conformance test, in this process: on servers that keep the contract, and on some that differ in one way.
// provider-command.test.ts runs them on programs and on a service.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCases } from '../../src/cli/conformance/cases.ts';
import { Trial } from '../../src/cli/conformance/trial.ts';
import { SERVER } from '../../src/model/names.ts';
import { readAnswer } from '../../src/providers/answer-json.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

interface Call {
  readonly version: number;
  readonly operation: string;
  readonly resource: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly record: object;
  readonly outputs: unknown;
  readonly applied: unknown;
}

/** Answers an input, by the servers that are there. */
type Provider = (input: string, servers: Map<string, unknown>) => object;

const OPERATIONS = ['check', 'create', 'update', 'delete'];

/** Keeps the contract. */
function answer(input: string, servers: Map<string, unknown>): { readonly outcome: string; observed?: unknown } {
  const call = parse(input);
  if (call?.version !== 1 || !OPERATIONS.includes(call.operation) || !call.resource) return { outcome: 'failed' };
  const { operation, resource, properties } = call;
  const isThere = servers.has(resource);
  if (operation === 'delete') servers.delete(resource);
  if (operation === 'create' && !isThere) servers.set(resource, properties);
  if (operation === 'update' && isThere) servers.set(resource, properties);
  if (servers.has(resource)) return { outcome: 'done', observed: servers.get(resource) };
  return { outcome: operation === 'update' ? 'failed' : 'absent' };
}

function parse(input: string): Call | undefined {
  try {
    return JSON.parse(input);
  } catch {
    return undefined;
  }
}

/** Returns the cases that did not pass, with their messages, and the servers that were left. */
async function test(provider: Provider) {
  const servers = new Map<string, unknown>();
  const trial = new Trial({
    // As of a program: what it prints is read.
    send: async (input) => readAnswer(JSON.stringify(provider(input, servers))),
    kind: SERVER,
    properties: {},
    change: { treeline_test: 'changed' },
    timeoutMs: 10_000,
    trap: join(temporaryDirectory(), 'trap'),
    interrupted: new AbortController().signal,
  });
  const { cases, left } = await runCases(trial, () => undefined);
  const failed = cases.filter(({ result }) => result !== 'passed').map(({ title, message }) => [title, message]);
  return { failed: Object.fromEntries(failed) as Readonly<Record<string, string>>, left, servers: [...servers.keys()] };
}

it('provider test finds a program that acts on truncated input', async () => {
  const { failed, servers } = await test((input, made) => {
    if (parse(input) !== undefined) return answer(input, made);
    const [, operation, resource] = /"operation":"(\w+)".*?"resource":"([^"]*)"/.exec(input) ?? [];
    if (operation === undefined) return { outcome: 'failed' };
    return answer(JSON.stringify({ version: 1, operation, resource, properties: {} }), made);
  });
  expect(failed).toEqual({
    'a create whose input is cut short is refused, and makes nothing':
      'it answered "done"; expected "failed", or a non-zero exit, since an input that is not whole is not a call (rule 7)',
  });
  expect(servers).toEqual([]);
});

it('provider test finds a program that reports the whole record', async () => {
  const { failed } = await test((input, made) => {
    const answered = answer(input, made);
    return answered.outcome === 'done' ? { ...answered, outputs: parse(input)?.record } : answered;
  });
  expect(failed).toEqual({
    'what it reports of a server does not grow with the record': expect.stringMatching(
      /^the answer is lost: "outputs" takes \d+ bytes/,
    ),
  });
});

it.each([
  ['no more', undefined, 'names no place'],
  ['another one', 'B', 'names the place "B"'],
])('provider test finds a program that names a place, and then %s', async (_, place, words) => {
  let count = 0;
  const { failed } = await test((input, made) => ({ ...answer(input, made), place: count++ === 0 ? 'A' : place }));
  expect(Object.keys(failed)).toEqual([
    expect.stringMatching(/^once an answer has named a place, all that follow name the same one/),
  ]);
  expect(Object.values(failed)[0]).toMatch(new RegExp(`an answer ${words}, and one before it named "`));
});
