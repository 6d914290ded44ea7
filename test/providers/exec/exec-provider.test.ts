// The provider that runs programs, on programs that misbehave: how each call ends, and that nothing of it is left.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../../src/base/log.ts';
import type { Answer } from '../../../src/model/call-result.ts';
import type { JsonMap } from '../../../src/model/json.ts';
import { ProgramRunner } from '../../../src/programs/program-runner.ts';
import { createExecProvider } from '../../../src/providers/exec/exec-provider.ts';
import type { Call, Provider } from '../../../src/providers/provider.ts';
import { describeProvider } from '../../contract/provider.ts';
import { callOf } from '../../support/calls.ts';
import { ROOT } from '../../support/command-line.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PROGRAMS = join(ROOT, 'test/support/programs');
const SILENT = createLog('silent');

describeProvider('exec', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  return {
    async open() {
      const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
      const program = { command: [process.execPath, 'file-servers.js'] as const, directory: PROGRAMS };
      const provider = createExecProvider({ ...program, environment: { SERVERS: directory }, runner, log: SILENT });
      return provider;
    },
    remove: () => rm(directory, { recursive: true }),
  };
});

interface Trial {
  readonly directory: string;
  readonly provider: Provider;
  readonly runner: ProgramRunner;
  readonly lines: readonly JsonMap[];
  perform(fields?: Partial<Call>, ms?: number): Promise<Answer>;
  /** The processes of the program that still run. */
  running(): readonly number[];
}

async function trialOf(
  mode: string,
  { graceMs = 300, shared }: { graceMs?: number; shared?: ProgramRunner } = {},
): Promise<Trial> {
  const directory = temporaryDirectory();
  const lines: JsonMap[] = [];
  const log = createLog('debug', { write: (line) => lines.push(JSON.parse(line)) });
  const runner = shared ?? (await ProgramRunner.open(join(directory, 'running'), log));
  const command = [join(PROGRAMS, 'misbehave.sh'), mode, directory] as const;
  const provider = createExecProvider({ command, directory, environment: { LAB: 'x' }, runner, log, graceMs });
  const running = (): readonly number[] => pidsIn(directory).filter(isRunning);
  onTestFinished(async () => {
    for (const pid of running()) process.kill(pid, 'SIGKILL');
    await provider.close();
  });
  const perform = (fields: Partial<Call> = {}, ms = 20_000): Promise<Answer> =>
    provider.perform(callOf(fields), AbortSignal.timeout(ms));
  return { directory, provider, runner, lines, running, perform };
}

/** The limits of a program that is run without a provider. */
const ORDER = { input: '', outputBytesMax: 1000, graceMs: 300, about: {}, signal: AbortSignal.timeout(60_000) };

/** Returns the process group of a process. */
function groupOf(pid = 0): number {
  return Number(/\) \S+ \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]);
}

function pidsIn(directory: string): readonly number[] {
  const file = join(directory, 'pids');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '').map(Number);
}

