// The whole controller with real programs: killed in the middle of calls, and with programs that misbehave.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../support/command-line.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { PATIENCE, runController } from '../support/running-controller.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { STACKS, templateText } from './stacks.ts';

const PROGRAMS = join(ROOT, 'test/support/programs');
const KILLED = { timeout: 40_000, interval: 50 };

function siteWith(command: readonly string[], more = ''): Promise<Site> {
  const execution = `  deleteBudget: { least: 5 }
  retry: { firstSeconds: 1, maxSeconds: 1, failedSeconds: 2 }
  graceSeconds: 1
  providers:
    - { name: lab, provider: exec, command: ${JSON.stringify(command)}${more} }`;
  return createSiteIn(temporaryDirectory(), {
    files: STACKS,
    repository: ', pollSeconds: 1',
    execution,
    provider: 'lab',
  });
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function isRunning(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

it('a controller that is killed in the middle of creates leaves none running, and its next start begins them again', async () => {
  const servers = temporaryDirectory();
  writeFileSync(join(servers, 'seconds'), '1000');
  const site = await siteWith([join(PROGRAMS, 'slow-servers.sh'), servers]);
  const called = (): readonly string[] => linesOf(join(servers, 'calls')).map((line) => line.split(' ')[2] ?? '');
  const hidden = (): readonly string[] => linesOf(join(servers, 'hidden'));
  onTestFinished(() => {
    for (const pid of hidden().filter(isRunning)) process.kill(Number(pid), 'SIGKILL');
  });
  const killed = new ServingProcess(site.config);
  await expect.poll(() => [...called(), ...hidden()], KILLED).toHaveLength(4);
  killed.signal('SIGKILL');
  await killed.exit();
  await expect.poll(() => called().filter(isRunning), KILLED).toEqual([]);
  // Only its mark leads to what has left the group.
  const before = hidden();
  expect(before.filter(isRunning)).toEqual(before);

  writeFileSync(join(servers, 'seconds'), '0');
  const controller = new ServingProcess(site.config);
  const client = createHttpsClient({ port: await controller.port(), ca: site.ca }, site.administrator);
  expect(before.filter(isRunning)).toEqual([]);
  expect((await controller.logged('ending programs that an earlier process has left')).servers).toHaveLength(2);
  const status = async (): Promise<unknown> => (await client.request('/stacks/instances/shop/status')).body;
  await expect.poll(status, KILLED).toBe('Done');
  expect(await controller.end('SIGTERM')).toBe(0);
  // Every create but the killed ones has begun once and ended once, one after the other.
  const calls = linesOf(join(servers, 'calls')).slice(2);
  expect(calls.filter((line) => line.startsWith('end')).length).toBe(calls.length / 2);
  expect(called().filter(isRunning)).toEqual([]);
  expect(readdirSync(join(site.state, 'running'))).toEqual([]);
});

it('programs that hang keep no other entry waiting, and end at their deadline', async () => {
  const [servers, hung] = [temporaryDirectory(), temporaryDirectory()];
  const execution = `  retry: { firstSeconds: 1, maxSeconds: 1, failedSeconds: 2 }
  providers:
    - { name: bad, match: { properties: { role: web } }, provider: exec, command: [${join(PROGRAMS, 'misbehave.sh')}, deaf, ${hung}], timeoutSeconds: 1 }
    - { name: good, provider: exec, command: [${process.execPath}, ${join(PROGRAMS, 'file-servers.js')}], environment: { SERVERS: ${servers} } }`;
  const files = { ...STACKS, 'stacks/templates/web.yaml': templateText().replace(', depends_on: db', '') };
  const site = await createSiteIn(temporaryDirectory(), { files, repository: '', execution, provider: 'good' });
  const running = await runController(site);
  const states = async (): Promise<readonly unknown[]> => Object.values(await running.states('office'));
  await expect.poll(states, PATIENCE).toEqual(['done', 'retrying']);
  expect((await running.get('/stacks/instances/office/why')).body).toMatchObject({
    waiting: [
      {
        resource: 'office-web-1',
        reason: 'check_failed: no answer: it did not end within its time limit (timeoutSeconds)',
      },
    ],
  });
  await running.stop();
  expect(linesOf(join(hung, 'pids')).filter(isRunning)).toEqual([]);
});
