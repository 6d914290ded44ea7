// The start of a program, and what becomes of it where the process that starts it is killed in between.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ClockTimes } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { readCallRecords } from '../../src/programs/call-records.ts';
import { LaunchError, launch } from '../../src/programs/launch.ts';
import { identityOf } from '../../src/programs/linux-processes.ts';
import { endLeftovers, ProgramRunner } from '../../src/programs/program-runner.ts';
import { momentAt, runProgram } from '../../src/programs/run-program.ts';
import { type RunningCall, RunningCalls } from '../../src/programs/running-calls.ts';
import { ROOT, run } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const DYING_RUNNER = join(ROOT, 'test/support/dying-runner.ts');
const FILE_SERVERS = join(ROOT, 'test/support/programs/file-servers.js');
const SILENT = createLog('silent');
const MOMENTS = ['before the record', 'before the input', 'within the input'];

/** Returns the process of a program whose helper process was killed at that moment. */
async function orphanOf(moment: string, directory: string, program: readonly string[]): Promise<number> {
  mkdirSync(directory, { recursive: true });
  const { stdout } = await run(process.execPath, [DYING_RUNNER, moment, directory, ...program]);
  const pid = Number(stdout);
  expect(pid).toBeGreaterThan(1);
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  return pid;
}

function isRunning(pid: number): boolean {
  return identityOf(pid) !== undefined && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

describe.each(MOMENTS)('a program whose helper process is killed %s', (moment) => {
  it('changes nothing and ends, also without its mark', async () => {
    const directory = temporaryDirectory();
    const program = ['/usr/bin/env', '-u', 'TREELINE_CALL', process.execPath, FILE_SERVERS];
    const pid = await orphanOf(moment, directory, program);
    await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
    expect(readdirSync(directory)).toEqual(['running']);
  });

  it('is ended by the next start, also if it never looks at its input', async () => {
    const directory = temporaryDirectory();
    const pid = await orphanOf(moment, directory, ['/bin/sleep', '1000']);
    expect([isRunning(pid), readCallRecords(join(directory, 'running')).map((each) => each.pid)]).toEqual([
      true,
      moment === 'before the record' ? [] : [pid],
    ]);
    await endLeftovers(join(directory, 'running'), SILENT);
    expect(isRunning(pid)).toBe(false);
  });
});

it('a start in a copy of the directory leaves the programs of the first controller alone', async () => {
  const [directory, copy] = [temporaryDirectory(), temporaryDirectory()];
  const first = await ProgramRunner.open(join(directory, 'running'), SILENT);
  onTestFinished(() => first.close());
  const program = {
    command: ['/bin/sh', '-c', 'read -r call; until [ -e go ]; do sleep 0.05; done; echo $$'] as const,
  };
  const limits = { signal: AbortSignal.timeout(20_000), graceMs: 100, outputBytesMax: 1000 };
  // Its facts do not fit a record.
  const about = { server: 'x'.repeat(600) };
  const run = first.run({ ...program, directory, environment: {}, input: 'x\n', about, ...limits });
  await expect.poll(() => readCallRecords(join(directory, 'running')).length, { timeout: 20_000 }).toBe(1);
  const [recorded] = readCallRecords(join(directory, 'running'));
  cpSync(directory, copy, { recursive: true, preserveTimestamps: true });
  const second = await ProgramRunner.open(join(copy, 'running'), SILENT);
  onTestFinished(() => second.close());
  expect([first.isCopied, second.isCopied, isRunning(recorded?.pid ?? 0)]).toEqual([false, true, true]);
  writeFileSync(join(directory, 'go'), '');
  expect(await run).toMatchObject({ exit: 0, output: `${recorded?.pid}\n` });
});

it('a start in a directory that was moved ends what an earlier one has left there', async () => {
  const folder = temporaryDirectory();
  const pid = await orphanOf('before the input', join(folder, 'old'), ['/bin/sleep', '1000']);
  renameSync(join(folder, 'old'), join(folder, 'new'));
  expect(await endLeftovers(join(folder, 'new/running'), SILENT)).toMatchObject({ isCopied: false });
  expect(isRunning(pid)).toBe(false);
});

it('a program gets its input only once its process is recorded', async () => {
  const directory = temporaryDirectory();
  const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
  onTestFinished(() => runner.close());
  const program = { command: ['/bin/sh', '-c', 'read -r call; cat running/calls; echo $$'] as const, directory };
  const limits = { signal: AbortSignal.timeout(20_000), graceMs: 100, outputBytesMax: 1000 };
  const { output } = await runner.run({ ...program, environment: {}, input: 'x\n', about: {}, ...limits });
  const [record = '', pid] = output.split('\n');
  expect(JSON.parse(record)).toMatchObject({ group: Number(pid), process: { pid: Number(pid) } });
});

it('of several programs that begin at once, each is recorded before the next one is started', async () => {
  const notes: string[] = [];
  class NotedCalls extends RunningCalls {
    override begin(about: Readonly<Record<string, string>>): RunningCall {
      notes.push(`start ${about.server}`);
      const call = super.begin(about);
      return { ...call, record: (group) => notes.push(`record ${about.server}`) && call.record(group) };
    }
  }
  const directory = temporaryDirectory();
  const place = { calls: new NotedCalls(await endLeftovers(join(directory, 'running'), SILENT), SILENT), log: SILENT };
  const limits = { signal: AbortSignal.timeout(20_000), graceMs: 100, outputBytesMax: 1000 };
  const order = { command: ['/bin/cat'] as const, directory, environment: {}, input: 'x', ...limits };
  // As messages of one chunk arrive: no microtask runs between them.
  const ended = ['web-1', 'web-2'].map((server) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    process.nextTick(() => resolve(runProgram({ ...order, about: { server } }, place)));
    return promise;
  });
  expect(await Promise.all(ended)).toEqual(Array(2).fill({ exit: 0, output: 'x', complaint: '' }));
  await place.calls.close();
  expect(notes).toEqual(['start web-1', 'record web-1', 'start web-2', 'record web-2']);
});

