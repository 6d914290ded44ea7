// Makes the files that scripts/image-steps.sh needs and no image holds: certificates, settings, and a repository made of
// sample-repo (`make FOLDER`); and waits until all of its stacks are done (`wait FOLDER`).
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DemoCredentials, ensureCredentials } from '../src/cli/demo/credentials.ts';
import { ensureRepository } from '../src/cli/demo/stacks-repository.ts';
import { isMap } from '../src/model/json.ts';
import { createHttpsClient } from '../test/support/https-client.ts';

const WAIT_MS_MAX = 30_000;
const LOOK_MS = 100;

/** Where everything is below the folder: as in the image, but for `pki`, which stays outside. */
function placesIn(folder: string) {
  return {
    pki: join(folder, 'pki'),
    settings: join(folder, 'etc/treeline'),
    repository: join(folder, 'srv/stacks.git'),
    store: join(folder, 'var/lib/treeline'),
    log: join(folder, 'log'),
  };
}

async function make(folder: string): Promise<void> {
  const { pki, settings, repository, store } = placesIn(folder);
  const { ca, server, clients } = await ensureCredentials(pki, Date.now());
  for (const file of [ca, server.key, server.cert]) copyFileSync(file, join(settings, file.slice(pki.length)));
  mkdirSync(join(folder, 'srv'));
  await ensureRepository(repository, clients);
  writeFileSync(
    join(settings, 'treeline.yaml'),
    `api: { port: 0, tls: { key: server.key, cert: server.crt, clientCa: ca.crt } }
management: { port: 0 }
repository: { url: ${JSON.stringify(repository)} }
store: { directory: ${JSON.stringify(store)} }
execution:
  providers:
    - { name: rehearsal, provider: simulated, options: { createMs: 20, updateMs: 20, deleteMs: 20 } }
`,
  );
}

/** Returns the port of the management listener. */
async function wait(folder: string): Promise<number> {
  const { pki, log } = placesIn(folder);
  const credentials = await ensureCredentials(pki, Date.now());
  const ports = await until('it listens', () => portsIn(readFileSync(log, 'utf8')));
  await until('/readyz answers 200', async () => {
    const { ok } = await fetch(`http://127.0.0.1:${ports.management}/readyz`);
    return ok ? true : undefined;
  });
  await until('every instance is Done', () => areAllDone(ports.api, credentials));
  return ports.management;
}

/** Asks again and again, and returns the first answer that is not undefined. Throws once it took too long. */
async function until<Answer>(what: string, ask: () => Answer | undefined | Promise<Answer | undefined>) {
  for (let waited = 0; waited < WAIT_MS_MAX; waited += LOOK_MS) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(LOOK_MS);
  }
  throw new Error(`waited ${WAIT_MS_MAX / 1000} s in vain until ${what}`);
}

function portsIn(log: string): { readonly api: number; readonly management: number } | undefined {
  const line = log.split('\n').find((each) => each.includes('"msg":"listening"'));
  return line === undefined ? undefined : { api: portOf(line, 'api'), management: portOf(line, 'management') };
}

function portOf(line: string, listener: string): number {
  const fields: unknown = JSON.parse(line);
  const address = isMap(fields) ? fields[listener] : undefined;
  return isMap(address) ? Number(address.port) : Number.NaN;
}

async function areAllDone(port: number, { ca, clients }: DemoCredentials): Promise<true | undefined> {
  const { key, cert } = clients.administrator;
  const identity = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  const client = createHttpsClient({ port, ca: readFileSync(ca, 'utf8') }, identity);
  const { body } = await client.request('/stacks/instances');
  if (!Array.isArray(body) || body.length === 0) return undefined;
  const names = body.map((instance: unknown) => (isMap(instance) ? String(instance.name) : ''));
  const statuses = await Promise.all(names.map((name) => client.request(`/stacks/instances/${name}/status`)));
  return statuses.every(({ body: status }) => status === 'Done') ? true : undefined;
}

const [command, folder = ''] = process.argv.slice(2);
if (command === 'make') await make(folder);
else if (command === 'wait') process.stdout.write(`${await wait(folder)}\n`);
else throw new Error('say "make FOLDER" or "wait FOLDER"');
