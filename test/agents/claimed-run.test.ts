// One claimed action in a proxy: when its program is ended, and what is kept of it.
import { expect, it } from 'vitest';
import { carryOut } from '../../src/agents/claimed-run.ts';
import { ClaimedWork } from '../../src/agents/claimed-work.ts';
import { ControllerRefusal, type SentRequest } from '../../src/agents/controller-client.ts';
import { readClocks } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { UnendedError } from '../../src/programs/program-runner.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ACTION } from '../support/sample-parts.ts';
import { ScriptedProvider, untilAborted } from '../support/scripted-provider.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Returns a run of the sample action, whose controller answers heartbeats with `beat`. Time may `pass` once the claim was asked for. */
function begin(beat: () => Promise<JsonMap>, pass: (clock: ManualClock) => void = () => undefined) {
  const clock = new ManualClock();
  const work = new ClaimedWork(temporaryDirectory());
  const provider = new ScriptedProvider();
  provider.script = (_call, signal) => untilAborted(signal);
  const sent: string[] = [];
  const send = ({ path }: SentRequest): Promise<JsonMap> => {
    sent.push(path);
    return beat();
  };
  const retry = { attempts: 1, firstSeconds: 1, maxSeconds: 1, failedSeconds: 1 };
  const settings = { name: 'lab', timeoutSeconds: 600, checkSeconds: 300, drift: 'report', concurrency: 1 } as const;
  const entry = { ...settings, retry, provider };
  const claimed = { lease: 'secret', deadline: '2026-11-20T10:28:56.000Z', action: ACTION };
  const stop = new AbortController();
  const options = { client: { send }, work, clock, log: createLog('silent') };
  const asked = readClocks(clock);
  pass(clock);
  const ended = carryOut({ claimed, entry, asked, signal: stop.signal }, options);
  return {
    clock,
    work,
    provider,
    sent,
    stop,
    ended,
    get started() {
      return expect.poll(() => provider.calls.length).toBe(1);
    },
  };
}

it('carryOut ends its program before the shorter deadline, and reports retryable', async () => {
  const { clock, work, started, ended } = begin(async () => ({}));
  await started;
  expect(work.list()).toMatchObject([{ id: ACTION.id, lease: 'secret', answer: null }]);
  clock.advance(594_000);
  const answer = { outcome: 'retryable', message: 'its outcome is unknown: it did not end before its deadline' };
  expect(await ended).toMatchObject({ answer });
  expect(work.list()).toMatchObject([{ answer }]);
});

it.each<[string, (clock: ManualClock) => void]>([
  ['process', (clock) => clock.advance(594_000)],
  ['machine', (clock) => clock.setWall(clock.now() + 594_000)],
])('carryOut starts no program if the %s slept beyond the deadline during the claim', async (_, pass) => {
  const { clock, work, provider, ended } = begin(async () => ({}), pass);
  const answer = { outcome: 'retryable', message: 'it did not begin, because its deadline had passed' };
  expect(await ended).toMatchObject({ answer });
  expect([provider.calls, clock.pending]).toEqual([[], 0]);
  expect(work.list()).toMatchObject([{ answer }]);
});

it('carryOut ends its program and reports nothing when the controller gave the action up', async () => {
  const { clock, work, sent, started, ended } = begin(() => Promise.reject(new ControllerRefusal('given up', 409)));
  await started;
  clock.advance(20_000);
  expect(await ended).toBeUndefined();
  expect(sent).toEqual([`/agent/actions/${ACTION.id}/heartbeat`]);
  expect(work.list()).toEqual([]);
});

it('carryOut reports nothing if its program cannot be ended', async () => {
  const { work, provider, ended } = begin(async () => ({}));
  provider.script = () => Promise.reject(new UnendedError('process 12 runs as another user'));
  expect([await ended, work.list()]).toEqual([undefined, []]);
});

it('carryOut continues without answers to its heartbeats, and ends when the proxy stops', async () => {
  const { clock, stop, started, sent, ended } = begin(() => Promise.reject(new Error('the line is cut')));
  await started;
  for (let count = 0; count < 5; count += 1) {
    clock.advance(20_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sent).toHaveLength(5);
  stop.abort(new Error('the proxy is stopping'));
  expect(await ended).toMatchObject({ answer: { outcome: 'retryable' } });
});

it('carryOut passes the deadline by the clock of its machine', async () => {
  const { clock, provider, started, stop, ended } = begin(async () => ({}));
  await started;
  // The claim names 2026-11-20T10:28:56Z by the clock of the controller. 6 s are kept for ending the program.
  const seconds = (Date.parse(provider.calls[0]?.deadline ?? '') - clock.now()) / 1000;
  expect(seconds).toBe(594);
  stop.abort();
  await ended;
});
