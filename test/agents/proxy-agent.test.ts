// The loop of a proxy against a controller of the test: which program gets a claimed action.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ClaimedWork, type KeptClaims, StorageError } from '../../src/agents/claimed-work.ts';
import type { SentRequest } from '../../src/agents/controller-client.ts';
import { ProxyAgent, type ProxyAgentOptions } from '../../src/agents/proxy-agent.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { emptyMap, type JsonMap } from '../../src/model/json.ts';
import type { ProviderSettings } from '../../src/model/settings.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import { ACTION } from '../support/sample-agent.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function entryOf(size: string): ProviderSettings {
  const retry = { attempts: 1, firstSeconds: 1, maxSeconds: 1, failedSeconds: 1 };
  const program = { implementation: 'exec', command: ['none'], directory: '/', environment: {} } as const;
  const limits = { timeoutSeconds: 60, checkSeconds: 60, drift: 'report', concurrency: 5, retry } as const;
  return { name: size, match: { kind: null, properties: { size } }, ...program, ...limits };
}

/** Offers a small server until it is claimed, answers its claim with `claimed`, and returns what comes of it. */
async function agentWith(claimed: object, parts: Partial<Pick<ProxyAgentOptions, 'work' | 'log'>> = {}) {
  const called: string[] = [];
  const paths: string[] = [];
  const reported = Promise.withResolvers<JsonMap>();
  let isClaimed = false;
  const offer = async (signal: AbortSignal | undefined): Promise<JsonMap> => {
    if (isClaimed) await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    return { actions: [ACTION as unknown as JsonMap] };
  };
  const send = async ({ path, body = {}, signal }: SentRequest): Promise<JsonMap> => {
    paths.push(path);
    if (path.startsWith('/agent/actions?')) return await offer(signal);
    isClaimed = true;
    if (path.endsWith('/report')) reported.resolve(body);
    return { lease: 'secret', deadline: '2026-11-20T10:28:56.000Z', action: claimed as JsonMap };
  };
  const registry = createProviderRegistry([entryOf('small'), entryOf('large')], ({ name }) => ({
    lostActionEnds: 'with its call',
    close: () => Promise.resolve(),
    perform: () => {
      called.push(name);
      return Promise.resolve({ outcome: 'done', message: '', outputs: emptyMap(), observed: emptyMap() });
    },
  }));
  const work = new ClaimedWork(join(temporaryDirectory(), 'claims'));
  const log = createLog('silent');
  const agent = new ProxyAgent({
    client: { send },
    work,
    registry,
    concurrency: 5,
    hasEnded: () => true,
    clock: systemClock,
    log,
    random: () => 0,
    describe: String,
    ...parts,
  });
  await agent.start();
  onTestFinished(() => agent.stop(0));
  return { called, paths, reported: reported.promise };
}

async function carriedOut(claimed: object): Promise<{ readonly called: readonly string[]; readonly report: JsonMap }> {
  const { called, reported } = await agentWith(claimed);
  return { report: await reported, called };
}

it('runs the program of the entry that matches the offered action', async () => {
  const { called, report } = await carriedOut(ACTION);
  expect({ called, outcome: report.outcome }).toEqual({ called: ['small'], outcome: 'done' });
});

it('runs no program where a commit has changed the action before the claim, and another entry matches it', async () => {
  const { called, report } = await carriedOut({ ...ACTION, properties: { size: 'large' } });
  expect(called).toEqual([]);
  expect(report).toMatchObject({ outcome: 'retryable', message: expect.stringContaining('small') });
});

it('claims nothing while its disk is full, says so, and goes on once there is room', async () => {
  const full = new StorageError('ENOSPC: no space left on device, write');
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line).msg) });
  const work = new ClaimedWork(join(temporaryDirectory(), 'claims'));
  let isFull = true;
  const probe = (count: number): Promise<void> => (isFull ? Promise.reject(full) : work.probe(count));
  const kept: KeptClaims = {
    ...{ list: () => work.list(), probe, forget: (claim) => work.forget(claim) },
    ...{ begin: (claim) => work.begin(claim), end: (claim, answer) => work.end(claim, answer) },
  };
  const { called, paths, reported } = await agentWith(ACTION, { work: kept, log });
  await expect.poll(() => paths.length, { timeout: 10_000 }).toBeGreaterThan(2);
  expect(paths.filter((path) => !path.startsWith('/agent/actions?'))).toEqual([]);
  expect(lines.filter((line) => line.startsWith('claims cannot be recorded'))).toHaveLength(1);
  isFull = false;
  expect(await reported).toMatchObject({ outcome: 'done' });
  expect(called).toEqual(['small']);
  await expect.poll(() => lines).toContain('claims can be recorded again');
});

it('finds out that its disk takes no claim, or not as many as it may take at once', async () => {
  const directory = join(temporaryDirectory(), 'claims');
  const work = new ClaimedWork(directory);
  await work.probe(100);
  expect(readdirSync(directory)).toEqual([]);
  // Each claim is a file: there is room for 99 beside this one.
  const inTheWay = join(directory, 'probe-100');
  mkdirSync(inTheWay);
  await work.probe(99);
  await expect(work.probe(100)).rejects.toThrow(StorageError);
  expect(readdirSync(directory)).toEqual(['probe-100']);
  rmSync(directory, { recursive: true });
  await expect(work.probe(1)).rejects.toThrow(/probe cannot be written: ENOENT/);
});
