// The provider that runs programs, on programs that misbehave: how each call ends, and that nothing of it is left.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
import { documentProgram, PYTHON } from '../../support/document-program.ts';
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
      return {
        ...provider,
        async close() {
          await provider.close();
          await runner.close();
        },
      };
    },
    remove: () => rm(directory, { recursive: true }),
  };
});

it.skipIf(PYTHON === undefined)(
  'runs the example of docs/providers.md through the life of a server (skipped without Python)',
  async () => {
    const directory = temporaryDirectory();
    const runner = await ProgramRunner.open(join(directory, 'running'), SILENT);
    const environment = { SERVERS: directory };
    const provider = createExecProvider({ command: documentProgram(), directory, environment, runner, log: SILENT });
    const [properties, changed] = [{ name: 'web-1' }, { name: 'web-1', size: 'large' }];
    const told: unknown[] = [];
    for (const fields of [
      { operation: 'check' as const, properties },
      { operation: 'create' as const, properties },
      { operation: 'create' as const, properties },
      { operation: 'update' as const, properties: changed },
      { operation: 'check' as const, properties: changed },
      { operation: 'delete' as const, properties: changed },
      { operation: 'delete' as const, properties: changed },
    ]) {
      const { outcome, observed } = await provider.perform(callOf(fields), AbortSignal.timeout(20_000));
      told.push([fields.operation, outcome, observed]);
    }
    expect(told).toEqual([
      ['check', 'absent', {}],
      ['create', 'done', properties],
      ['create', 'done', properties],
      ['update', 'done', changed],
      ['check', 'done', changed],
      ['delete', 'absent', {}],
      ['delete', 'absent', {}],
    ]);
    await provider.close();
    await runner.close();
  },
);

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
  { graceMs = 300, shared, ...limits }: { graceMs?: number; beatMs?: number; shared?: ProgramRunner } = {},
): Promise<Trial> {
  const directory = temporaryDirectory();
  const lines: JsonMap[] = [];
  const log = createLog('debug', { write: (line) => lines.push(JSON.parse(line)) });
  const runner = shared ?? (await ProgramRunner.open(join(directory, 'running'), log, limits));
  const command = [join(PROGRAMS, 'misbehave.sh'), mode, directory] as const;
  const provider = createExecProvider({ command, directory, environment: { LAB: 'x' }, runner, log, graceMs });
  const running = (): readonly number[] => pidsIn(directory).filter(isRunning);
  onTestFinished(async () => {
    for (const pid of running()) process.kill(pid, 'SIGKILL');
    await provider.close();
    if (shared === undefined) await runner.close();
  });
  const perform = (fields: Partial<Call> = {}, ms = 20_000): Promise<Answer> =>
    provider.perform(callOf(fields), AbortSignal.timeout(ms));
  return { directory, provider, runner, lines, running, perform };
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
  const lines = readFileSync(join(directory, 'running', 'calls'), 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line));
}

