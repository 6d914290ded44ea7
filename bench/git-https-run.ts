// Serves the bare repositories of a folder over HTTPS through `git http-backend`, in a process of its own: answers are
// streamed, so that it costs neither side memory. Prints its port. Arguments: the folder, and files with key and certificate.
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { CGI_HEAD_END, parseCgiHead, startHttpBackend } from '../test/support/git-http-backend.ts';

const [root = '', key = '', cert = ''] = process.argv.slice(2);

const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
  const child = startHttpBackend(request, { root });
  child.on('error', () => response.destroy());
  child.stderr.pipe(process.stderr);
  request.pipe(child.stdin);
  sendCgi(child.stdout, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('SIGTERM', () => process.exit(0));

/** Sends the output of a CGI program, RFC 3875, as an answer. */
async function sendCgi(output: AsyncIterable<Buffer>, response: ServerResponse): Promise<void> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of output) {
    if (head !== undefined) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(CGI_HEAD_END);
      if (end < 0) continue;
      const { status, headers } = parseCgiHead(head.toString('latin1', 0, end));
      response.writeHead(status, headers);
      response.write(head.subarray(end + CGI_HEAD_END.length));
      head = undefined;
    } else if (!response.write(chunk)) {
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    }
  }
  response.end();
}
