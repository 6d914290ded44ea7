// contrib/providers/local-server: real processes, killed and looked at from outside.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT, run } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type ProviderProgram, providerProgram } from './provider-program.ts';

const PROGRAM = 'local-server/local-server.mjs';
const PATIENCE = { timeout: 15_000, interval: 25 };

interface LocalServers extends ProviderProgram {
  readonly folder: string;
  /** Runs a command of the program and returns its lines. */
  command(...args: readonly string[]): Promise<readonly string[]>;
  /** Returns the id of a server's process, as its file has it. */
  pidOf(name: string): number;
  /** Returns the ids of all processes that run this server, as the system has them. */
  processesOf(name: string): readonly number[];
  read(name: string, path: string): Promise<Response>;
}

/** Returns the program with a folder of its own; its servers do not outlive the running test. */
function localServers(environment: Readonly<Record<string, string>> = {}): LocalServers {
  const folder = temporaryDirectory();
  const env = { LOCAL_SERVER_DIRECTORY: folder, ...environment };
  const program = providerProgram(PROGRAM, { ...env, TREELINE_CALL: 'a-call' });
  const command = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { code, stdout, stderr } = await run(process.execPath, [join(ROOT, 'contrib/providers', PROGRAM), ...args], {
      env,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.split('\n').slice(0, -1);
  };
  onTestFinished(async () => void (await command('stop')));
  const running = (name: string): { readonly process: { readonly pid: number }; readonly port: number } =>
    JSON.parse(readFileSync(join(folder, 'servers', name, 'running.json'), 'utf8'));
  return {
    ...program,
    folder,
    command,
    pidOf: (name) => running(name).process.pid,
    processesOf: (name) => processesWith(folder, `run ${name}`),
    read: (name, path) => fetch(`http://127.0.0.1:${running(name).port}${path}`),
  };
}

/** The processes whose command line ends like this and whose environment names the folder. */
function processesWith(folder: string, ending: string): readonly number[] {
  const list = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  const pids = list
    .filter((line) => line.endsWith(`local-server.mjs ${ending}`))
    .map((line) => Number.parseInt(line, 10));
  return pids.filter((pid) => environmentOf(pid).includes(`LOCAL_SERVER_DIRECTORY=${folder}\0`));
}

function environmentOf(pid: number): string {
  return existsSync(`/proc/${pid}/environ`) ? readFileSync(`/proc/${pid}/environ`, 'utf8') : '';
}

it('the provider local-server creates, checks, updates and deletes a process, and every call may be repeated', async () => {
  const { call, pidOf, processesOf, read, folder } = localServers();
  expect(await call('check', 'web-1')).toMatchObject({ outcome: 'absent', observed: {} });
  const properties = { shape: 'small', peers: ['web-1', 'web-2'] };
  const created = await call('create', 'web-1', { properties });
  expect(created).toMatchObject({
    outcome: 'done',
    outputs: { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/) },
  });
  const pid = pidOf('web-1');
  expect(await call('create', 'web-1', { properties })).toEqual(created);
  expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: properties });
  expect(processesOf('web-1')).toEqual([pid]);

  expect(await call('update', 'web-1', { properties: { shape: 'large' } })).toMatchObject({ outcome: 'done' });
  expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: { shape: 'large' } });
  expect(await (await read('web-1', '/properties.json')).json()).toEqual({ shape: 'large' });
  expect(pidOf('web-1')).toBe(pid);

  expect(await call('delete', 'web-1')).toMatchObject({ outcome: 'done' });
  for (const operation of ['delete', 'check', 'update']) {
    expect(await call(operation, 'web-1')).toMatchObject({ outcome: 'absent' });
  }
  expect(processesOf('web-1')).toEqual([]);
  expect(existsSync(join(folder, 'servers/web-1'))).toBe(false);
});

it('a local server refuses requests with foreign host names', async () => {
  const { call, folder, processesOf } = localServers();
  const { outputs } = await call('create', 'web-1', { properties: { shape: 'small' } });
  const { port } = new URL(String(outputs?.url));
  const statusFor = async (host: string): Promise<number | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const path = '/properties.json';
    get({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
    return await promise;
  };
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'localhost', 'LOCALHOST:8000']) {
    expect([host, await statusFor(host)]).toEqual([host, 200]);
  }
  for (const host of [`evil.example:${port}`, 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example']) {
    expect([host, await statusFor(host)]).toEqual([host, 421]);
  }
  // A process whose files were removed ends.
  rmSync(join(folder, 'servers'), { recursive: true });
  await expect.poll(() => processesOf('web-1'), PATIENCE).toEqual([]);
});

it('the provider local-server finds a killed server absent, and creates it again at the same address', async () => {
  const { call, folder, pidOf } = localServers();
  const created = await call('create', 'web-1');
  const pid = pidOf('web-1');
  process.kill(pid, 'SIGKILL');
  await expect.poll(async () => (await call('check', 'web-1')).outcome, PATIENCE).toBe('absent');
  expect(await call('update', 'web-1')).toMatchObject({ outcome: 'absent' });
  const file = join(folder, 'servers/web-1/running.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(`"pid": ${pid}`, `"pid": ${process.pid}`));
  expect(await call('check', 'web-1')).toMatchObject({ outcome: 'absent' });
  expect((await call('create', 'web-1')).outputs).toEqual(created.outputs);
  expect(pidOf('web-1')).not.toBe(pid);
  expect(await call('delete', 'web-1')).toMatchObject({ outcome: 'done' });
});

itInFull('the provider local-server leaves exactly one process after a killed create', async () => {
  const { start, call, processesOf, pidOf } = localServers({ LOCAL_SERVER_CREATE_SECONDS: '0.2' });
  for (const afterMs of [160, 260, 120, 190, 220, 320]) {
    const { process: program, answer } = start('create', 'web-1', { properties: { after: String(afterMs) } });
    await sleep(afterMs);
    if (program.pid !== undefined && program.exitCode === null) process.kill(-program.pid, 'SIGKILL');
    await answer;
    // What a check says then is the truth: with no process there will be none later.
    const { outcome } = await call('check', 'web-1');
    await sleep(150);
    expect(processesOf('web-1'), `killed after ${afterMs} ms`).toHaveLength(outcome === 'absent' ? 0 : 1);
    await call('create', 'web-1', { properties: { after: 'again' } });
    expect(processesOf('web-1')).toEqual([pidOf('web-1')]);
    await call('delete', 'web-1');
    expect(processesOf('web-1')).toEqual([]);
  }
});
