import { createServer } from 'node:http';
import express, { type Request, type Response } from 'express';
import { expect, test } from 'vitest';
import { writeAnswer } from '../../src/api/answer.ts';
import { sendRead } from '../../src/api/present.ts';
import { listenInTest } from '../support/listen-in-test.ts';

/** Returns what one request is answered by a server that sends like this. */
async function answerOf(
  send: (request: Request, response: Response) => void | Promise<void>,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; text: string }> {
  const server = createServer(express().use(send));
  const port = await listenInTest(server);
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { ...headers, connection: 'close' } });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function readOf(body: unknown, headers?: Record<string, string>) {
  const answer = writeAnswer(body);
  return answerOf((request, response) => sendRead(request, response, { commit: 'c0', answer }), headers);
}

test.each([
  ['"ETAG"', 304],
  ['W/"ETAG"', 304],
  ['"other", "ETAG"', 304],
  ['"a,b",W/"ETAG" , "c"', 304],
  [' * ', 304],
  ['"other", W/"another"', 200],
  ['"x*"', 200],
  ['"', 200],
  ['', 200],
])('an ETag is compared with If-None-Match: %s', async (header, status) => {
  const etag = (await readOf('x')).headers.get('etag') ?? '';
  const reply = await readOf('x', { 'If-None-Match': header.replace('ETAG', etag.slice(1, -1)) });
  expect(reply).toMatchObject({ status, text: status === 304 ? '' : '"x"' });
  // A cache looks for what it has under the very tag that it sent.
  expect(reply.headers.get('etag')).toBe(header.includes('W/"ETAG"') ? `W/${etag}` : etag);
  expect(reply.headers.get('x-treeline-commit')).toBe('c0');
  expect(reply.headers.get('cache-control')).toBe('no-cache');
});
