// Runs `git http-backend` for one request, and reads the head of its answer. See git-http-backend(1) and RFC 3875.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';

/** The end of the head of an answer. */
export const CGI_HEAD_END = '\r\n\r\n';

interface BackendOptions {
  /** The folder with the bare repositories. */
  readonly root: string;
  /** Takes pushes too. */
  readonly receivePack?: boolean;
  /** Of the body; default: as the request says. */
  readonly contentLength?: number;
}

/** Starts git for a request. The caller passes on the body, and reads both outputs. */
export function startHttpBackend(
  { url = '/', method = '', headers }: IncomingMessage,
  { root, receivePack = false, contentLength }: BackendOptions,
): ChildProcessWithoutNullStreams {
  const { pathname, search } = new URL(url, 'http://localhost');
  const length = contentLength ?? headers['content-length'];
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: tmpdir(),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.receivepack',
      GIT_CONFIG_VALUE_0: String(receivePack),
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers['content-type'] ?? '',
      ...(length === undefined ? {} : { CONTENT_LENGTH: String(length) }),
      HTTP_CONTENT_ENCODING: String(headers['content-encoding'] ?? ''),
      REMOTE_ADDR: '127.0.0.1',
    },
  });
  // Git does not always read to the end.
  child.stdin.on('error', () => child.stdin.destroy());
  return child;
}

/** The head of an answer. */
interface CgiHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the head of an answer, which is given without its end. */
export function parseCgiHead(head: string): CgiHead {
  const lines = head.split('\r\n');
  const fields = lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.replace(/^[^:]*: */, '')]);
  const { status = '200', ...headers } = Object.fromEntries(fields);
  return { status: Number.parseInt(status, 10), headers };
}
