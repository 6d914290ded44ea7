// The connection of the command line to a controller.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { describeConnectionFailure } from '../../src/cli/connection-failure.ts';
import { ensureCredentials } from '../../src/cli/demo/credentials.ts';
import { writeLocalServerProgram } from '../../src/cli/demo/local-servers.ts';
import { copySettings } from '../../src/cli/demo/settings-file.ts';
import { createProgram } from '../../src/cli/run.ts';
import { getFrom } from '../../src/cli/server-connection.ts';
import { freePort } from '../support/free-port.ts';
import { createGitRepository, runGit } from '../support/git-repository.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('counts its limit from the start of a request to a peer that accepts and says nothing', async () => {
  const folder = temporaryDirectory();
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'authority', now });
  const { key, cert } = await issueClientCertificate(authority, { commonName: 'operator', now });
  const files = { key: join(folder, 'key'), cert: join(folder, 'cert'), ca: join(folder, 'ca') };
  for (const [file, text] of [
    [files.key, key],
    [files.cert, cert],
    [files.ca, authority.cert],
  ] as const) {
    writeFileSync(file, text);
  }
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const server = `https://127.0.0.1:${await listenInTest(silent)}`;
  const asked = getFrom({ server, ...files }, '/operations/status', { timeoutMs: 1_000 });
  // Timers of one process fire in their order, however busy the machine is.
  const end = await Promise.race([asked.catch(String), wait(1_900, 'still waiting')]);
  expect(end).toMatch(/cannot be asked: no answer within 1 s/);
});

const VARIABLES = ['TREELINE_SERVER', 'TREELINE_CERT', 'TREELINE_KEY', 'TREELINE_CA'] as const;

/** Runs a command in this process as if the user stood in a folder. */
async function runIn(folder: string, ...args: readonly string[]): Promise<void> {
  vi.stubEnv('npm_package_name', 'treeline');
  vi.stubEnv('npm_lifecycle_event', 'treeline');
  vi.stubEnv('INIT_CWD', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const program = await createProgram(args[0]);
  await program.parseAsync(['node', 'treeline', ...args]);
}

/** Returns a folder with the files of a demo that does not run, and its address. */
async function makeDemo(folder = temporaryDirectory()): Promise<{ readonly folder: string; readonly server: string }> {
  const demo = join(folder, '.treeline');
  const credentials = await ensureCredentials(join(demo, 'pki'), Date.now());
  const port = await freePort();
  const server = `https://localhost:${port}`;
  await writeLocalServerProgram(demo, credentials, server);
  await copySettings(demo, { api: port, management: 0 });
  return { folder, server };
}

const COMMIT = 'ab'.repeat(20);

describe('the demo of the folder', () => {
  let demo: Awaited<ReturnType<typeof makeDemo>>;
  beforeAll(async () => {
    demo = await makeDemo(mkdtempSync(join(tmpdir(), 'treeline-')));
    await createGitRepository(demo.folder, { bare: false });
    await runGit(['-C', demo.folder, 'commit', '--quiet', '--allow-empty', '--message', 'x']);
  });
  afterAll(() => rmSync(demo.folder, { recursive: true, force: true }));

  it.each([
    ['status'],
    ['status', 'shop'],
    ['why', 'shop'],
    ['events'],
    ['delivered'],
    ['held'],
    ['problems'],
    ['approve', 'ab'.repeat(32)],
    ['accept-history', COMMIT],
    ['suspend', 'shop', '--reason', 'x'],
    ['resume', 'shop'],
    ['retry', 'shop'],
    ['adopt', 'shop'],
    ['retain', 'web'],
    ['replace', 'web'],
    ['check', 'shop'],
    ['acknowledge', 'gone', '--end'],
    ['notifications'],
    ['client', 'list'],
    ['client', 'remove', 'AB'],
    ['client', 'add', '.treeline/pki/administrator.crt', '--role', 'proxy'],
    ['explain', 'web'],
    ['plan', '.'],
  ])('is what a command connects to without options: %j', async (...args) => {
    const { folder, server } = demo;
    await expect(runIn(folder, ...args)).rejects.toThrow(`${server} cannot be asked: nothing listens there`);
  });

  it('is found from a folder below, also if variables are empty', async () => {
    const { folder, server } = await makeDemo();
    mkdirSync(join(folder, 'my-stacks'));
    for (const name of VARIABLES) vi.stubEnv(name, '');
    await expect(runIn(join(folder, 'my-stacks'), 'held')).rejects.toThrow(`${server} cannot be asked`);
  });

  it('does not replace an address that is given and empty, nor the layout that is explained', async () => {
    const { folder } = await makeDemo();
    await expect(runIn(folder, 'held', '--server', '')).rejects.toThrow('all four are needed');
    writeFileSync(join(folder, 'tree.yaml'), 'name: all\ntype: common\n');
    await expect(runIn(folder, 'explain', 'web')).rejects.toThrow('"web"');
  });
});

it.each([COMMIT, COMMIT.slice(0, 8)])('status --wait %s waits until the controller listens', async (commit) => {
  const { folder, server: address } = await makeDemo();
  const pki = (file: string): Buffer => readFileSync(join(folder, '.treeline/pki', file));
  const server = createHttpsServer({ key: pki('server.key'), cert: pki('server.crt') }, (_, response) => {
    response.writeHead(418).end();
  });
  onTestFinished(() => void server.close());
  const ended = runIn(folder, 'status', '--wait', commit, '--timeout', '30').catch(String);
  // The first attempt is refused before this passes.
  setTimeout(() => server.listen(Number(new URL(address).port), '127.0.0.1'), 500);
  expect(await ended).toContain('answered 418');
});

it('status --wait ends with the refused connection when its time is over', async () => {
  const { folder } = await makeDemo();
  await expect(runIn(folder, 'status', '--wait', COMMIT, '--timeout', '1')).rejects.toThrow('nothing listens there');
});

it('describes a request that was aborted, as when a renderer stops', () => {
  const files = { cert: 'client.crt', key: 'client.key', ca: 'ca.crt' };
  const aborted = AbortSignal.abort().reason as Error;
  expect(describeConnectionFailure(aborted, files)).toMatch(
    /^This operation was aborted; check the address, ca\.crt and client\.crt$/,
  );
});
