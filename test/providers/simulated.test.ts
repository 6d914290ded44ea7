import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { Call, Provider } from '../../src/providers/provider.ts';
import { createSimulatedProvider, type SimulatedOptions } from '../../src/providers/simulated.ts';
import { SimulatedServers } from '../../src/providers/simulated-servers.ts';
import { describeProvider } from '../contract/provider.ts';
import { callOf } from '../support/calls.ts';
import { ROOT } from '../support/command-line.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { simulatedRows } from '../support/simulated-rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SERVERS = join(ROOT, 'src/providers/simulated-servers.ts');
const AT_ONCE = { createMs: 0, updateMs: 0, deleteMs: 0, failRate: 0, seed: 1 };

describeProvider('simulated, at once', async () => placeOf(AT_ONCE));
describeProvider('simulated, with delays', async () => placeOf({ ...AT_ONCE, createMs: 3, updateMs: 2, deleteMs: 1 }));

function placeOf(options: Omit<SimulatedOptions, 'file'>) {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  const file = join(directory, 'state', 'simulated-lab.sqlite');
  return {
    open: async () => createSimulatedProvider({ ...options, file }, systemClock),
    remove: () => rm(directory, { recursive: true }),
  };
}

function open(options: Partial<SimulatedOptions> = {}, clock: Clock = new ManualClock()): Provider {
  const file = join(temporaryDirectory(), 'simulated.sqlite');
  const provider = createSimulatedProvider({ ...AT_ONCE, file, ...options }, clock);
  onTestFinished(() => provider.close());
  return provider;
}

function perform(provider: Provider, fields: Partial<Call>, signal = new AbortController().signal) {
  return provider.perform(callOf(fields), signal);
}

async function outcomeOf(provider: Provider, fields: Partial<Call>): Promise<string> {
  return (await perform(provider, fields)).outcome;
}

describe('the duration of a simulated action', () => {
  it.each([
    ['create', 400],
    ['update', 300],
    ['delete', 200],
    ['check', 100],
  ] as const)('%s takes as long as its option says', async (operation, ms) => {
    const clock = new ManualClock();
    const provider = open({ createMs: 400, updateMs: 300, deleteMs: 200, checkMs: 100 }, clock);
    let isAnswered = false;
    const answer = perform(provider, { operation }).then(() => {
      isAnswered = true;
    });
    clock.advance(ms - 1);
    await Promise.resolve();
    expect(isAnswered).toBe(false);
    clock.advance(1);
    await answer;
    expect(clock.pending).toBe(0);
  });

  it('ends with the signal, without a timer left', async () => {
    const clock = new ManualClock();
    const provider = open({ createMs: 1000 }, clock);
    const controller = new AbortController();
    const answer = perform(provider, {}, controller.signal);
    controller.abort(new Error('the deadline has passed'));
    await expect(answer).rejects.toThrow('the deadline has passed');
    expect(clock.pending).toBe(0);
  });
});

describe('simulated failures', () => {
  async function outcomes(options: Partial<SimulatedOptions>): Promise<string[]> {
    const provider = open(options);
    const found: string[] = [];
    for (let index = 0; index < 200; index++) {
      found.push(await outcomeOf(provider, { resource: `web-${index}`, action: `c-${index}` }));
    }
    return found;
  }

  it('are as frequent as failRate, and depend on the seed', async () => {
    const found = await outcomes({ failRate: 0.3, seed: 7 });
    const failed = found.filter((outcome) => outcome === 'retryable').length;
    expect(failed).toBeGreaterThan(35);
    expect(failed).toBeLessThan(85);
    expect(await outcomes({ failRate: 0.3, seed: 7 })).toEqual(found);
    expect(await outcomes({ failRate: 0.3, seed: 8 })).not.toEqual(found);
  });

  it('change nothing, name the attempt, and never affect a check', async () => {
    const provider = open({ failRate: 1 });
    for (const attempt of [1, 2]) {
      expect(await perform(provider, {})).toMatchObject({
        outcome: 'retryable',
        message: `simulated failure: try ${attempt} of action c1`,
      });
    }
    expect(await outcomeOf(provider, { operation: 'check' })).toBe('absent');
  });
});

