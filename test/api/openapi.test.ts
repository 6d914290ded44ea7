// The OpenAPI document: it is current and valid, describes every route and no other, and is sent as any read. test/support/described-client.ts
// holds every answer of the other tests against it.
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { renderOpenApi } from '../../scripts/write-openapi.ts';
import type { ErrorBody } from '../../src/api/errors.ts';
import { productPath } from '../../src/base/product-files.ts';
import type { ExplainedKey, LayerStatement } from '../../src/model/explanation.ts';
import type { Problem } from '../../src/model/problem.ts';
import type { ErrorDetail } from '../../src/model/service-error.ts';
import type { Spec } from '../../src/model/spec.ts';
import type {
  EventView,
  HeldItem,
  LeadingReplica,
  Outage,
  Overview,
  RecordedState,
  ServerDetails,
  ServerProperty,
  WaitingItem,
  Why,
} from '../../src/service/answers.ts';
import type { ServerEffect } from '../../src/service/write/draft.ts';
import { DOCUMENT, faultsOf, faultsOfBody, faultsOfRequest } from '../support/described-client.ts';
import { routesOfApplication } from '../support/route-table.ts';
import { COMMIT } from '../support/sample-reader.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const NOW = '2026-11-20T10:13:56.000Z';
const OUTAGE: Required<Outage> = { reason: 'no answer', since: NOW };
const LEADER: LeadingReplica = { name: 'a', since: NOW, fencing: 2 };
const SPEC: Required<Spec> = {
  kind: 'Platform::Server',
  properties: { size: ['a'] },
  layers: { shape: { cpus: 8 } },
  reads: { address: { isList: false, texts: [['http://', { output: 'address', of: ['db'] }]] } },
  configurationOnly: [],
  dependsOn: [],
  lists: [],
};

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

/** Operations of the document by `METHOD /path`, as Express would have them but for the names of parameters. */
const DESCRIBED = new Map(
  Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [
      `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}').replace(/(.)\/$/, '$1')}`,
      operation,
    ]),
  ),
);

/** The same of the routes; an optional part makes two of one. */
function withoutNames(route: string): readonly string[] {
  const variants = route.includes('{/')
    ? [route.replace(/\{\/.*?\}/, ''), route.replace(/\{(\/.*?)\}/, '$1')]
    : [route];
  return variants.map((one) => one.replace(/:\w+/g, '{}'));
}

test('the document describes exactly all routes', () => {
  const routes = routesOfApplication().flatMap(withoutNames);
  const advice = (what: string) => `${what}: see "operations" in schemas/api.json, and CONTRIBUTING.md, "Add a route"`;
  expect(
    routes.filter((route) => !DESCRIBED.has(route)),
    advice('routes that are not described'),
  ).toEqual([]);
  expect(
    [...DESCRIBED.keys()].filter((one) => !routes.includes(one)),
    advice('no routes any more'),
  ).toEqual([]);
});

test('schemas/openapi.json is what `npm run docs:openapi` writes', () => {
  expect(readFileSync(productPath('schemas', 'openapi.json'), 'utf8')).toBe(renderOpenApi());
});