describe('a program', () => {
  it('gets the call on its standard input, and its answer is the one on its standard output', async () => {
    const { perform, directory } = await trialOf('good');
    const answer = await perform({ operation: 'update', properties: { name: 'web-1', note: '$(id) "ü"\n' } });
    expect(answer).toEqual({ outcome: 'done', message: 'good', outputs: {}, observed: {} });
    expect(JSON.parse(readFileSync(join(directory, 'input'), 'utf8'))).toEqual({
      version: 1,
      ...callOf({ operation: 'update', properties: { name: 'web-1', note: '$(id) "ü"\n' } }),
    });
  });

  it('has the environment of its entry, a mark, and nothing else', async () => {
    const { perform, directory } = await trialOf('environment');
    const { message } = await perform();
    const lines = message.split('\n').filter((line) => !/^_=/.test(line));
    expect(lines[0]).toBe('the program ended with exit code 1: LAB=x');
    expect(lines.filter((line) => line.startsWith('PWD='))).toHaveLength(1);
    expect(lines.filter((line) => !/^(PWD|OLDPWD|SHLVL)=/.test(line)).slice(1)).toEqual([
      expect.stringMatching(/^TREELINE_CALL=[0-9a-f]{16}\.[0-9a-f]{8}\.1$/),
      directory,
    ]);
  });

  it('may leave its input unread', async () => {
    const { perform } = await trialOf('ignores-input');
    const properties = { name: 'web-1', note: 'x'.repeat(60_000) };
    expect(await perform({ properties })).toMatchObject({ outcome: 'done' });
  });

  it('is recorded while it runs, and not any more once it has ended', async () => {
    const { perform, directory, provider, runner } = await trialOf('hang');
    const lost = perform().catch((error: unknown) => error);
    await expect.poll(() => pidsIn(directory).length, { timeout: 10_000 }).toBe(1);
    const [pid] = pidsIn(directory);
    expect(recordsIn(directory)).toMatchObject([
      { server: 'web-1', operation: 'create', group: pid, process: { pid } },
    ]);
    await provider.close();
    expect(await lost).toMatchObject({ message: 'the provider is closed' });
    expect(recordsIn(directory)).toEqual([]);
    await runner.close();
    expect(readdirSync(join(directory, 'running'))).toEqual(['id']);
  });

  it('gets no input where its process cannot be recorded', async () => {
    const { perform, directory, running } = await trialOf('good');
    const unrecorded = { outcome: 'retryable', message: expect.stringContaining('could not be recorded') };
    rmSync(join(directory, 'running'), { recursive: true });
    expect(await perform()).toMatchObject(unrecorded);
    mkdirSync(join(directory, 'running'));
    expect(await perform()).toMatchObject({ outcome: 'done' });
    rmSync(join(directory, 'input'));
    rmSync(join(directory, 'running'), { recursive: true });
    expect(await perform()).toMatchObject(unrecorded);
    // The program may have begun to wait for its input. It was ended while it waited.
    const input = join(directory, 'input');
    expect([existsSync(input) ? readFileSync(input, 'utf8') : '', pidsIn(directory).length, running()]).toEqual([
      '',
      1,
      [],
    ]);
  });
});

/** Returns a function that starts trials on one runner, for tests that leave it as it is. */
function shareRunner(): (mode: string) => Promise<Trial> {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  let shared: ProgramRunner;
  beforeAll(async () => {
    shared = await ProgramRunner.open(join(directory, 'running'), SILENT);
  });
  afterAll(async () => {
    await shared.close();
    rmSync(directory, { recursive: true });
  });
  return (mode) => trialOf(mode, { shared });
}

describe('an answer', () => {
  const trial = shareRunner();

  it.each([
    ['garbage', 'the answer is not one JSON object: "Traceback: something"'],
    ['nothing', 'there is no answer: the output is empty'],
    ['twice', 'the answer is not one JSON object'],
    ['killed', 'the program was ended by SIGKILL, without an answer'],
    ['wrong-outcome', 'the answer has the outcome "ok"; it has to be one of done, absent'],
    ['wrong-field', 'the answer has unknown fields: "output"; known are outcome'],
    ['wrong-observed', 'the key "port" of "observed" has the value 80; it has to be a text or a list of texts'],
    ['wrong-outputs', 'the key "address" of "outputs" has the value'],
    ['large-outputs', '"outputs" takes 80015 bytes as JSON, and 65536 are kept of a server: report where the rest'],
    ['reserved', 'the key "__proto__" of "outputs" is a reserved word'],
  ])('is lost: %s', async (mode, words) => {
    const { perform, running } = await trial(mode);
    await expect(perform()).rejects.toThrow(words);
    expect(running()).toEqual([]);
  });

  it.each([
    ['garbage-and-fail', 'retryable', 'the program ended with exit code 7: cannot reach the lab'],
    ['nothing-and-fail', 'retryable', 'the program ended with exit code 4'],
    ['answer-and-fail', 'failed', 'quota  [31mexceeded'],
  ])('of a program that ended badly: %s', async (mode, outcome, message) => {
    const { perform, running } = await trial(mode);
    expect(await perform()).toEqual({ outcome, message, outputs: {}, observed: {} });
    expect(running()).toEqual([]);
  });

  it.each([
    [
      'ends in CRLF',
      '#!/usr/bin/env sh\r\necho {}\r\n',
      'its first line ends in CRLF, so that the system looks for "sh\\r": save it with LF',
    ],
    ['is missing', 'import json\n', 'its first line has to name the program that runs it, such as "#!/bin/sh"'],
    [
      'is behind a byte order mark',
      '\ufeff#!/bin/python3\nimport json\n',
      'its first line has to name the program that runs it, such as "#!/bin/sh"',
    ],
  ])('names the first line of a program where that %s', async (_, text, words) => {
    const { directory, runner } = await trial('polite');
    writeFileSync(join(directory, 'program'), text, { mode: 0o755 });
    const command = [join(directory, 'program')] as const;
    const provider = createExecProvider({ command, directory, environment: {}, runner, log: SILENT });
    const { outcome, message } = await provider.perform(callOf({}), AbortSignal.timeout(20_000));
    expect([outcome, message]).toEqual(['retryable', expect.stringMatching(/^the program ended with exit code 127: /)]);
    expect(message).toContain(words);
    await provider.close();
  });

  it('shows the error of a Python program first, and the traceback below it', async () => {
    const { perform } = await trial('traceback');
    const [first, ...others] = (await perform()).message.split('\n');
    const error = 'json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)';
    expect(first).toBe(`the program ended with exit code 1: ${error}`);
    expect(others).toContain('Traceback (most recent call last):');
    expect(others.at(-1)).toBe(error);
  });

  it('shows the end of what a program wrote to its standard error', async () => {
    const { perform, lines } = await trial('flood-stderr');
    const { message } = await perform();
    expect(message).toMatch(/^the program ended with exit code 3: ….*\nthe last line$/s);
    expect(message.length).toBeLessThan(1100);
    const [line] = lines.filter(({ msg }) => msg === 'program wrote');
    expect(String(line?.stderr).length).toBeLessThanOrEqual(8 * 1024);
  });
});

