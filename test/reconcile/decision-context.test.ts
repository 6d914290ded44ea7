import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { ProviderSettings } from '../../src/model/settings.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { type ContextSources, decisionContextOf } from '../../src/reconcile/passes/decision-context.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { answerOf, at, NOW, RETRY, running, SMALL } from './build.ts';

const ENTRY: Omit<Extract<ProviderSettings, { readonly implementation: 'simulated' }>, 'name' | 'match'> = {
  implementation: 'simulated',
  options: { file: '', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 },
  timeoutSeconds: 600,
  checkSeconds: 300,
  drift: 'report',
  concurrency: 10,
  retry: RETRY,
};

/** Large servers are `big`'s, whose calls may outlive the controller; small ones are `lab`'s. Of those of `exec`, some have ended. */
const ENTRIES: readonly ProviderSettings[] = [
  { ...ENTRY, name: 'big', match: { kind: null, properties: { size: 'large' } } },
  { ...ENTRY, name: 'lab', match: { kind: null, properties: { size: 'small' } }, timeoutSeconds: 60 },
  { ...ENTRY, name: 'exec', match: { kind: 'none', properties: {} } },
];

function providerOf({ name }: ProviderSettings): Provider {
  return {
    lostActionEnds: name === 'big' ? 'after its deadline' : 'with the controller',
    ...(name === 'exec' && { hasEnded: ({ action }) => action === 'web-1.ended' }),
    perform: async () => answerOf('done'),
    close: async () => undefined,
  };
}

async function contextIn(
  rows: Readonly<Record<string, ServerRow>>,
  inFlight: readonly string[] = [],
  known: Partial<ContextSources> = {},
) {
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  const changes = Object.entries(rows).map(([name, value]) => ({
    kind: 'server' as const,
    name,
    value,
    expected: undefined,
  }));
  await ledger.commit(changes);
  const registry = createProviderRegistry(ENTRIES, providerOf);
  const isInFlight = (server: string): boolean => inFlight.includes(server);
  for (const server of inFlight) ledger.index.setInFlight(server, true);
  return decisionContextOf('web-1', {
    ledger,
    registry,
    now: NOW,
    waitMsMax: 3_600_000,
    removalsMax: () => 5,
    capacity: { isInFlight, mayClaim: (_server, name) => name === 'lab' },
    checks: { lastOf: () => undefined, isDue: () => false },
    executor: { lostMsLeft: () => 30_000, lostBecause: () => undefined },
    claims: { claimantOf: () => undefined },
    absences: { isFoundSince: () => true },
    ...known,
  });
}

describe('a lost action', () => {
  const action = running('create', SMALL);

  it('keeps the rule of its provider if the entry of that name has another kind now', async () => {
    const context = await contextIn({});
    const wasHttp = { ...action, deadline: at(NOW), ends: 'after its deadline' } as const;
    expect(context.lostActionEnds(wasHttp)).toBe(NOW + 30_000);
    expect(context.lostActionEnds({ ...wasHttp, provider: 'big', ends: 'with the controller' })).toBe(0);
  });

  it.each([
    ['is over if its provider says so', 'exec', 'ended', 0],
    ['may run until its deadline and the grace period if its provider does not know', 'exec', 'another', NOW + 30_000],
    ['may run until then if its provider knows no such call', 'big', 'ended', NOW + 30_000],
  ])('that ends with its call %s', async (_, provider, id, ends) => {
    const lost = { ...action, id, provider, deadline: at(NOW), ends: 'with its call' } as const;
    expect((await contextIn({})).lostActionEnds(lost)).toBe(ends);
  });
});
