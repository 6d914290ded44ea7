// The connection of the command line to a controller: the demo of the folder, and a controller that does not answer yet.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeConnectionFailure } from '../../src/cli/connection-failure.ts';
import { ensureCredentials } from '../../src/cli/demo/credentials.ts';
import { writeLocalServerProgram } from '../../src/cli/demo/local-servers.ts';
import { copySettings } from '../../src/cli/demo/settings-file.ts';
import { getFrom } from '../../src/cli/server-connection.ts';
import { treeline } from '../support/command-here.ts';
import { freePort } from '../support/free-port.ts';
import { createGitRepository, runGit } from '../support/git-repository.ts';
import { listenInTest } from '../support/listen-in-test.ts';

const COMMIT = 'ab'.repeat(20);

/** The files of a demo that does not run, and its address. */
const folder = mkdtempSync(join(tmpdir(), 'treeline-'));
const pki = (file: string): string => join(folder, '.treeline/pki', file);
let address = '';

beforeAll(async () => {
  const demo = join(folder, '.treeline');
  const credentials = await ensureCredentials(join(demo, 'pki'), Date.now());
  const port = await freePort();
  address = `https://localhost:${port}`;
  await writeLocalServerProgram(demo, credentials, address);
  await copySettings(demo, { api: port, management: 0 });
  await createGitRepository(folder, { bare: false });
  await runGit(['-C', folder, 'commit', '--quiet', '--allow-empty', '--message', 'x']);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a request has a time limit if the peer never answers', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const server = `https://127.0.0.1:${await listenInTest(silent)}`;
  const files = { key: pki('administrator.key'), cert: pki('administrator.crt'), ca: pki('ca.crt') };
  const asked = getFrom({ server, ...files }, '/operations/status', { timeoutMs: 1_000 });
  // Timers of one process fire in their order, however busy the machine is.
  const end = await Promise.race([asked.catch(String), wait(1_900, 'still waiting')]);
  expect(end).toMatch(/cannot be asked: no answer within 1 s/);
});

describe('the demo of the folder', () => {
  it.each([
    ...['status', 'status shop', 'why shop', 'events', 'delivered', 'held', 'problems', `approve ${'ab'.repeat(32)}`],
    ...[`accept-history ${COMMIT}`, 'suspend shop --reason x', 'resume shop', 'retry shop', 'adopt shop', 'retain web'],
    ...['replace web', 'check shop', 'acknowledge gone --end', 'notifications', 'client list', 'client remove AB'],
    ...['client add .treeline/pki/administrator.crt --role proxy', 'explain web', 'plan .'],
    `status --wait ${COMMIT} --timeout 1`,
  ])('is the default of a command: %s', async (args) => {
    const { code, stderr } = await treeline(args.split(' '), { cwd: folder });
    expect(code).toBe(3);
    expect(stderr).toContain(`${address} cannot be asked: nothing listens there`);
  });

  it('is found from a subfolder, also if variables are empty', async () => {
    const cwd = join(folder, 'my-stacks');
    mkdirSync(cwd);
    const env = { TREELINE_SERVER: '', TREELINE_CERT: '', TREELINE_KEY: '', TREELINE_CA: '' };
    expect((await treeline(['held'], { cwd, env })).stderr).toContain(`${address} cannot be asked`);
  });

  it('does not replace an empty address that is given', async () => {
    expect((await treeline(['held', '--server', ''], { cwd: folder })).stderr).toContain('all four are needed');
    writeFileSync(join(folder, 'tree.yaml'), 'name: all\ntype: common\n');
    onTestFinished(() => rmSync(join(folder, 'tree.yaml')));
    expect((await treeline(['explain', 'web'], { cwd: folder })).stderr).toContain('there is no node "web"');
  });
});

it('treeline status --wait waits until the controller listens, and says so', async () => {
  const [key, cert] = ['server.key', 'server.crt'].map((file) => readFileSync(pki(file)));
  const server = createHttpsServer({ key, cert }, (_, response) => void response.writeHead(418).end());
  onTestFinished(() => void server.close());
  const ended = treeline(['status', '--wait', COMMIT, '--timeout', '30'], { cwd: folder });
  // The first attempt is refused before this passes.
  setTimeout(() => server.listen(Number(new URL(address).port), '127.0.0.1'), 500);
  const { stderr } = await ended;
  expect(stderr).toMatch(/cannot be asked: nothing listens there/);
  expect(stderr).toContain('answered 418');
});

it('an aborted request is described', () => {
  const files = { cert: 'client.crt', key: 'client.key', ca: 'ca.crt' };
  const aborted = AbortSignal.abort().reason as Error;
  expect(describeConnectionFailure(aborted, files)).toMatch(
    /^This operation was aborted; check the address, ca\.crt and client\.crt$/,
  );
});
