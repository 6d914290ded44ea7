// A subscriber that takes events over HTTPS, and believes only what the public library of Standard Webhooks verifies.
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { NOTIFICATION_KINDS, type NotificationTarget } from '../../src/model/settings.ts';
import { serveInTest } from './listen-in-test.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const SUBSCRIBER_SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

interface Received {
  readonly id: string;
  readonly contentType: string;
  /** A CloudEvent. */
  readonly event: Readonly<Record<string, unknown>>;
}

export interface FakeSubscriber {
  readonly target: NotificationTarget;
  /** Those that were signed rightly, in order. */
  readonly received: readonly Received[];
  /** Why requests were not believed. */
  readonly refused: readonly string[];
  /** Answers in place of 204. */
  script: (response: ServerResponse) => void;
}

/** Starts a subscriber that does not outlive the running test. */
export async function startFakeSubscriber(name = 'ops'): Promise<FakeSubscriber> {
  const secretFile = join(temporaryDirectory(), 'secret');
  writeFileSync(secretFile, `${SUBSCRIBER_SECRET}\n`);
  const received: Received[] = [];
  const refused: string[] = [];
  const webhook = new Webhook(SUBSCRIBER_SECRET);
  const { port, caFile } = await serveInTest(async (request, response) => {
    const { headers } = request;
    const body = await text(request);
    try {
      const event = webhook.verify(body, headers as Record<string, string>) as Received['event'];
      received.push({ id: String(headers['webhook-id']), contentType: String(headers['content-type']), event });
      subscriber.script(response);
    } catch (error) {
      refused.push(String(error));
      response.writeHead(401).end();
    }
  });
  const url = `https://127.0.0.1:${port}/hook?from=treeline`;
  const subscriber: FakeSubscriber = {
    target: { name, url, secretFile, caFile, instances: ['*'], kinds: NOTIFICATION_KINDS },
    received,
    refused,
    script: (response) => void response.writeHead(204).end(),
  };
  return subscriber;
}