test('the document passes a public validator and has only used components', async () => {
  const text = JSON.stringify(DOCUMENT);
  expect(await new Validator().validate(JSON.parse(text))).toMatchObject({ valid: true });
  const references = text.matchAll(/#\/components\/(\w+)\/([\w.-]+)/g);
  const used = new Set([...references].map(([, section, name]) => `${section}/${name}`));
  const { securitySchemes: _, ...sections } = DOCUMENT.components;
  const defined = Object.entries(sections).flatMap(([section, parts]) => {
    return Object.keys(parts).map((name) => `${section}/${name}`);
  });
  expect([...used].sort()).toEqual(defined.sort());
});

test('the document is sent with an ETag, below 200 KiB, to every role', async () => {
  const { status, headers, body, bytes } = await api.request('/openapi.json');
  expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json; charset=utf-8' });
  expect(bytes.length).toBeLessThan(200 * 1024);
  expect(body).toEqual(DOCUMENT);
  const etag = String(headers.etag);
  const again = await api.request('/openapi.json/', {
    headers: { 'If-None-Match': etag },
    identity: api.identities.proxy,
  });
  expect(again).toMatchObject({ status: 304, headers: { etag } });
});

test.each([
  ['GET', '/types', 'it has none'],
  ['GET', '/hiera/nothing/', expect.stringMatching(/^they are info, wait/)],
  ['POST', '/stacks/instances/nothing', 'they are force, dry_run'],
  ['DELETE', '/types/zone/nothing/', 'they are dry_run'],
  ['GET', '/operations/explain/nothing/key', 'it has none'],
])('an unknown query parameter is refused: %s %s', async (method, path, advice) => {
  const ask = { method, headers: { 'Content-Type': 'application/json' }, ...(method === 'POST' ? { body: '{}' } : {}) };
  const { status, body } = await api.request(`${path}?nonsense=1`, ask);
  const [, named] = /^This route has no query parameter "nonsense"; (.*)$/.exec((body as ErrorBody).message) ?? [];
  expect([status, (body as ErrorBody).error, named]).toEqual([400, 'invalid_input', advice]);
});

test('a misspelt query parameter gets a hint, after an unknown path', async () => {
  expect((await api.request('/hiera/all?inof=true')).body).toMatchObject({
    message: 'This route has no query parameter "inof"; did you mean "info"?',
  });
  expect((await api.request('/nowhere?nonsense=1')).status).toBe(404);
});

test('the check of answers and bodies finds exactly those that are not described', () => {
  const headers = { 'x-request-id': '1', 'x-treeline-replica': 'a', 'content-type': 'application/json' };
  const replied = (status: number, body: unknown) => ({
    status,
    headers,
    body,
    bytes: Buffer.from(JSON.stringify(body)),
  });
  const [path, post] = ['/operations/approve/', { method: 'POST', body: '{"digest":"beef"}' }];
  const right = replied(200, { message: '', return_code: 200 });
  expect(faultsOf(path, post, right)).toEqual([]);
  expect(faultsOf(path, post, replied(200, { ...(right.body as object), more: 1 })).join()).toContain('unevaluated');
  expect(faultsOf(path, post, replied(200, { message: '' })).join()).toContain('return_code');
  expect(faultsOf(path, post, replied(204, {})).join()).toContain('the statuses are');
  expect(faultsOf('/nothing', {}, replied(404, { message: '' })).join()).toContain('return_code');
  expect(faultsOfRequest(path, post, right)).toEqual([]);
  expect(faultsOfRequest(path, { ...post, body: '{}' }, right).join()).toContain('digest');
});

/** Fields that hardly an answer of a test has: a new one has to stand here before this compiles, and then to be described. */
const RARE = {
  WaitingItem: {
    resource: 'web-1',
    state: 'drifted',
    reason: 'drifted: size',
    since: null,
    until: null,
    action: null,
    difference: [{ property: 'size', applied: 'small', observed: null, wanted: ['large'] }],
  } satisfies Required<WaitingItem>,
  HeldItem: {
    kind: 'failures',
    digest: 'beef',
    instance: null,
    reason: 'too many',
    since: NOW,
    resources: ['web-1'],
    commit: null,
    author: 'Ada',
    check: 'set repository.directory back',
  } satisfies Required<HeldItem>,
  Why: {
    status: 'Blocked',
    summary: '',
    counts: { blocked: 1 },
    waiting: [],
    leader: LEADER,
    lag: OUTAGE,
  } satisfies Required<Why>,
  Overview: {
    commit: COMMIT,
    committed: NOW,
    held: [],
    author: 'Ada',
    counts: {},
    leader: null,
    lag: OUTAGE,
    attentionLeftOut: 1,
    newest: { commit: COMMIT, reason: 'it is held', since: NOW, action: 'treeline approve beef' },
    instances: [{ name: 'shop', status: 'Done', summary: '', counts: {}, folder: 'a', tenant: 'b', commit: COMMIT }],
    attention: [
      {
        id: 'held:shop',
        kind: 'held',
        instances: ['shop'],
        servers: { count: 1, examples: ['web-1'] },
        reason: '',
        since: null,
        action: null,
        acknowledged: { by: 'Ada', until: NOW, reason: '' },
      },
    ],
  } satisfies Required<Overview>,
  RecordedState: {
    commit: COMMIT,
    held: [],
    isRecovering: true,
    servers: [
      {
        name: 'web-1',
        instance: 'shop',
        key: 'web',
        index: '01',
        state: 'retrying',
        since: NOW,
        commit: COMMIT,
        reason: { code: 'action_failed', text: '' },
        generation: 1,
        incarnation: 2,
        provider: null,
        wanted: null,
        mayExist: true,
        dirty: true,
        replacing: false,
        approved: false,
        held: false,
        protected: false,
        deletion: 'retain',
        outputs: { ports: ['80'], cpus: 4 },
        applied: SPEC,
      },
    ],
  } satisfies Required<RecordedState>,
  ServerDetails: {
    dependsOn: ['db'],
    removal: 'replace',
    outputs: { address: '10.0.0.1' },
    neededBy: ['lb'],
    checked: { time: NOW, outcome: 'done' },
    delivered: {
      name: 'web-1',
      instance: 'shop',
      state: 'failed',
      digest: 'x',
      confirmed: { digest: 'x', time: NOW, client: null, clientName: null, outcome: 'failed', message: '' },
    },
    name: 'web-1',
    instance: 'shop',
    group: 'web',
    state: 'drifted',
    since: NOW,
    reason: null,
    attempt: 0,
    until: null,
    action: null,
    commit: COMMIT,
    generation: 1,
    provider: null,
    properties: [
      { property: 'size', wanted: 'small', applied: null, observed: ['x'] } satisfies Required<ServerProperty>,
    ],
  } satisfies Required<ServerDetails>,
  ExplainedKey: {
    value: ['a'],
    merge: 'unique',
    isSecret: true,
    statements: [
      {
        layer: 0,
        value: null,
        effect: 'removes',
        at: { file: 'a.yaml', line: 1 },
        suppliedAt: null,
        adds: ['a'],
        outputs: [{ output: 'address', servers: ['db'] }],
      } satisfies Required<LayerStatement>,
    ],
  } satisfies Required<ExplainedKey>,
  InstanceEvent: {
    id: 1,
    time: NOW,
    resource: null,
    from: 'Done',
    to: null,
    reason: '',
    commit: null,
    client: null,
    clientName: null,
    instance: null,
  } satisfies Required<EventView>,
  DryRun: {
    message: '',
    return_code: 200,
    dry_run: true,
    diff: '',
    servers: [
      { server: 'web-1', instance: 'shop', change: 'held', once_approved: 'deleted' } satisfies Required<ServerEffect>,
    ],
  },
  Error422: {
    message: '',
    return_code: 422,
    error: 'breaks_others',
    details: [{ file: 'a.yaml', line: 1, column: 2, pointer: '/a', message: '' } satisfies Required<ErrorDetail>],
  },
  Problem: {
    code: 'unknown_template',
    severity: 'warning',
    file: 'a.yaml',
    line: 1,
    column: 2,
    pointer: '',
    message: '',
    hint: null,
    instances: ['shop'],
  } satisfies Required<Omit<Problem, 'missing'>>,
};

test.each(Object.entries(RARE))('%s is described with all its fields', (schema, body) => {
  expect(faultsOfBody(schema, JSON.parse(JSON.stringify(body)))).toEqual([]);
});
