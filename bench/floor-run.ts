// The floor of `reads`: a bare Node HTTPS server that verifies client certificates and sends the bytes it was given,
// with the head it was given. No server written for Node can be much faster. Arguments: a JSON file with the answer.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

/** The answer to send to every request, and the TLS material (files in PEM). */
export interface Floor {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

const { status, headers, body, ca, key, cert } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Floor;
const bytes = Buffer.from(body);
const server = createServer(
  {
    ca: readFileSync(ca),
    key: readFileSync(key),
    cert: readFileSync(cert),
    requestCert: true,
    rejectUnauthorized: true,
  },
  (_request, response) => {
    response.writeHead(status, headers);
    response.end(bytes);
  },
);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
});
process.on('SIGTERM', () => process.exit(0));
