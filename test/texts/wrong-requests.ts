// Every mistake that a request can have: what a client is told is in answers.txt.
import { gzipSync } from 'node:zlib';
import type { Role } from '../../src/model/names.ts';

/** A request that is wrong. `body` is sent as JSON unless it is text or bytes. */
export interface WrongRequest {
  readonly ask: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: Role;
}

const WEB = { stackTemplate: 'web', parameters: { prefix: 'lab' } };
const TOO_LONG = 'k'.repeat(251);

export const WRONG_REQUESTS: Readonly<Record<string, readonly WrongRequest[]>> = {
  Reads: [
    { ask: 'GET /nope' },
    { ask: 'GET /stack/instances' },
    { ask: 'PUT /tree/' },
    { ask: 'POST /stacks/templates/web', body: {} },
    { ask: 'DELETE /stacks/templates/web' },
    { ask: 'GET /stacks/templates/database' },
    { ask: 'GET /types/role/wbe' },
    { ask: 'GET /types/stack-template/wbe' },
    { ask: 'GET /clients?role=admin' },
    { ask: 'GET /hiera/shop-web-1?info=yes' },
    { ask: 'GET /hiera/shop-web-1?info=true&info=true' },
    { ask: 'GET /types/%zz' },
    { ask: `GET /${'x'.repeat(2_100)}` },
  ],
  Bodies: [
    { ask: 'POST /types/zone/' },
    { ask: 'POST /types/zone/', body: '[]' },
    { ask: 'POST /types/zone/', body: '{"name":' },
    { ask: 'POST /types/zone/', body: Buffer.from('{"name":"z\xf6"}', 'latin1') },
    { ask: 'POST /types/zone/', body: '{"name":"a","id":12345678901234567890}' },
    { ask: 'POST /types/zone/', body: { name: 'a', text: 'x'.repeat(65_537) } },
    { ask: 'POST /types/zone/', body: { name: 'a', [TOO_LONG]: 'x' } },
    { ask: 'POST /types/zone/', body: { name: 'a', text: '\0' } },
    { ask: 'POST /types/zone/', body: '{"name":"a","b/c":1e999}' },
    { ask: 'POST /types/role/', body: '{"name":"a","__proto__":"x"}' },
    { ask: 'POST /tree/', body: { name: 'all', type: 'common', children: [{ ['k'.repeat(60_000)]: 'x' }] } },
    { ask: 'POST /types/zone/', body: { name: 'x'.repeat(1024 * 1024) } },
    { ask: 'POST /types/zone/', body: 'name: a', headers: { 'Content-Type': 'application/yaml' } },
    { ask: 'POST /types/zone/', body: '{}', headers: { 'Content-Type': 'application/json; charset=latin1' } },
    { ask: 'POST /types/zone/', body: '{}', headers: { 'Content-Encoding': 'zip' } },
    { ask: 'POST /types/zone/', body: '{}', headers: { 'Content-Encoding': 'gzip' } },
    { ask: 'POST /types/zone/', body: gzipSync(' '.repeat(2_000_000)), headers: { 'Content-Encoding': 'gzip' } },
  ],
  Objects: [
    { ask: 'POST /types/zone/', body: { name: 7 } },
    { ask: 'POST /types/zone/', body: { name: 'a b' } },
    { ask: 'POST /types/zone/', body: { name: 'a', type: 'role' } },
    { ask: 'POST /types/zone/', body: { name: 'a', map: { b: 'c' } } },
    { ask: 'POST /types/zone/', body: { name: 'a', db_password: 'hunter2' } },
    { ask: 'POST /types/zone/', body: { name: 'a', role: 'web' } },
    { ask: 'POST /types/rloe/', body: { name: 'a' } },
    { ask: 'POST /types/all/', body: { name: 'a' } },
    { ask: 'DELETE /types/zone/edge' },
    { ask: 'DELETE /types/role/web' },
    { ask: 'DELETE /types/stack-template/web' },
    { ask: 'DELETE /types/common/global' },
    { ask: 'DELETE /types/zone/dmz' },
    { ask: 'POST /tree/', body: { name: 'global', type: 'common' } },
    { ask: 'DELETE /types/clientcert/shop-web-1' },
    { ask: 'POST /tree/', body: { name: 'global', type: 'zone' } },
    { ask: 'POST /tree/', body: { name: 'global', type: 'common', children: [{ name: 'a', type: 'rack' }] } },
  ],
  Stacks: [
    { ask: 'POST /stacks/instances/shop/', body: WEB },
    { ask: 'POST /stacks/instances/lab/', body: { ...WEB, force: 'yes' } },
    { ask: 'POST /stacks/instances/lab/?force=yes', body: WEB },
    { ask: 'POST /stacks/instances/lab/', body: { parameters: {} } },
    { ask: 'POST /stacks/instances/lab/', body: { ...WEB, name: 'other' } },
    { ask: 'POST /stacks/instances/lab/', body: { ...WEB, stackTemplate: 'wbe' } },
    { ask: 'POST /stacks/instances/lab/', body: { ...WEB, protcted: true } },
    { ask: 'POST /stacks/instances/lab/', body: { ...WEB, parameters: { prefix: 'lab', count: 2 } } },
    { ask: 'POST /stacks/instances/lab/', body: { ...WEB, parameters: { prefix: 'shop' } } },
    { ask: 'POST /stacks/instances/lab/', body: { stackTemplate: 'web' } },
    { ask: 'POST /stacks/instances/a..b/', body: WEB },
    { ask: 'POST /stacks/templates/', body: { name: 'web', resources: {} } },
    { ask: 'POST /stacks/templates/', body: WEB },
    { ask: 'POST /types/stack-template/', body: { name: 'web', resources: {} } },
    { ask: 'DELETE /stacks/instances/kept/' },
    { ask: 'DELETE /stacks/instances/shpo/' },
    { ask: 'POST /stacks/instances/lab/', body: WEB, headers: { 'If-Match': '*' } },
    { ask: 'POST /stacks/instances/shop/', body: WEB, headers: { 'If-Match': '"other"' } },
    { ask: 'POST /stacks/instances/shop/?force=true', body: WEB, headers: { 'If-None-Match': '*' } },
  ],
  Clients: [
    { ask: 'POST /clients', body: { role: 'proxy' } },
    { ask: 'POST /clients', body: { serial: 'C3' } },
    { ask: 'POST /clients', body: { serial: 'xyz', role: 'proxy' } },
    { ask: 'POST /clients', body: { serial: 'C3', role: 'proxy', name: 'D4' } },
    { ask: 'POST /clients', body: { serial: 'C3', role: 'admin' } },
    { ask: 'POST /clients', body: { serial: 'C3', role: 'proxy', fingerprint: '12' } },
    { ask: 'DELETE /clients' },
    { ask: 'DELETE /clients/C3' },
    { ask: 'DELETE /clients/{administrator}' },
    { ask: 'GET /tree/', as: 'proxy' },
  ],
  Operations: [
    { ask: 'GET /operations/explain/shop-wbe-1' },
    { ask: 'GET /operations/explain/shop-web-1/prot' },
    { ask: 'POST /operations/approve', body: { digest: 'beef' } },
    { ask: 'POST /operations/approve', body: {} },
    { ask: 'POST /operations/approve', body: { digset: 'beef' } },
    { ask: 'POST /operations/accept-history', body: { commit: 'beef' } },
    { ask: 'POST /operations/suspend', body: { instance: 'shpo' } },
    { ask: 'POST /operations/suspend', body: { until: 'tomorrow' } },
    { ask: 'POST /operations/suspend', body: { until: '2020-01-01T00:00:00Z' } },
    { ask: 'POST /operations/resume', body: {} },
    { ask: 'POST /operations/resume', body: { instance: 'shop' } },
    { ask: 'POST /operations/resume', body: { instance: 'shpo' } },
    { ask: 'POST /operations/retry', body: { resource: 'shop-wbe-1' } },
    { ask: 'POST /operations/retry', body: { instance: 'shop' } },
    { ask: 'POST /operations/adopt', body: { instance: 'shop', all: true } },
    { ask: 'POST /operations/adopt', body: { all: true } },
  ],
  'Other sites': [{ ask: 'POST /types/zone/', body: {}, headers: { Origin: 'https://evil.example' } }],
};

/** Codes that no request to a controller that is well brings out, and where they are tested. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  certificate_expired: 'test/api/authenticate.test.ts',
  fingerprint_mismatch: 'test/api/authenticate.test.ts',
  internal: 'test/api/errors.test.ts',
  not_allowed: 'test/api/authorize.test.ts',
  not_ready: 'test/service/create-reader.test.ts',
  outcome_unknown: 'test/service/write-queue.test.ts',
  push_refused: 'test/service/write-queue.test.ts',
  too_many_requests: 'test/service/write-queue.test.ts',
  unauthorized: 'test/api/authenticate.test.ts',
};
