// The peer `nginx` of `reads`: one worker that verifies client certificates and sends a file from its cache of open files, or
// an answer without a body.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../test/support/free-port.ts';
import type { Floor } from './floor-file.ts';
import { OwnedProcess } from './owned-process.ts';

const START_MS_MAX = 20_000;

interface Nginx {
  readonly port: number;
  readonly process: OwnedProcess;
}

/** Returns the version of the nginx on the path, or undefined where there is none. */
export function nginxVersion(): string | undefined {
  try {
    // It tells its version on standard error.
    const text = execFileSync('sh', ['-c', 'PATH="$PATH:/usr/sbin" exec nginx -v 2>&1']).toString();
    return /nginx\/(\S+)/.exec(text)?.[1];
  } catch {
    // Missing or broken is the same to who asks: there is nothing to compare with.
    return undefined;
  }
}

/** Starts nginx in a folder that does not exist yet, and resolves once it listens. */
export async function startNginx(folder: string, floor: Floor): Promise<Nginx> {
  const port = await freePort();
  mkdirSync(folder);
  writeFileSync(join(folder, 'answer'), floor.body);
  writeFileSync(join(folder, 'nginx.conf'), configurationOf(folder, port, floor));
  const command = 'PATH="$PATH:/usr/sbin" exec nginx -p . -c nginx.conf -e nginx-error.log';
  const output = join(folder, 'nginx.log');
  const nginx = new OwnedProcess({ file: 'sh', args: ['-c', command], cwd: folder, output });
  await nginx.until('it listened', START_MS_MAX, () => isListening(port));
  return { port, process: nginx };
}

function isListening(port: number): Promise<true | undefined> {
  const { promise, resolve } = Promise.withResolvers<true | undefined>();
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('connect', () => resolve(true));
  socket.on('error', () => resolve(undefined));
  return promise.finally(() => socket.destroy());
}

/** One worker without a master, so that it is one process as Node's is. */
function configurationOf(folder: string, port: number, { status, headers, ca, key, cert }: Floor): string {
  const own = new Set(['content-length', 'content-type', 'transfer-encoding']);
  const added = Object.entries(headers).filter(([name]) => !own.has(name.toLowerCase()));
  const type = headers['content-type'] ?? 'application/json';
  const send = status === 200 ? `root ${folder}; rewrite ^ /answer break;` : `return ${status};`;
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  open_file_cache max=10;
  keepalive_requests 1000000000;
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${cert};
    ssl_certificate_key ${key};
    ssl_client_certificate ${ca};
    ssl_verify_client on;
    ssl_protocols TLSv1.3;
    etag off;
    if_modified_since off;
    types { }
    default_type ${JSON.stringify(type)};
    location / {
      ${added.map(([name, value]) => `add_header ${name} ${JSON.stringify(value)} always;`).join('\n      ')}
      ${send}
    }
  }
}
`;
}
