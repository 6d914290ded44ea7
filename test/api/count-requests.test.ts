import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { Router } from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { countRequests, RoutePatterns } from '../../src/api/count-requests.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { ManualClock } from '../support/manual-clock.ts';

const PATTERNS = [
  '/tree',
  '/hiera/all',
  '/hiera/:node',
  '/hiera/:node/:key',
  '/operations/explain/:node{/:key}',
  '/a/:id/events',
];

function application(): express.Express {
  const router = Router({ caseSensitive: true });
  for (const path of PATTERNS) router.route(path).get((_request, response) => void response.end());
  return express().use(router);
}

test.each([
  ['/tree', '/tree'],
  ['/tree/', '/tree'],
  ['/tree/?a=/x', '/tree'],
  ['/hiera/all', '/hiera/all'],
  ['/hiera/web-1/', '/hiera/:node'],
  ['/hiera/all/port', '/hiera/:node/:key'],
  ['/operations/explain/web-1', '/operations/explain/:node{/:key}'],
  ['/operations/explain/web-1/port/', '/operations/explain/:node{/:key}'],
  ['/a/b%2Fc/events', '/a/:id/events'],
  ['/a//events', 'unknown'],
  ['/a/b', 'unknown'],
  ['/Tree', 'unknown'],
  ['/hiera/a/b/c', 'unknown'],
  ['/__proto__/constructor', 'unknown'],
  ['/', 'unknown'],
  ['*', 'unknown'],
])('%s is answered by %s', (target, pattern) => {
  expect(new RoutePatterns(application()).find(target)).toBe(pattern);
});

test('a request is counted once it is answered, by the pattern that its path had at first', async () => {
  const [metrics, clock] = [new Metrics(), new ManualClock()];
  onTestFinished(() => metrics.stop());
  const count = countRequests(metrics, { app: application(), clock });
  const ended = (url: string, answer: Partial<ServerResponse>): void => {
    const request = { url } as IncomingMessage;
    const response = Object.assign(new EventEmitter(), answer) as unknown as ServerResponse;
    count(request, response);
    request.url = '/';
    clock.advance(600);
    response.emit('close');
  };
  ended('/hiera/web-1/port', { headersSent: true, statusCode: 200 });
  ended('/hiera/web-2/port', { headersSent: true, statusCode: 200 });
  ended('/hiera/web-2/gone', { headersSent: true, statusCode: 404 });
  ended('/hiera/web-3/port', { headersSent: false, statusCode: 200 });
  const lines = (await metrics.text())
    .split('\n')
    .filter((line) => /^treeline_http.*(total|le="0.5"|le="1")/.test(line));
  expect(lines).toEqual([
    'treeline_http_requests_total{route="/hiera/:node/:key",role="none",code="200"} 2',
    'treeline_http_requests_total{route="/hiera/:node/:key",role="none",code="404"} 1',
    'treeline_http_request_duration_seconds_bucket{le="0.5",route="/hiera/:node/:key"} 0',
    'treeline_http_request_duration_seconds_bucket{le="1",route="/hiera/:node/:key"} 3',
  ]);
});
