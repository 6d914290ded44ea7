// The input of a server that only sends one answer: the answer and the TLS material, in a JSON file.
import { readFileSync } from 'node:fs';
import type { Server, ServerOptions } from 'node:https';

/** The answer to send to every request, and the TLS material (files in PEM). */
export interface Floor {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

interface ReadFloor extends Pick<Floor, 'status' | 'headers'> {
  readonly bytes: Buffer;
  /** Clients need a certificate of the authority. */
  readonly tls: ServerOptions;
}

/** Returns the content of the file. */
export function readFloor(file: string): ReadFloor {
  const { status, headers, body, ca, key, cert } = JSON.parse(readFileSync(file, 'utf8')) as Floor;
  const [caPem, keyPem, certPem] = [ca, key, cert].map((path) => readFileSync(path));
  const tls = { ca: caPem, key: keyPem, cert: certPem, requestCert: true, rejectUnauthorized: true };
  return { status, headers, bytes: Buffer.from(body), tls };
}

/** Listens on a free port, which it prints, until the process is asked to end. */
export function listenUntilAsked(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
  });
  process.on('SIGTERM', () => process.exit(0));
}
