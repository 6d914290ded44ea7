// Serves the bare repositories of a folder over HTTPS through `git http-backend`, in a process of its own: answers are
// streamed, so that it costs neither side memory. Prints its port. Arguments: the folder, and files with key and certificate.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';

const HEAD_END = '\r\n\r\n';
const [root = '', key = '', cert = ''] = process.argv.slice(2);

const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
  const { pathname, search } = new URL(request.url ?? '/', 'https://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: tmpdir(),
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? '',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
      ...lengthOf(request),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.on('error', () => response.destroy());
  // Git does not always read to the end.
  child.stdin.on('error', () => child.stdin.destroy());
  request.pipe(child.stdin);
  sendCgi(child.stdout, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('SIGTERM', () => process.exit(0));

function lengthOf({ headers }: IncomingMessage): Record<string, string> {
  const length = headers['content-length'];
  return length === undefined ? {} : { CONTENT_LENGTH: length };
}

/** Sends the output of a CGI program, RFC 3875, as an answer. */
async function sendCgi(output: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of output) {
    if (head !== undefined) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(HEAD_END);
      if (end < 0) continue;
      const { status = '200', ...headers } = fieldsOf(head.toString('latin1', 0, end));
      response.writeHead(Number.parseInt(status, 10), headers);
      response.write(head.subarray(end + HEAD_END.length));
      head = undefined;
    } else if (!response.write(chunk)) {
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    }
  }
  response.end();
}

function fieldsOf(head: string): Record<string, string> {
  const lines = head.split('\r\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.replace(/^[^:]*: */, '')]),
  );
}
