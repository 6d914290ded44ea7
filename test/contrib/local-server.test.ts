// contrib/providers/local-server: real processes, killed and looked at from outside.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { ROOT, run } from '../support/command-line.ts';
import { countRuns } from '../support/count-runs.ts';
import { runController } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';
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
    ...{ ...program, folder, command },
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

it('creates a process, checks it, gives it other properties and ends it; every call may be repeated', async () => {
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

it('answers requests to this machine only: a page of a stranger whose name leads here reads nothing', async () => {
  const { call } = localServers();
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
});

it('runs a server in a session of its own, without the mark of the call', async () => {
  const { call, pidOf } = localServers();
  await call('create', 'web-1');
  const pid = pidOf('web-1');
  expect(environmentOf(pid)).toContain('LOCAL_SERVER_DIRECTORY=');
  expect(environmentOf(pid)).not.toContain('TREELINE_CALL');
  expect(execFileSync('ps', ['-o', 'sid=', '-p', String(pid)], { encoding: 'utf8' }).trim()).toBe(String(pid));
});

it('finds a killed server absent, and makes it again at the same address', async () => {
  const { call, pidOf } = localServers();
  const created = await call('create', 'web-1');
  const pid = pidOf('web-1');
  process.kill(pid, 'SIGKILL');
  await expect.poll(async () => (await call('check', 'web-1')).outcome, PATIENCE).toBe('absent');
  expect(await call('update', 'web-1')).toMatchObject({ outcome: 'absent' });
  expect((await call('create', 'web-1')).outputs).toEqual(created.outputs);
  expect(pidOf('web-1')).not.toBe(pid);
});

it('is not deceived by a process that has got the id of a server', async () => {
  const { call, folder, pidOf } = localServers();
  await call('create', 'web-1');
  const file = join(folder, 'servers/web-1/running.json');
  const text = readFileSync(file, 'utf8');
  const pid = pidOf('web-1');
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => existsSync(`/proc/${pid}`), PATIENCE).toBe(false);
  writeFileSync(file, text.replace(`"pid": ${pid}`, `"pid": ${process.pid}`));
  expect(await call('check', 'web-1')).toMatchObject({ outcome: 'absent' });
  expect(await call('delete', 'web-1')).toMatchObject({ outcome: 'done' });
});

it('leaves exactly one process, whenever a create is killed', async () => {
  const { start, call, processesOf, pidOf } = localServers({ LOCAL_SERVER_CREATE_SECONDS: '0.2' });
  const moments = [160, 260, 120, 190, 220, 320];
  for (const afterMs of moments.slice(0, countRuns(moments.length))) {
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

it('makes calls for one server wait for each other, and no others', async () => {
  const { call, start, processesOf, folder } = localServers({ LOCAL_SERVER_CREATE_SECONDS: '1' });
  const { answer } = start('create', 'web-1');
  const others = await Promise.all([call('create', 'web-2'), call('create', 'web-3'), call('create', 'web-1')]);
  expect(others.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done']);
  expect(await answer).toEqual(others[2]);
  expect(processesOf('web-1')).toHaveLength(1);
  const lines = readFileSync(join(folder, 'calls.log'), 'utf8').split('\n').slice(0, -1);
  const ends = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'end');
  expect(ends.map(({ operation, outcome }) => `${operation} ${outcome}`)).toEqual(Array(4).fill('create done'));
  // The second create of web-1 began its second when the first had ended.
  expect(ends.at(-1)).toMatchObject({ resource: 'web-1' });
  const [first, last] = ends.filter(({ resource }) => resource === 'web-1').map(({ time }) => Date.parse(time));
  expect((last ?? 0) - (first ?? 0)).toBeGreaterThan(900);
});

it('answers that it is busy where a call for the server takes longer than the deadline', async () => {
  const { call, start } = localServers({ LOCAL_SERVER_CREATE_SECONDS: '20' });
  start('create', 'web-1');
  await expect.poll(() => call('check', 'web-1').then(({ outcome }) => outcome), PATIENCE).toBe('absent');
  const deadline = new Date(Date.now() + 1_500).toISOString();
  expect(await call('delete', 'web-1', { deadline })).toMatchObject({
    outcome: 'retryable',
    message: 'another call for web-1 is still running',
  });
});

it('stops all servers and starts them again, but not one that was killed', async () => {
  const { call, command, pidOf, processesOf } = localServers();
  const [first] = await Promise.all([call('create', 'web-1'), call('create', 'web-2')]);
  const url = String(first?.outputs.url);
  expect(await command('list')).toEqual([`web-1 ${url}`, expect.stringMatching(/^web-2 http/)]);
  process.kill(pidOf('web-2'), 'SIGKILL');
  await expect.poll(() => command('list'), PATIENCE).toEqual([`web-1 ${url}`, 'web-2 does not run']);
  expect(await command('stop')).toEqual(['web-1 stopped']);
  expect(processesOf('web-1')).toEqual([]);
  expect(await command('start')).toEqual([`web-1 ${url}`]);
  expect(await command('start')).toEqual([]);
  expect(await command('list')).toEqual([`web-1 ${url}`, 'web-2 does not run']);
});

it('shows a change by hand as observed', async () => {
  const { call, command } = localServers();
  await call('create', 'web-1', { properties: { shape: 'small', zone: 'dmz' } });
  expect(await command('change', 'web-1', 'shape=odd')).toEqual(['web-1 shape=odd']);
  expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: { shape: 'odd', zone: 'dmz' } });
});

it.each<[string, Record<string, unknown>, RegExp]>([
  ['another version', { version: 2 }, /version is 2, and this program knows 1/],
  ['an unknown operation', { operation: 'explode' }, /operation is "explode"/],
  ['a name that leaves the folder', { resource: '../x' }, /resource is "..\/x", which is no name of a server/],
  ['no deadline', { deadline: null }, /deadline is null/],
  ['properties that are none', { properties: { a: { b: 'c' } } }, /the property a is no string or list of strings/],
])('refuses %s', async (_, fields, message) => {
  const { call } = localServers();
  const answer = await call('create', 'web-1', fields as Parameters<typeof call>[2]);
  expect(answer).toMatchObject({ outcome: 'failed', message: expect.stringMatching(message) });
});

it('says which setting is missing', async () => {
  expect(await providerProgram(PROGRAM, {}).call('check', 'web-1')).toMatchObject({
    outcome: 'failed',
    message: 'LOCAL_SERVER_DIRECTORY is not set: add it to the environment of the provider entry',
  });
});

it('serves its configuration from Treeline, follows a commit, and goes on while Treeline is away', async () => {
  const file = (greeting: string): Record<string, string> => ({
    'tree.yaml': 'name: global\ntype: common\n',
    'types/clientcert/web-1.yaml': `greeting: ${greeting}\n`,
  });
  const site = await createSite(file('"<hello>"'));
  const { controller, stop } = await runController(site);
  const { call, read, command } = localServers({
    LOCAL_SERVER_URL: `https://localhost:${controller.api.port}`,
    LOCAL_SERVER_CA: join(site.folder, 'pki/ca.crt'),
    LOCAL_SERVER_CERT: join(site.folder, 'pki/administrator.crt'),
    LOCAL_SERVER_KEY: join(site.folder, 'pki/administrator.key'),
    LOCAL_SERVER_POLL_SECONDS: '0.1',
  });
  await call('create', 'web-1', { properties: { shape: '<b>small</b>' } });
  const greeting = async (): Promise<unknown> => {
    const configuration = (await (await read('web-1', '/config.json')).json()) as JsonMap;
    return configuration.greeting;
  };
  await expect.poll(greeting, PATIENCE).toBe('<hello>');
  const page = await (await read('web-1', '/')).text();
  expect(page).toContain('<th>greeting</th><td>&#60;hello&#62;</td><td class="origin">clientcert web-1</td>');
  expect(page).toContain('&#60;b&#62;small');
  expect(page).toContain('Configuration: current');

  await site.repository.commit(file('goodbye'));
  await expect.poll(greeting, PATIENCE).toBe('goodbye');

  await stop();
  const text = async (): Promise<string> => await (await read('web-1', '/')).text();
  await expect.poll(text, PATIENCE).toMatch(/Configuration: since \S+ not read: .*ECONNREFUSED/);
  expect(await greeting()).toBe('goodbye');
  await command('stop');
  await command('start');
  expect(await greeting()).toBe('goodbye');
});

it('ends a process whose files were removed', async () => {
  const { call, folder, processesOf } = localServers();
  await call('create', 'web-1');
  rmSync(join(folder, 'servers'), { recursive: true });
  await expect.poll(() => processesOf('web-1'), PATIENCE).toEqual([]);
});

it('knows no other page', async () => {
  const { call, read } = localServers();
  await call('create', 'web-1');
  expect((await read('web-1', '/etc/passwd')).status).toBe(404);
  expect((await read('web-1', '/')).headers.get('content-security-policy')).toContain("default-src 'none'");
});

it('takes no call and prints its usage for an unknown command', async () => {
  const { code, stderr } = await run(process.execPath, [join(ROOT, 'contrib/providers', PROGRAM), 'explode']);
  expect(code).toBe(3);
  expect(stderr).toContain('Usage: local-server.mjs');
});
