// Serves health checks over plain HTTP: liveness, readiness, and whether this process leads. It knows nothing about stacks.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { closeAtOnce, createPlainServer, type ListenAddress, type Listening, listenOn } from '../base/listen.ts';

interface ManagementOptions extends ListenAddress {
  /** True once reads are served from a good commit, else why not, for a person. */
  readonly ready: () => true | string;
  /** True while this process leads, else why not, for a person. Decided at the moment of the answer. */
  readonly leads: () => true | string;
}

interface Health {
  readonly status: number;
  readonly body: { readonly message: string; readonly return_code: number };
}

/** Returns the management listener, which answers from now on. Throws where the address is taken. */
export async function createManagement({ host, port, ...states }: ManagementOptions): Promise<Listening> {
  const { server } = createPlainServer((request, response) => send(response, answerHealth(request, states)));
  const address = await listenOn(server, { host, port }, 'management.port');
  return { host: address.address, port: address.port, close: () => closeAtOnce(server) };
}

function answerHealth(
  { method, url = '/' }: IncomingMessage,
  { ready, leads }: Omit<ManagementOptions, keyof ListenAddress>,
): Health {
  const path = url.split('?', 1)[0] ?? '';
  const states = new Map([
    ['/livez', (): true => true],
    ['/readyz', ready],
    ['/leaderz', leads],
  ]);
  const state = states.get(path);
  if (state === undefined) return health(404, 'There is only /livez, /readyz and /leaderz here');
  if (method !== 'GET' && method !== 'HEAD') return health(405, 'Only GET and HEAD are possible here');
  const told = state();
  return told === true ? health(200, 'ok') : health(503, told);
}

function health(status: number, message: string): Health {
  return { status, body: { message, return_code: status } };
}

function send(response: ServerResponse, { status, body }: Health): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
    'Cache-Control': 'no-store',
    ...(status === 405 ? { Allow: 'GET, HEAD' } : {}),
  });
  response.end(bytes);
}