describe('the deadline of a program that', () => {
  const trial = shareRunner();

  it.each(['hang', 'hang-after-answer', 'deaf', 'polite', 'other-group', 'forks'])(
    'misbehaves so: %s',
    async (mode) => {
      const { provider, running, directory } = await trial(mode);
      const deadline = new AbortController();
      const lost = provider.perform(callOf(), deadline.signal);
      lost.catch(() => undefined);
      await expect.poll(() => pidsIn(directory).length, { timeout: 10_000 }).toBeGreaterThan(0);
      await wait(300);
      const begun = performance.now();
      deadline.abort(new Error('its deadline has passed'));
      await expect(lost).rejects.toThrow('its deadline has passed');
      expect(performance.now() - begun).toBeLessThan(10_000);
      expect(running()).toEqual([]);
    },
  );
});

it('a program is ended at its deadline also where whoever asked for it is stopped, and gives no signal', async () => {
  const { perform, runner } = await trialOf('good');
  await perform();
  const { provider, running } = await trialOf('other-group', { shared: runner });
  const deadline = new Date(Date.now() + 3_000).toISOString();
  const never = new AbortController();
  await expect(provider.perform(callOf({ deadline }), never.signal)).rejects.toThrow('its deadline has passed');
  expect(running()).toEqual([]);
});

describe('nothing is left of a program that', () => {
  const trial = shareRunner();

  it('writes too much', async () => {
    const { perform, running } = await trial('flood');
    await expect(perform()).rejects.toThrow('the program wrote more than 1048576 bytes');
    expect(running()).toEqual([]);
  });

  it.each(['child-outlives', 'holds-output'])('answers and leaves a process: %s', async (mode) => {
    const { perform, running, directory } = await trial(mode);
    const begun = performance.now();
    expect(await perform()).toMatchObject({ outcome: 'done', message: 'good' });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect([pidsIn(directory).length, running()]).toEqual([2, []]);
  });

  it('hides a process in a session of its own: it ends within seconds', async () => {
    const { perform, running, directory } = await trial('hidden');
    expect(await perform()).toMatchObject({ outcome: 'done' });
    expect(pidsIn(directory)).toHaveLength(2);
    await expect.poll(running, { timeout: 10_000 }).toEqual([]);
  });

  it('leaves a daemon without the mark: it stays', async () => {
    const { perform, running, runner } = await trialOf('daemon');
    expect(await perform()).toMatchObject({ outcome: 'done' });
    await runner.close();
    expect(running()).toHaveLength(1);
  });
});