describe('a program whose deadline has passed', () => {
  /** Runs a program that creates a file in the directory once it has its input, and is recorded by `record`. */
  async function runLate(
    directory: string,
    deadline: ClockTimes,
    record: () => void = () => undefined,
  ): Promise<unknown> {
    class SlowCalls extends RunningCalls {
      override begin(about: Readonly<Record<string, string>>): RunningCall {
        const call = super.begin(about);
        return { ...call, record: (group) => [call.record(group), record()] };
      }
    }
    const place = { calls: new SlowCalls(await endLeftovers(join(directory, 'running'), SILENT), SILENT), log: SILENT };
    const limits = { signal: AbortSignal.timeout(20_000), graceMs: 100, outputBytesMax: 1000, deadline };
    const command = ['/bin/sh', '-c', 'read -r call && touch begun'] as const;
    const order = { command, directory, environment: { PATH: process.env.PATH ?? '' }, input: 'x\n', about: {} };
    try {
      return await runProgram({ ...order, ...limits }, place);
    } finally {
      await place.calls.close();
    }
  }

  it.each([
    ['on the wall, as after a sleep of the machine', { wall: -1 }],
    ['that cannot be set', { monotonic: -1 }],
  ])('by the clock %s is not started', async (_, past) => {
    const directory = temporaryDirectory();
    const run = runLate(directory, { ...momentAt(Date.now() + 60_000), ...past });
    await expect(run).rejects.toThrow(new LaunchError('the program was not started: its deadline had passed'));
    expect(readdirSync(directory)).toEqual(['running']);
  });

  it('once it is recorded gets no input, and is ended', async () => {
    const directory = temporaryDirectory();
    const deadline = momentAt(Date.now() + 2_000);
    const run = runLate(directory, deadline, () => {
      while (Date.now() < deadline.wall);
    });
    await expect(run).rejects.toThrow('its deadline had passed');
    expect(readdirSync(directory)).toEqual(['running']);
  });
});

it.each([
  ['that is not there', '/no/such/program', 'ENOENT'],
  ['whose interpreter is not there', 'script.sh', '; its first line names "/no/such/interpreter", which is not there'],
  [
    'whose first line ends in CRLF',
    'dos.sh',
    '; its first line ends in CRLF, so that the system looks for "/bin/sh\\r"',
  ],
  ['that may not be executed', 'plain.txt', 'plain.txt EACCES; make it executable: chmod +x /'],
])('a program %s is not started', async (_, name, words) => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'script.sh'), '#!/no/such/interpreter\n', { mode: 0o755 });
  writeFileSync(join(directory, 'dos.sh'), '#!/bin/sh\r\necho {}\r\n', { mode: 0o755 });
  writeFileSync(join(directory, 'plain.txt'), 'text', { mode: 0o644 });
  const command = [name.startsWith('/') ? name : join(directory, name)] as const;
  const program = launch({ command, directory, environment: {} }, 'mark');
  if (program.pid !== undefined) throw new Error('a process was made');
  const error = await program.error;
  expect(error).toBeInstanceOf(LaunchError);
  expect(error.message).toContain(words);
});