describe('effects of simulated actions', () => {
  it('happen once for each action id, also after other actions', async () => {
    const provider = open();
    await perform(provider, { action: 'c1', properties: { size: 'small' } });
    await perform(provider, { operation: 'update', action: 'u1', properties: { size: 'medium' } });
    await perform(provider, { operation: 'update', action: 'u2', properties: { size: 'large' } });
    await perform(provider, { operation: 'update', action: 'u1', properties: { size: 'medium' } });
    expect(await perform(provider, { operation: 'check' })).toMatchObject({ observed: { size: 'large' } });
    await perform(provider, { operation: 'delete', action: 'd1' });
    expect(await perform(provider, { action: 'c1' })).toMatchObject({
      outcome: 'failed',
      message: 'there is no server "web-1"',
    });
    await perform(provider, { action: 'c2' });
    expect(await perform(provider, { operation: 'delete', action: 'd1' })).toMatchObject({
      outcome: 'failed',
      message: '"web-1" was created again since',
    });
    expect(await outcomeOf(provider, { operation: 'check' })).toBe('done');
  });

  it('show an existing server of another action unchanged', async () => {
    const provider = open();
    await perform(provider, { action: 'c1', properties: { owner: 'somebody' } });
    const answer = await perform(provider, { action: 'c2', properties: { owner: 'me' } });
    expect(answer).toMatchObject({ outcome: 'done', observed: { owner: 'somebody' } });
  });
});

describe('the file of simulated servers', () => {
  it('keeps changes of a killed process, for its owner only', () => {
    const file = join(temporaryDirectory(), 'new/simulated.sqlite');
    const script = `const { SimulatedServers } = await import(${JSON.stringify(SERVERS)});
      const servers = new SimulatedServers(${JSON.stringify(file)});
      for (let n = 0; n < 1000; n++) servers.change(\`web-\${n}\`, { action: 'c', properties: { n: \`\${n}\` } });
      process.kill(process.pid, 'SIGKILL');`;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', script])).toMatchObject({ signal: 'SIGKILL' });
    const modes = readdirSync(join(file, '..')).map((name) => statSync(join(file, '..', name)).mode & 0o777);
    expect(new Set(modes)).toEqual(new Set([0o600]));
    const servers = new SimulatedServers(file);
    expect([servers.find('web-0'), servers.find('web-999')]).toEqual([{ n: '0' }, { n: '999' }]);
    servers.close();
  });

  it('keeps the last 20 actions of a server, and of a removed one until the next start', () => {
    const file = join(temporaryDirectory(), 'simulated.sqlite');
    const servers = new SimulatedServers(file);
    for (let round = 0; round < 21; round++) servers.change('web', { action: `u-${round}`, properties: {} });
    servers.change('gone', { action: 'd', properties: null });
    expect(['u-0', 'u-1', 'u-20'].map((action) => servers.hasSeen('web', action))).toEqual([false, true, true]);
    expect([servers.hasSeen('gone', 'd'), servers.find('gone')]).toEqual([true, undefined]);
    servers.close();
    expect(simulatedRows(file).map(({ name }) => name)).toEqual(['web', 'gone']);
    new SimulatedServers(file).close();
    expect(simulatedRows(file).map(({ name }) => name)).toEqual(['web']);
  });

  it('is refused and not changed if it is another kind of file', () => {
    const file = join(temporaryDirectory(), 'simulated.sqlite');
    const text = '{"name":"web-1","properties":null,"actions":[]}\n'.repeat(100);
    writeFileSync(file, text);
    expect(() => createSimulatedProvider({ ...AT_ONCE, file }, systemClock)).toThrow(
      `${file} is not a file of the simulated provider: file is not a database. Restore the file, or delete it`,
    );
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});
