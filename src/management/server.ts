// Serves health checks over plain HTTP: liveness and readiness. It knows nothing about stacks.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { limitConnections } from '../connection-limit.ts';
import { closeAtOnce, listenOn } from '../listen.ts';

export interface ManagementOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** True once reads are served from a good commit, else why not, for a person. */
  readonly ready: () => true | string;
}

export interface Management {
  readonly host: string;
  readonly port: number;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

interface Health {
  readonly status: number;
  readonly body: { readonly message: string; readonly return_code: number };
}

const HEADER_BYTES_MAX = 8 * 1024;
const REQUEST_MS_MAX = 10_000;
const CHECK_MS = 1_000;
const CONNECTIONS_MAX = 100;

/** Returns the management listener, which answers from now on. Throws where the address is taken. */
export async function createManagement({ host, port, ready }: ManagementOptions): Promise<Management> {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: REQUEST_MS_MAX,
    requestTimeout: REQUEST_MS_MAX,
    connectionsCheckingInterval: CHECK_MS,
  });
  limitConnections(server, CONNECTIONS_MAX);
  server.on('request', (request, response) => send(response, healthOf(request, ready)));
  const address = await listenOn(server, { host, port });
  return { host: address.address, port: address.port, close: () => closeAtOnce(server) };
}

function healthOf({ method, url = '/' }: IncomingMessage, ready: () => true | string): Health {
  const path = url.split('?', 1)[0];
  if (path !== '/livez' && path !== '/readyz') return health(404, 'There is only /livez and /readyz here');
  if (method !== 'GET' && method !== 'HEAD') return health(405, 'Only GET and HEAD are possible here');
  const state = path === '/livez' ? true : ready();
  return state === true ? health(200, 'ok') : health(503, state);
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