function isRunning(pid: number): boolean {
  try {
    // A process that has ended and that nobody has waited for is no longer running.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

function recordsIn(directory: string): readonly unknown[] {
  const files = readdirSync(join(directory, 'running'));
  return files.map((file) => JSON.parse(readFileSync(join(directory, 'running', file), 'utf8')));
}

describe('a program of the exec provider', () => {
  it('gets the call on its standard input, and answers on its standard output', async () => {
    const { perform, directory } = await trialOf('good');
    const answer = await perform({ operation: 'update', properties: { name: 'web-1', note: '$(id) "ü"\n' } });
    expect(answer).toEqual({ outcome: 'done', message: 'good', outputs: {}, observed: {} });
    expect(JSON.parse(readFileSync(join(directory, 'input'), 'utf8'))).toEqual({
      version: 1,
      ...callOf({ operation: 'update', properties: { name: 'web-1', note: '$(id) "ü"\n' } }),
    });
  });

  it('has the environment of its entry and a mark, and default signal handling', async () => {
    const { directory, runner } = await trialOf('good');
    const environment = { LAB: 'x y\n$(id)', PATH: '/nowhere' };
    const { output } = await runner.run({ ...ORDER, directory, environment, command: ['/usr/bin/env', '-0'] });
    expect(output.split('\0').sort()).toEqual([
      ...['', 'LAB=x y\n$(id)', 'PATH=/nowhere'],
      expect.stringMatching(/^TREELINE_CALL=[0-9a-f-]{36}\.1$/),
    ]);
    const command = ['/bin/grep', 'SigIgn', '/proc/self/status'] as const;
    const ignored = await runner.run({ ...ORDER, directory, environment: {}, command });
    expect(ignored.output).toBe('SigIgn:\t0000000000000000\n');
  });

  it('may ignore its input', async () => {
    const { perform } = await trialOf('ignores-input');
    const properties = { name: 'web-1', note: 'x'.repeat(60_000) };
    expect(await perform({ properties })).toMatchObject({ outcome: 'done' });
  });

  it('is recorded while it runs and after it was killed, until the next call for its server', async () => {
    const { perform, directory, provider, runner } = await trialOf('hang');
    const lost = perform().catch((error: unknown) => error);
    await expect.poll(() => pidsIn(directory).length, { timeout: 10_000 }).toBe(1);
    const [pid] = pidsIn(directory);
    const about = { server: 'web-1', operation: 'create', action: 'c1' };
    expect(recordsIn(directory)).toMatchObject([{ about, leader: { pid: groupOf(pid) } }]);
    await provider.close();
    expect(await lost).toMatchObject({ message: 'the provider is closed' });
    // It proves to the next start that the action has ended.
    expect(recordsIn(directory)).toMatchObject([{ about }]);
    const next = await ProgramRunner.open(join(directory, 'running'), SILENT);
    expect([runner.ended.get('web-1'), next.ended.get('web-1')]).toMatchObject([about, about]);
    await (await trialOf('good', { shared: next })).perform();
    expect([next.ended.get('web-1'), recordsIn(directory)]).toEqual([undefined, []]);
  });
});

/** Returns a function that starts trials on one runner, for tests that leave it as it is. */
function shareRunner(): (mode: string) => Promise<Trial> {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  let shared: ProgramRunner;
  beforeAll(async () => {
    shared = await ProgramRunner.open(join(directory, 'running'), SILENT);
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  return (mode) => trialOf(mode, { shared });
}

describe('the answer of a program', () => {
  const trial = shareRunner();

  it.each([
    ['garbage', 'the answer is not one JSON object: "Traceback: something"'],
    ['nothing', 'there is no answer: the output is empty'],
    ['twice', 'the answer is not one JSON object'],
    ['killed', 'the program was ended by SIGKILL, without an answer'],
  ])('is lost: %s', async (mode, words) => {
    const { perform, running } = await trial(mode);
    await expect(perform()).rejects.toThrow(words);
    expect(running()).toEqual([]);
  });

  it.each([
    ['garbage-and-fail', 'retryable', 'the program ended with exit code 7: cannot reach the lab'],
    ['nothing-and-fail', 'retryable', 'the program ended with exit code 4'],
    ['answer-and-fail', 'failed', 'quota  [31mexceeded'],
  ])('has the outcome of the exit code: %s', async (mode, outcome, message) => {
    const { perform, running } = await trial(mode);
    expect(await perform()).toEqual({ outcome, message, outputs: {}, observed: {} });
    expect(running()).toEqual([]);
  });

  it('has the error of a Python program first, and then the traceback', async () => {
    const { perform } = await trial('traceback');
    const [first, ...others] = (await perform()).message.split('\n');
    const error = 'json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)';
    expect(first).toBe(`the program ended with exit code 1: ${error}`);
    expect(others).toContain('Traceback (most recent call last):');
    expect(others.at(-1)).toBe(error);
  });

  it('has the end of the standard error', async () => {
    const { perform, lines } = await trial('flood-stderr');
    const { message } = await perform();
    expect(message).toMatch(/^the program ended with exit code 3: ….*\nthe last line$/s);
    expect(message.length).toBeLessThan(1100);
    const [line] = lines.filter(({ msg }) => msg === 'program wrote');
    expect(String(line?.stderr).length).toBeLessThanOrEqual(8 * 1024);
  });
});

describe('the deadline of a program', () => {
  const trial = shareRunner();

  it.each(['hang-after-answer', 'deaf', 'forks'])('ends a program with the misbehaviour %s', async (mode) => {
    const { provider, running, directory } = await trial(mode);
    const deadline = new AbortController();
    const lost = provider.perform(callOf(), deadline.signal);
    lost.catch(() => undefined);
    await expect.poll(() => pidsIn(directory).length, { timeout: 10_000 }).toBeGreaterThan(0);
    await wait(300);
    deadline.abort(new Error('its deadline has passed'));
    await expect(lost).rejects.toThrow('its deadline has passed');
    expect(running()).toEqual([]);
  });
});

describe('no process is left of a program that', () => {
  const trial = shareRunner();

  it('writes too much', async () => {
    expect(await (await trial('largest')).perform()).toMatchObject({ outcome: 'done' });
    const { perform, running } = await trial('flood');
    await expect(perform()).rejects.toThrow('the program wrote more than 1048576 bytes');
    expect(running()).toEqual([]);
  });

  it('answers and leaves a process in its group', async () => {
    const { perform, running, directory } = await trial('child-outlives');
    expect(await perform()).toMatchObject({ outcome: 'done', message: 'good' });
    expect([pidsIn(directory).length, running()]).toEqual([2, []]);
  });
});

describe('a process in its own session', () => {
  const trial = shareRunner();

  it.each(['hidden', 'holds-output', 'daemon'])('survives a successful call: %s', async (mode) => {
    const { perform, running, directory } = await trial(mode);
    expect(await perform()).toMatchObject({ outcome: 'done', message: 'good' });
    expect([pidsIn(directory).length, running().length]).toEqual([2, 1]);
  });
});
