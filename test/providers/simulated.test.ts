import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
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
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const AT_ONCE = { createMs: 0, updateMs: 0, deleteMs: 0, failRate: 0, seed: 1 };

describeProvider('simulated, at once', async () => placeOf(AT_ONCE));
describeProvider('simulated, with delays', async () => placeOf({ ...AT_ONCE, createMs: 3, updateMs: 2, deleteMs: 1 }));

function placeOf(options: Omit<SimulatedOptions, 'file'>) {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  const file = join(directory, 'state', 'simulated-lab.json');
  return {
    open: async () => createSimulatedProvider({ ...options, file }, systemClock),
    remove: () => rm(directory, { recursive: true }),
  };
}

function open(options: Partial<SimulatedOptions> = {}, clock: Clock = new ManualClock()): Provider {
  const file = join(temporaryDirectory(), 'simulated.json');
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

describe('time', () => {
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

  it('is cut short by the signal: the call throws its reason and leaves nothing that waits', async () => {
    const clock = new ManualClock();
    const provider = open({ createMs: 1000 }, clock);
    const controller = new AbortController();
    const answer = perform(provider, {}, controller.signal);
    controller.abort(new Error('the deadline has passed'));
    await expect(answer).rejects.toThrow('the deadline has passed');
    expect(clock.pending).toBe(0);
  });

  it('cut short leaves the effect of some actions and not of others, and the same call again ends all as one', async () => {
    const clock = new ManualClock();
    const provider = open({ createMs: 1000 }, clock);
    let effects = 0;
    for (let index = 0; index < 40; index++) {
      const call = { resource: `web-${index}`, action: `c-${index}` };
      const controller = new AbortController();
      const lost = perform(provider, call, controller.signal);
      controller.abort(new Error('lost'));
      await expect(lost).rejects.toThrow('lost');
      if ((await outcomeOf(provider, { ...call, operation: 'check' })) === 'done') effects++;
      const again = perform(provider, call);
      clock.advance(1000);
      expect((await again).outcome).toBe('done');
    }
    expect(effects).toBeGreaterThan(5);
    expect(effects).toBeLessThan(35);
  });
});

describe('failures', () => {
  async function outcomes(options: Partial<SimulatedOptions>): Promise<string[]> {
    const provider = open(options);
    const found: string[] = [];
    for (let index = 0; index < 200; index++) {
      found.push(await outcomeOf(provider, { resource: `web-${index}`, action: `c-${index}` }));
    }
    return found;
  }

  it('come about as often as failRate says, the same for the same seed, others for another', async () => {
    const found = await outcomes({ failRate: 0.3, seed: 7 });
    const failed = found.filter((outcome) => outcome === 'retryable').length;
    expect(failed).toBeGreaterThan(35);
    expect(failed).toBeLessThan(85);
    expect(await outcomes({ failRate: 0.3, seed: 7 })).toEqual(found);
    expect(await outcomes({ failRate: 0.3, seed: 8 })).not.toEqual(found);
  });

  it('differ from try to try of one action, so that each succeeds in the end', async () => {
    const provider = open({ failRate: 0.5 });
    for (let index = 0; index < 50; index++) {
      const call = { resource: `web-${index}`, action: `c-${index}` };
      let tries = 1;
      while ((await outcomeOf(provider, call)) !== 'done') tries++;
      expect(tries).toBeLessThan(20);
    }
  });

  it('have no effect, say which try it was, and never hit a check', async () => {
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

describe('effects', () => {
  it('come once for each action, also when it is repeated after others', async () => {
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

  it('leave what another action made as it is, and show it', async () => {
    const provider = open();
    await perform(provider, { action: 'c1', properties: { owner: 'somebody' } });
    const answer = await perform(provider, { action: 'c2', properties: { owner: 'me' } });
    expect(answer).toMatchObject({ outcome: 'done', observed: { owner: 'somebody' } });
  });

  it('need a server to update', async () => {
    expect(await perform(open(), { operation: 'update' })).toMatchObject({
      outcome: 'failed',
      message: 'there is no server "web-1"',
    });
  });
});

describe('the file', () => {
  async function made(names: readonly string[]): Promise<string> {
    const file = join(temporaryDirectory(), 'simulated.json');
    const provider = createSimulatedProvider({ ...AT_ONCE, file }, systemClock);
    for (const name of names) await perform(provider, { resource: name, action: `c-${name}`, properties: { name } });
    await provider.close();
    return file;
  }

  it('ignores a last line that was never finished, at every byte', async () => {
    const file = await made(['web-1', 'web-2']);
    const whole = readFileSync(file, 'utf8');
    const start = whole.indexOf('\n') + 1;
    for (let length = start; length < whole.length; length++) {
      writeFileSync(file, whole.slice(0, length));
      const provider = createSimulatedProvider({ ...AT_ONCE, file }, systemClock);
      expect(await outcomeOf(provider, { operation: 'check', resource: 'web-1' })).toBe('done');
      expect(await outcomeOf(provider, { operation: 'check', resource: 'web-2' })).toBe('absent');
      await provider.close();
      expect(readFileSync(file, 'utf8')).toBe(whole.slice(0, start));
    }
  });

  it.each([
    ['no JSON', '{"name":"web-3"'],
    ['a list', '[]'],
    ['no name', '{"properties":null,"actions":[]}'],
    ['properties of another shape', '{"name":"web-3","properties":{"size":1},"actions":[]}'],
    ['no actions', '{"name":"web-3","properties":null}'],
  ])('is refused where a line before the last is damaged: %s', async (_case, line) => {
    const file = await made(['web-1']);
    appendFileSync(file, `${line}\n`);
    expect(() => createSimulatedProvider({ ...AT_ONCE, file }, systemClock)).toThrow(
      `${file}:2: is no line of the simulated provider: ${JSON.stringify(line)}. Restore the file, or delete it`,
    );
  });

  it('holds one line a server after a start, whatever happened before, and only its owner may read it', async () => {
    const file = await made(['web-1', 'web-2', 'web-3']);
    const provider = createSimulatedProvider({ ...AT_ONCE, file }, systemClock);
    for (let round = 0; round < 150; round++) {
      await perform(provider, { operation: 'update', action: `u-${round}`, properties: { round: `${round}` } });
    }
    await perform(provider, { operation: 'delete', action: 'd1', resource: 'web-2' });
    await provider.close();
    const reopened = createSimulatedProvider({ ...AT_ONCE, file }, systemClock);
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(2);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await perform(reopened, { operation: 'check' })).toMatchObject({ observed: { round: '149' } });
    await reopened.close();
  });

  it('is written anew while the provider works, and forgets who is gone', () => {
    const file = join(temporaryDirectory(), 'simulated.json');
    const servers = new SimulatedServers(file, { goneMax: 5, compactionBytes: 2_000 });
    servers.change('stays', { action: 'c-stays', properties: { size: 'small' } });
    for (let round = 0; round < 500; round++) {
      servers.change(`web-${round}`, { action: `c-${round}`, properties: { size: 'x'.repeat(50) } });
      servers.change(`web-${round}`, { action: `d-${round}`, properties: null });
      expect(statSync(file).size).toBeLessThan(2_500);
    }
    expect(servers.hasSeen('web-499', 'c-499') && servers.hasSeen('web-495', 'd-495')).toBe(true);
    expect(servers.hasSeen('web-494', 'd-494')).toBe(false);
    expect(servers.find('stays')).toEqual({ size: 'small' });
    servers.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const reopened = new SimulatedServers(file);
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(1);
    expect(reopened.hasSeen('stays', 'c-stays')).toBe(true);
    reopened.close();
  });

  it('loses nothing that changes while it is written anew, a few servers with each change', () => {
    const file = join(temporaryDirectory(), 'simulated.json');
    const servers = new SimulatedServers(file, { compactionBytes: 20_000 });
    const sizes = new Map<string, string>();
    const inodes = new Set<number>();
    for (let round = 0; round < 1_000; round++) {
      const name = `web-${(round * 7) % 130}`;
      const isRemoved = round % 11 === 0;
      if (isRemoved) sizes.delete(name);
      else sizes.set(name, `${round}`);
      servers.change(name, { action: `u-${round}`, properties: isRemoved ? null : { size: `${round}` } });
      inodes.add(statSync(file).ino);
    }
    servers.close();
    expect(inodes.size).toBeGreaterThan(1);
    const reopened = new SimulatedServers(file);
    for (let number = 0; number < 130; number++) {
      expect(reopened.find(`web-${number}`)?.size).toBe(sizes.get(`web-${number}`));
    }
    reopened.close();
  });

  it('is not written anew at a start that finds one line a server; an unfinished line is cut off', () => {
    const file = join(temporaryDirectory(), 'simulated.json');
    const servers = new SimulatedServers(file);
    for (const name of ['web-1', 'web-2']) servers.change(name, { action: `c-${name}`, properties: { size: 'small' } });
    servers.close();
    const before = statSync(file);
    appendFileSync(file, '{"name":"web-3","prop');
    const reopened = new SimulatedServers(file);
    expect(statSync(file)).toMatchObject({ ino: before.ino, size: before.size });
    reopened.change('web-4', { action: 'c-web-4', properties: { size: 'large' } });
    reopened.close();
    const again = new SimulatedServers(file);
    const found = ['web-1', 'web-2', 'web-3', 'web-4'].map((name) => again.find(name)?.size);
    expect(found).toEqual(['small', 'small', undefined, 'large']);
    again.close();
  });

  it('stays as it is where it cannot be written anew, and the change counts', () => {
    const file = join(temporaryDirectory(), 'simulated.json');
    const servers = new SimulatedServers(file, { compactionBytes: 500 });
    mkdirSync(`${file}.new`);
    for (let round = 0; round < 50; round++) {
      servers.change('web', { action: `u-${round}`, properties: { round: `${round}` } });
    }
    servers.close();
    rmdirSync(`${file}.new`);
    const reopened = new SimulatedServers(file);
    expect(reopened.find('web')).toEqual({ round: '49' });
    reopened.close();
  });

  it('is written no more after close', async () => {
    const file = await made(['web-1']);
    const provider = createSimulatedProvider({ ...AT_ONCE, file }, systemClock);
    await provider.close();
    await provider.close();
    await expect(perform(provider, { resource: 'web-2', action: 'c2' })).rejects.toThrow('is closed');
  });
});
