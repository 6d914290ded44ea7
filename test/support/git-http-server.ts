// A Git server over HTTP for tests: `git http-backend` behind Node's own server, as a real site has it behind another.
// Everything between the two can be made to misbehave.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

/** The end of the head of a CGI answer, RFC 3875. */
const CGI_HEAD_END = '\r\n\r\n';

export interface GitHttpServerOptions {
  /** The path of a bare repository. */
  readonly repository: string;
  /** PEM; without it, plain HTTP. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Default 127.0.0.1, which is also what it listens on. */
  readonly host?: string;
  /** Takes pushes too. */
  readonly receivePack?: boolean;
}

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** One request, and what may be done instead of answering it. */
export interface Exchange {
  readonly stage: 'advertisement' | 'result';
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Git's own answer. */
  answer(): Promise<GitAnswer>;
}

export interface GitAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Returns true where it did something in the place of git's answer. */
export type Misbehaviour = (exchange: Exchange) => boolean | Promise<boolean>;

export interface GitHttpServer {
  /** Of the repository. */
  readonly url: string;
  readonly port: number;
  /** Every request as `METHOD path`, with the header `Authorization` where there was one. */
  readonly requests: readonly { readonly line: string; readonly authorization: string | undefined }[];
  misbehave: Misbehaviour | undefined;
  /** The login that is let in; undefined: any. */
  login: Login | undefined;
  /** Ends every connection and listens no more. */
  stop(): Promise<void>;
  /** Listens on the same port again. */
  start(): Promise<void>;
}

/** Starts a server, which does not outlive the running test. */
export async function startGitHttpServer(options: GitHttpServerOptions): Promise<GitHttpServer> {
  const { repository, tls, host = '127.0.0.1' } = options;
  const requests: { line: string; authorization: string | undefined }[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const { authorization } = request.headers;
    requests.push({ line: `${request.method} ${request.url}`, authorization });
    if (server.login !== undefined && authorization !== authorizationOf(server.login)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('who are you?');
      return;
    }
    // What fails here, the client finds out.
    serve(options, server.misbehave, { request, response }).catch(() => response.destroy());
  };
  const listening = tls === undefined ? http.createServer(listener) : https.createServer(tls, listener);
  let port = 0;
  const start = async (): Promise<void> => {
    listening.listen(port, '127.0.0.1');
    await once(listening, 'listening');
    ({ port } = listening.address() as AddressInfo);
  };
  const stop = async (): Promise<void> => {
    if (!listening.listening) return;
    const closed = once(listening, 'close');
    listening.close();
    listening.closeAllConnections();
    await closed;
  };
  await start();
  onTestFinished(stop);
  const url = `${tls === undefined ? 'http' : 'https'}://${host}:${port}/${basename(repository)}`;
  const server: GitHttpServer = { url, port, requests, misbehave: undefined, login: undefined, stop, start };
  return server;
}

/** Returns the header that carries a login. */
export function authorizationOf({ username, password }: Login): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

async function serve(
  options: GitHttpServerOptions,
  misbehave: Misbehaviour | undefined,
  { request, response }: Pick<Exchange, 'request' | 'response'>,
): Promise<void> {
  const stage = request.url?.includes('/info/refs') ? 'advertisement' : 'result';
  const answer = (): Promise<GitAnswer> => runBackend(options, request);
  if (await misbehave?.({ stage, request, response, answer })) return;
  const { status, headers, body } = await answer();
  response.writeHead(status, headers).end(body);
}

/** Runs `git http-backend` for one request; see git-http-backend(1). */
async function runBackend(
  { repository, receivePack = false }: GitHttpServerOptions,
  request: IncomingMessage,
): Promise<GitAnswer> {
  const { url = '/', method = '', headers } = request;
  const { pathname, search } = new URL(url, 'http://localhost');
  const input = await buffer(request);
  const running = promisify(execFile)('git', ['http-backend'], {
    ...({ encoding: 'buffer', maxBuffer: 2 ** 30 } as const),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: tmpdir(),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.receivepack',
      GIT_CONFIG_VALUE_0: String(receivePack),
      GIT_PROJECT_ROOT: dirname(repository),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers['content-type'] ?? '',
      CONTENT_LENGTH: String(input.length),
      HTTP_CONTENT_ENCODING: String(headers['content-encoding'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
  });
  // Git does not always read to the end.
  running.child.stdin?.on('error', () => undefined);
  running.child.stdin?.end(input);
  const { stdout } = await running.catch((error) => {
    if (error.stdout?.length > 0) return error as { stdout: Buffer };
    throw error;
  });
  const end = stdout.indexOf(CGI_HEAD_END);
  return { ...headIn(stdout.toString('latin1', 0, end)), body: stdout.subarray(end + CGI_HEAD_END.length) };
}

function headIn(head: string): Omit<GitAnswer, 'body'> {
  const lines = head.split('\r\n');
  const fields = lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.replace(/^[^:]*: */, '')]);
  const { status = '200', ...headers } = Object.fromEntries(fields);
  return { status: Number.parseInt(status, 10), headers };
}
