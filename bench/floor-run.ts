// The peers of `reads`: a server that verifies client certificates and sends a fixed answer. The first argument is a
// JSON file with the answer. The second is `node` for a bare Node HTTPS server, or `express` for an application of
// Express without Express's additions.
import { readFileSync } from 'node:fs';
import { createServer, type ServerOptions } from 'node:https';
import express from 'express';

/** The answer to send to every request, and the TLS material (files in PEM). */
export interface Floor {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

const [file = '', kind = ''] = process.argv.slice(2);
const { status, headers, body, ...paths } = JSON.parse(readFileSync(file, 'utf8')) as Floor;
const bytes = Buffer.from(body);
const [ca, key, cert] = [paths.ca, paths.key, paths.cert].map((path) => readFileSync(path));
const tls: ServerOptions = { ca, key, cert, requestCert: true, rejectUnauthorized: true };

const app = express();
app.disable('x-powered-by');
app.set('etag', false);
app.set('query parser', false);
app.get('/hiera/:node', (_request, response) => {
  response.writeHead(status, headers);
  response.end(bytes);
});
const server =
  kind === 'express'
    ? createServer(tls, app)
    : createServer(tls, (_request, response) => {
        response.writeHead(status, headers);
        response.end(bytes);
      });
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
process.on('SIGTERM', () => process.exit(0));
