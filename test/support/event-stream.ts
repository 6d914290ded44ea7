// Reads server-sent events over TLS, as a client with a certificate does.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { onTestFinished } from 'vitest';
import type { Identity, Server } from './https-client.ts';

/** One message; a comment has none of it. */
export interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data?: unknown;
  readonly retry?: string;
  readonly comment?: true;
}

export type ReadStream = Awaited<ReturnType<typeof readStream>>;

/** Resolves once the head of the answer is there. The stream ends with the running test. */
export async function readStream(
  { port, ca }: Server,
  { key, cert }: Identity,
  path: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const outgoing = request({ host: '127.0.0.1', port, path, ca, key, cert, headers, agent: false });
  outgoing.on('error', () => undefined);
  onTestFinished(() => void outgoing.destroy());
  outgoing.end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  /** All that came so far. */
  const messages: Message[] = [];
  let rest = '';
  incoming.setEncoding('utf8');
  incoming.on('error', () => undefined);
  incoming.on('data', (text: string) => {
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    messages.push(...blocks.map(messageIn));
  });
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    messages,
    /** The data of the messages of a kind. */
    data: (kind: string): readonly unknown[] => messages.filter(({ event }) => event === kind).map(({ data }) => data),
    isEnded: () => incoming.readableEnded || incoming.destroyed,
    close: () => void outgoing.destroy(),
  };
}

function messageIn(block: string): Message {
  const message: Record<string, unknown> = {};
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w*): ?(.*)$/.exec(line) ?? [];
    if (name === '') message.comment = true;
    else message[name] = name === 'data' ? JSON.parse(value) : value;
  }
  return message;
}
