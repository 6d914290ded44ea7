// The loop of a proxy against a controller of the test: which program gets a claimed action.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ClaimedWork } from '../../src/agents/claimed-work.ts';
import type { SentRequest } from '../../src/agents/controller-client.ts';
import { ProxyAgent, type ProxyAgentOptions } from '../../src/agents/proxy-agent.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { emptyMap, type JsonMap } from '../../src/model/json.ts';
import type { ProviderSettings } from '../../src/model/settings.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import { ACTION } from '../support/sample-parts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function entryOf(size: string): ProviderSettings {
  const retry = { attempts: 1, firstSeconds: 1, maxSeconds: 1, failedSeconds: 1 };
  const program = { implementation: 'exec', command: ['none'], directory: '/', environment: {} } as const;
  const limits = { timeoutSeconds: 60, checkSeconds: 60, drift: 'report', concurrency: 5, retry } as const;
  return { name: size, match: { kind: null, properties: { size } }, ...program, ...limits };
}

/** Offers a small server until it is claimed, answers its claim with `claimed`, and returns what comes of it. */
async function agentWith(claimed: object, parts: Partial<Pick<ProxyAgentOptions, 'work'>> = {}) {
  const called: string[] = [];
  const reported = Promise.withResolvers<JsonMap>();
  let isClaimed = false;
  const offer = async (signal: AbortSignal | undefined): Promise<JsonMap> => {
    if (isClaimed) await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    return { actions: [ACTION as unknown as JsonMap] };
  };
  const send = async ({ path, body = {}, signal }: SentRequest): Promise<JsonMap> => {
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
    describe: String,
    ...parts,
  });
  await agent.start();
  onTestFinished(() => agent.stop(0));
  return { called, reported: reported.promise };
}

async function carriedOut(claimed: object): Promise<{ readonly called: readonly string[]; readonly report: JsonMap }> {
  const { called, reported } = await agentWith(claimed);
  return { report: await reported, called };
}

it('a proxy runs the program of the entry that matches the offered action', async () => {
  const { called, report } = await carriedOut(ACTION);
  expect({ called, outcome: report.outcome }).toEqual({ called: ['small'], outcome: 'done' });
});

it('a proxy runs no program if a commit changed the action before the claim and another entry matches', async () => {
  const { called, report } = await carriedOut({ ...ACTION, properties: { size: 'large' } });
  expect(called).toEqual([]);
  expect(report).toMatchObject({ outcome: 'retryable', message: expect.stringContaining('small') });
});

it('a proxy reports an action as retryable without a run if its claim cannot be recorded', async () => {
  const directory = join(temporaryDirectory(), 'claims');
  const work = new ClaimedWork(directory);
  rmSync(directory, { recursive: true });
  const { called, reported } = await agentWith(ACTION, { work: Object.assign(work, { list: () => [] }) });
  const message = expect.stringMatching(/^the proxy could not record it: .* cannot be written: it is not there$/);
  expect(await reported).toMatchObject({ outcome: 'retryable', message });
  expect(called).toEqual([]);
});
