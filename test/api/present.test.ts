import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import { describe, expect, test } from 'vitest';
import { writeAnswer } from '../../src/api/answer.ts';
import { sendEnvelope, sendRead } from '../../src/api/present.ts';

interface ReadAnswer {
  readonly body: unknown;
  readonly oid?: string | null;
}

/** Returns what one request is answered by a server that sends like this. */
async function answerOf(
  send: (request: Request, response: Response) => void | Promise<void>,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; text: string }> {
  const server = createServer(express().use(send));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { ...headers, connection: 'close' } });
  const text = await response.text();
  server.close();
  return { status: response.status, headers: response.headers, text };
}

function readOf({ body, oid }: ReadAnswer, headers?: Record<string, string>) {
  const answer = writeAnswer(body, oid);
  return answerOf((request, response) => sendRead(request, response, { commit: 'c0', answer }), headers);
}

describe('an ETag', () => {
  async function etagOf(answer: ReadAnswer): Promise<string> {
    return (await readOf(answer)).headers.get('etag') ?? '';
  }

  test('changes with the body, and only with it', async () => {
    const etag = await etagOf({ body: { a: 1 } });
    expect(etag).toBe('"AVq9f1zFei3ZS3WQ8ErYCE"');
    expect(await etagOf({ body: { a: 1 }, oid: null })).toBe(etag);
    expect(await etagOf({ body: { a: 2 } })).not.toBe(etag);
  });

  test('begins with the blob where there is one', async () => {
    const [, digest] = /^"(.*)"$/.exec(await etagOf({ body: [] })) ?? [];
    expect(await etagOf({ body: [], oid: 'b10b' })).toBe(`"b10b.${digest}"`);
  });

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
  ])('is compared with If-None-Match: %s', async (header, status) => {
    const etag = (await readOf({ body: 'x' })).headers.get('etag') ?? '';
    const reply = await readOf({ body: 'x' }, { 'If-None-Match': header.replace('ETAG', etag.slice(1, -1)) });
    expect(reply).toMatchObject({ status, text: status === 304 ? '' : '"x"' });
    // A cache looks for what it has under the very tag that it sent.
    expect(reply.headers.get('etag')).toBe(header.includes('W/"ETAG"') ? `W/${etag}` : etag);
    expect(reply.headers.get('x-treeline-commit')).toBe('c0');
    expect(reply.headers.get('cache-control')).toBe('no-cache');
  });
});

test('the length counts bytes, not characters', async () => {
  const { headers, text } = await readOf({ body: 'Zürich ✓' });
  expect(text).toBe('"Zürich ✓"');
  expect(headers.get('content-length')).toBe('13');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
});

test('the envelope of a write repeats the status', async () => {
  const { status, text } = await answerOf((_request, response) => sendEnvelope(response, 202, 'marked for delete'));
  expect({ status, body: JSON.parse(text) }).toEqual({
    status: 202,
    body: { message: 'marked for delete', return_code: 202 },
  });
});
