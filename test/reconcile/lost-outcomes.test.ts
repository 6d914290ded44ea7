// Calls that end without an answer: each such try counts, waits longer than the one before, and at some time is given up.
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/model/state.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const RETRY = { attempts: 4, firstSeconds: 2, maxSeconds: 300, failedSeconds: 3600 };
const CALLS_MAX = 300;
const FILES = shopFiles({ web: 'name: web, size: small' });

async function up(): Promise<Core> {
  const core = await Core.following(FILES, { retry: RETRY });
  expect(core.states()).toEqual({ web: 'done' });
  return core;
}

/** From now on no call of that operation is answered. */
function lose(core: Core, ...operations: readonly Operation[]): void {
  core.provider.script = ({ operation }) => {
    // A storm of calls has to come to an end too, or nobody could count it.
    if (core.provider.calls.length > CALLS_MAX) return new Promise<never>(() => undefined);
    return operations.includes(operation) ? Promise.reject(new Error('connection reset')) : undefined;
  };
}

/** Lets an hour pass, a second at a time; returns how many calls were made. */
async function hour(core: Core): Promise<number> {
  const before = core.provider.calls.length;
  for (let second = 0; second < 3600; second += 1) {
    core.clock.advance(1_000);
    for (let turn = 0; turn < 6; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  await core.settle();
  return core.provider.calls.length - before;
}

/** What makes each operation be called for, and lost. */
const LOSSES: Readonly<Record<string, (core: Core) => void>> = {
  create: (core) => core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web', new: 'name: new' }) }),
  update: (core) => core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web, size: large' }) }),
  delete: (core) => core.source.commit({ [SHOP]: null }),
};

describe.each(Object.keys(LOSSES) as Exclude<Operation, 'check'>[])('a lost %s', (operation) => {
  it('is repeated no more often than a failed one, and given up', async () => {
    const core = await up();
    lose(core, operation);
    LOSSES[operation]?.(core);
    await core.poll();
    expect(core.calls(operation).length, 'tries at once').toBeLessThanOrEqual(operation === 'create' ? 2 : 1);
    const calls = await hour(core);
    expect(calls).toBeLessThanOrEqual(RETRY.attempts * 3);
    const name = operation === 'create' ? 'new' : 'web';
    expect(core.states()[name]).toBe('failed');
    expect(core.ledger.server(name)?.reason?.code).toBe('outcome_lost');
  });

  it('with failing checks is checked no more often than configured', async () => {
    const core = await up();
    lose(core, operation);
    LOSSES[operation]?.(core);
    lose(core, operation, 'check');
    await core.poll();
    expect(await hour(core)).toBeLessThanOrEqual(RETRY.attempts * 3);
    expect(core.states()[operation === 'create' ? 'new' : 'web']).toBe(operation === 'create' ? 'failed' : 'unknown');
  });
});

describe('a program that answers "lost"', () => {
  it.each(['with its call', 'with the controller'] as const)(
    'is called again only after its deadline, also after a restart: %s',
    async (rule) => {
      const core = await up();
      core.provider.lostActionEnds = rule;
      const cut = answerOf('lost', { message: 'the line was cut' });
      core.provider.script = ({ operation }) => (operation === 'update' ? Promise.resolve(cut) : undefined);
      await core.follow({ ...FILES, [TEMPLATE]: templateText({ web: 'name: web, size: large' }) });
      expect(core.states()).toEqual({ web: 'updating' });
      const reason = core.ledger.server('web')?.reason;
      expect(reason).toMatchObject({ code: 'outcome_lost', text: expect.stringContaining('the line was cut') });
      const before = core.provider.calls.length;
      await core.pass(60_500);
      expect(core.provider.calls).toHaveLength(before);
      const next = await core.restart();
      next.provider.lostActionEnds = rule;
      next.provider.script = () => undefined;
      expect(next.provider.calls).toEqual([]);
      await next.pass(1_000);
      expect(next.provider.calls[0]?.operation).toBe('check');
      await next.pass(60_000);
      expect(next.states()).toEqual({ web: 'done' });
    },
  );
});
