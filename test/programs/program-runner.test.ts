// The start of a program, what becomes of it when the process that started it is killed, and what the next start finds.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { CallRecords } from '../../src/programs/call-records.ts';
import { identityOf, listProcesses, sendSignal } from '../../src/programs/linux-processes.ts';
import { ProgramRunner } from '../../src/programs/program-runner.ts';
import { LaunchError, type ProgramOrder } from '../../src/programs/run-program.ts';
import { ROOT, run } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const DYING_RUNNER = join(ROOT, 'test/support/dying-runner.ts');
const FILE_SERVERS = join(ROOT, 'test/support/programs/file-servers.js');
const SILENT = createLog('silent');
const WAIT = { timeout: 20_000, interval: 100 };
const DEAF = ['/bin/sh', '-c', "trap '' TERM; sleep 1000 & while :; do sleep 1; done"] as const;
const HIDDEN = ['/bin/sh', '-c', 'setsid sleep 1000 <&- >&- 2>&- & wait'] as const;

/** Returns the process group of a program whose runner was killed at that moment. */
async function orphanOf(moment: string, directory: string, program: readonly string[]): Promise<number> {
  const { stdout } = await run(process.execPath, [DYING_RUNNER, moment, directory, ...program]);
  const group = Number(stdout);
  expect(group).toBeGreaterThan(1);
  onTestFinished(async () => {
    for (const pid of await runningIn(directory)) process.kill(pid, 'SIGKILL');
  });
  return group;
}

/** Returns the running processes of programs that were started in a directory. */
async function runningIn(directory: string): Promise<readonly number[]> {
  const isOf = (pid: number): boolean => {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
    return environment.split('\0').includes(`SERVERS=${directory}`);
  };
  const pids = (await listProcesses()).map(({ pid }) => pid);
  return pids.filter((pid) => {
    try {
      return isOf(pid);
    } catch {
      return false;
    }
  });
}

/** An order for the runner of a directory. */
function orderIn(directory: string, command: ProgramOrder['command'], more: Partial<ProgramOrder> = {}): ProgramOrder {
  const limits = { signal: AbortSignal.timeout(20_000), graceMs: 100, outputBytesMax: 1000, about: {}, input: 'x\n' };
  return { command, directory, environment: { SERVERS: directory }, ...limits, ...more };
}

describe.each(['before the record', 'within the input'])('a runner that is killed %s', (moment) => {
  it('leaves a program that ends and has changed nothing', async () => {
    const directory = temporaryDirectory();
    await orphanOf(moment, directory, ['/usr/bin/env', '-u', 'TREELINE_CALL', process.execPath, FILE_SERVERS]);
    await expect.poll(() => runningIn(directory), WAIT).toEqual([]);
    expect(readdirSync(directory)).toEqual(['running']);
  });

  it('leaves no program, no child, and none that ignores its input or SIGTERM', async () => {
    const directory = temporaryDirectory();
    await orphanOf(moment, directory, DEAF);
    await expect.poll(() => runningIn(directory), WAIT).toEqual([]);
  });
});

it('the next start ends a process that left the group of a recorded call', async () => {
  const directory = temporaryDirectory();
  await orphanOf('later', directory, HIDDEN);
  expect(await runningIn(directory)).not.toEqual([]);
  const lines: object[] = [];
  const log = createLog('warn', { write: (line) => lines.push(JSON.parse(line)) });
  const runner = await ProgramRunner.open(join(directory, 'running'), log);
  expect(await runningIn(directory)).toEqual([]);
  expect(runner.ended.get('web-1')).toMatchObject({ server: 'web-1', action: 'c1' });
  expect(lines).toMatchObject([{ msg: 'ending programs that an earlier process has left', servers: ['web-1'] }]);
});

it('a start in a copy of the directory ends no program of the first runner', async () => {
  const [directory, copy] = [temporaryDirectory(), temporaryDirectory()];
  const first = await ProgramRunner.open(join(directory, 'running'), SILENT);
  const script = 'read -r call; until [ -e go ]; do sleep 0.05; done; echo well';
  const about = { server: 'web-1', action: 'c1' };
  const end = first.run(orderIn(directory, ['/bin/sh', '-c', script], { about }));
  await expect.poll(() => readdirSync(join(directory, 'running')).length, WAIT).toBe(1);
  cpSync(directory, copy, { recursive: true, preserveTimestamps: true });
  const second = await ProgramRunner.open(join(copy, 'running'), SILENT);
  expect([...second.ended]).toEqual([]);
  writeFileSync(join(directory, 'go'), '');
  expect(await end).toEqual({ exit: 0, output: 'well\n', complaint: '' });
});

it('a check keeps the record of the ended action of its server', async () => {
  const directory = temporaryDirectory();
  const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
  const about = { server: 'web-1', operation: 'update', action: 'c1' };
  for (const each of [about, { ...about, operation: 'check', action: 'c2' }]) {
    await runner.run(orderIn(directory, ['/bin/sh', '-c', ':'], { about: each }));
  }
  expect(runner.ended.get('web-1')).toEqual(about);
});