describe('the process that runs programs', () => {
  /** Kills it, or sends it another signal. */
  function signalRunner(directory: string, signal: NodeJS.Signals): void {
    process.kill(JSON.parse(readFileSync(join(directory, 'running', 'runner'), 'utf8')).group, signal);
  }

  it.each(['deaf', 'other-group', 'forks'])('is killed: the call is lost once nothing of it runs, %s', async (mode) => {
    const { perform, directory, running, lines } = await trialOf(mode);
    const lost = perform();
    lost.catch(() => undefined);
    await expect.poll(() => running().length, { timeout: 10_000 }).toBeGreaterThan(mode === 'deaf' ? 0 : 1);
    signalRunner(directory, 'SIGKILL');
    await expect(lost).rejects.toThrow('the process that runs programs has ended (SIGKILL)');
    expect(running()).toEqual([]);
    expect(readdirSync(join(directory, 'running'))).toEqual(['id']);
    expect(lines.filter(({ level }) => level === 50)).toHaveLength(1);
  });

  it('is killed: the next call has another one', async () => {
    const { perform, directory } = await trialOf('good');
    expect(await perform()).toMatchObject({ outcome: 'done' });
    signalRunner(directory, 'SIGKILL');
    const results = await Promise.allSettled(Array.from({ length: 3 }, () => perform()));
    for (const result of results) expect(result).not.toMatchObject({ value: { outcome: 'failed' } });
    expect(await perform()).toMatchObject({ outcome: 'done' });
  });

  describe('is stopped', () => {
    const BEAT_MS = 250;
    const SILENCE_MS = 12 * BEAT_MS;

    it('and is ended when it has not answered for long: its calls are lost once nothing of them runs', async () => {
      const { perform, directory, running, lines } = await trialOf('deaf', { beatMs: BEAT_MS });
      const lost = perform();
      lost.catch(() => undefined);
      await expect.poll(() => running().length, { timeout: 10_000 }).toBeGreaterThan(0);
      signalRunner(directory, 'SIGSTOP');
      await expect(lost).rejects.toThrow('the process that runs programs has ended (SIGKILL)');
      expect([running(), readdirSync(join(directory, 'running'))]).toEqual([[], ['id']]);
      expect(lines.filter(({ level }) => level === 50).map(({ msg }) => msg)).toEqual([
        'the process that runs programs does not answer; ending it',
        'the process that runs programs has ended; ending what it has left',
      ]);
    });

    it('and a call whose deadline passes meanwhile is lost for that reason; the next call has another process', async () => {
      const { perform, directory, running } = await trialOf('hang', { beatMs: BEAT_MS });
      const lost = perform({}, 2000);
      lost.catch(() => undefined);
      await expect.poll(() => running().length, { timeout: 10_000 }).toBe(1);
      signalRunner(directory, 'SIGSTOP');
      await expect(lost).rejects.toThrow('The operation was aborted due to timeout');
      expect(running()).toEqual([]);
      await expect(perform({}, 500)).rejects.toThrow('The operation was aborted due to timeout');
    });

    it('until the deadline of a call that it has not begun: it does not begin it on waking, and says so', async () => {
      const { perform, provider, directory } = await trialOf('good');
      await perform();
      signalRunner(directory, 'SIGSTOP');
      const ends = Date.now() + 500;
      const never = new AbortController();
      const answer = provider.perform(callOf({ deadline: new Date(ends).toISOString() }), never.signal);
      await wait(ends + 1 - Date.now());
      signalRunner(directory, 'SIGCONT');
      const message = 'the program was not started: its deadline had passed';
      expect(await answer).toMatchObject({ outcome: 'retryable', message });
      expect(pidsIn(directory)).toHaveLength(1);
    });

    it('for a short time, or its controller is: no call is lost', async () => {
      const { perform, directory, lines } = await trialOf('good', { beatMs: BEAT_MS });
      await perform();
      signalRunner(directory, 'SIGSTOP');
      const answer = perform();
      await wait(SILENCE_MS / 3);
      signalRunner(directory, 'SIGCONT');
      expect(await answer).toMatchObject({ outcome: 'done' });
      const next = perform();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.2 * SILENCE_MS);
      expect(await next).toMatchObject({ outcome: 'done' });
      expect(lines.filter(({ level }) => level === 50)).toEqual([]);
    });
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('outlives %s', async (signal) => {
    const { perform, directory, lines } = await trialOf('good');
    await perform();
    signalRunner(directory, signal);
    expect(await perform()).toMatchObject({ outcome: 'done' });
    expect(lines.filter(({ level }) => level === 50)).toEqual([]);
  });
});

describe('other calls', () => {
  it('are not slowed by programs that hang', async () => {
    const [hanging, good] = [await trialOf('deaf'), await trialOf('good')];
    const lost = Promise.allSettled(Array.from({ length: 10 }, () => hanging.perform({}, 1500)));
    await wait(200);
    const begun = performance.now();
    for (let index = 0; index < 5; index += 1) await good.perform();
    expect(performance.now() - begun).toBeLessThan(5000);
    expect((await lost).map(({ status }) => status)).toEqual(Array(10).fill('rejected'));
    expect(hanging.running()).toEqual([]);
  });
});
