// Reads server-sent events over TLS, as a client with a certificate does.
import type { IncomingHttpHeaders } from 'node:http';
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

export interface ReadStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** All that came so far. */
  readonly messages: readonly Message[];
  /** The data of the messages of a kind. */
  data(event: string): readonly unknown[];
  readonly isEnded: () => boolean;
  close(): void;
}

/** Resolves once the head of the answer is there. The stream ends with the running test. */
export async function readStream(
  { port, ca }: Server,
  { key, cert }: Identity,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ReadStream> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadStream>();
  const outgoing = request({ host: '127.0.0.1', port, path, ca, key, cert, headers, agent: false }, (incoming) => {
    const messages: Message[] = [];
    let [rest, isEnded] = ['', false];
    incoming.setEncoding('utf8');
    incoming.on('data', (text: string) => {
      const blocks = `${rest}${text}`.split('\n\n');
      rest = blocks.pop() ?? '';
      messages.push(...blocks.map(messageIn));
    });
    const end = (): void => {
      isEnded = true;
    };
    for (const event of ['end', 'error', 'close']) incoming.on(event, end);
    resolve({
      ...{ status: incoming.statusCode ?? 0, headers: incoming.headers, messages },
      data: (event) => messages.filter((message) => message.event === event).map(({ data }) => data),
      isEnded: () => isEnded,
      close: () => void outgoing.destroy(),
    });
  });
  outgoing.on('error', reject);
  onTestFinished(() => void outgoing.destroy());
  outgoing.end();
  return await promise;
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