describe('the group leader of a record', () => {
  /** Returns which groups and processes a start signals that finds this leader. No signal of this test reaches any. */
  async function signalledFor(leader: object | undefined): Promise<readonly number[]> {
    const directory = temporaryDirectory();
    new CallRecords(directory).write(process.pid, { about: { server: 'web-1' }, mark: 'none' });
    const [name = ''] = readdirSync(directory);
    const record = JSON.parse(readFileSync(join(directory, name), 'utf8'));
    writeFileSync(join(directory, name), JSON.stringify({ ...record, leader }));
    const signalled = new Set<number>();
    const kill = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      if (signal !== 0) signalled.add(pid);
      throw Object.assign(new Error('there is no such process'), { code: signal === 0 ? 'ESRCH' : 'EPERM' });
    });
    onTestFinished(() => kill.mockRestore());
    await ProgramRunner.open(directory, SILENT);
    return [...signalled].filter((pid) => pid < 0);
  }

  it('is ended with its group', async () => {
    expect(await signalledFor(identityOf(process.pid))).toEqual([-process.pid]);
  });

  it.each([
    ['another process has its id', { ...identityOf(process.pid), start: '1' }],
    ['it is process 1', identityOf(1)],
    ['it is unknown', undefined],
  ])('is not ended if %s', async (_, leader) => {
    expect(await signalledFor(leader)).toEqual([]);
  });
});

it('a program of another user is listed after its call, and its action has not ended', async () => {
  const directory = temporaryDirectory();
  const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
  const kill = process.kill.bind(process);
  let foreign: number | undefined;
  vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    if (pid === foreign) throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    return kill(pid, signal);
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
    if (foreign !== undefined) sendSignal(foreign, 'SIGKILL');
  });
  const ending = new AbortController();
  const about = { server: 'web-1', operation: 'create', action: 'c1' };
  const program = ['/bin/sh', '-c', 'setsid sh -c "echo \\$\\$ >pid; exec sleep 1000" & wait'] as const;
  const environment = { PATH: process.env.PATH ?? '' };
  const lost = runner.run(orderIn(directory, program, { about, environment, signal: ending.signal }));
  lost.catch(() => undefined);
  await expect.poll(() => Number(readdirSync(directory).includes('pid') && readPid()) > 0, WAIT).toBe(true);
  foreign = readPid();
  ending.abort(new Error('its deadline has passed'));
  await expect(lost).rejects.toThrow(`process ${foreign} cannot be ended, since it runs as another user`);
  expect(runner.unended()).toMatchObject([{ pid: foreign, about }]);
  expect(runner.ended.get('web-1')).toBeUndefined();
  // The next start finds it too.
  const next = await ProgramRunner.open(join(directory, 'running'), SILENT);
  expect([next.unended(), next.ended.get('web-1')]).toMatchObject([[{ pid: foreign, about }], undefined]);
  kill(foreign, 'SIGKILL');
  await expect.poll(() => runner.unended(), WAIT).toEqual([]);

  function readPid(): number {
    return Number(readFileSync(join(directory, 'pid'), 'utf8'));
  }
});

it('a program gets its input after its process is recorded', async () => {
  const directory = temporaryDirectory();
  const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
  const script = 'read -r call; cat running/*.json; echo; cut -d" " -f5 /proc/self/stat';
  const { output } = await runner.run(orderIn(directory, ['/bin/sh', '-c', script]));
  const [record = '', group] = output.split('\n');
  expect(JSON.parse(record)).toMatchObject({ leader: { pid: Number(group) } });
  expect(readdirSync(join(directory, 'running'))).toEqual([]);
});

it('without setpriv a program is also ended with its group, and the log warns', async () => {
  const directory = temporaryDirectory();
  const lines: object[] = [];
  const log = createLog('warn', { write: (line) => lines.push(JSON.parse(line)) });
  const runner = await ProgramRunner.open(join(directory, 'running'), log, null);
  expect(runner.lostActionEnds).toBe('after its deadline');
  expect(lines).toMatchObject([{ msg: expect.stringContaining('setpriv of util-linux') }]);
  expect(await runner.run(orderIn(directory, ['/bin/cat']))).toMatchObject({ exit: 0, output: 'x\n' });
  const ending = AbortSignal.timeout(300);
  await expect(runner.run(orderIn(directory, DEAF, { signal: ending }))).rejects.toThrow('timeout');
  expect(await runningIn(directory)).toEqual([]);
});

it('a program whose deadline has passed is not started', async () => {
  const directory = temporaryDirectory();
  const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
  const about = { deadline: new Date(Date.now() - 1).toISOString() };
  const end = runner.run(orderIn(directory, ['/usr/bin/touch', 'begun'], { about }));
  await expect(end).rejects.toThrow(new LaunchError('the program was not started: its deadline had passed'));
  expect(readdirSync(directory)).toEqual(['running']);
});

describe('a program that cannot be started', () => {
  it.each([
    ['is missing', ['/no/such/program'], 127, 'No such file or directory'],
    ['is not executable', ['./plain.txt'], 126, 'Permission denied'],
    ['has a missing interpreter', ['./script.sh'], 127, 'its first line has to name the program'],
    ['has a first line that ends in CRLF', ['./dos.sh'], 127, 'and to end in LF'],
  ] as const)('ends with a message when it %s', async (_, command, exit, words) => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'script.sh'), '#!/no/such/interpreter\n', { mode: 0o755 });
    writeFileSync(join(directory, 'dos.sh'), '#!/bin/sh\r\necho {}\r\n', { mode: 0o755 });
    writeFileSync(join(directory, 'plain.txt'), 'text', { mode: 0o644 });
    const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
    const file = command[0].replace('.', directory);
    const end = await runner.run(orderIn(directory, [command[0].startsWith('.') ? file : command[0]]));
    expect(end).toMatchObject({ exit, complaint: expect.stringContaining(words) });
  });

  it('throws LaunchError when its directory is missing', async () => {
    const runner = await ProgramRunner.open(join(temporaryDirectory(), 'running'), SILENT);
    const end = runner.run(orderIn('/no/such/directory', ['/bin/true']));
    const words = 'the program could not be started: there is no directory "/no/such/directory"';
    await expect(end).rejects.toThrow(new LaunchError(words));
  });
});
