// Tests who is told of causes that begin and end, and how often.

import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { EndedCauses } from '../../src/reconcile/row-requests.ts';
import type { AttentionItem } from '../../src/service/answers.ts';
import { AttentionWatch } from '../../src/service/progress/attention-watch.ts';
import { ManualClock } from '../support/manual-clock.ts';

const ACKNOWLEDGED = { by: 'Ada (A1)', until: '2026-11-21T10:00:00Z', reason: 'known' };

function item(name: string, fields: Partial<AttentionItem> = {}): AttentionItem {
  return {
    id: `failed:${name}`,
    kind: 'failed',
    instances: [name],
    servers: { count: 1, examples: [`${name}-1`] },
    reason: `${name}-1 is failed`,
    since: '2026-11-20T10:00:00.000Z',
    action: 'retry',
    acknowledged: null,
    ...fields,
  };
}

function open() {
  const clock = new ManualClock();
  const lines: {
    readonly level: number;
    readonly msg: string;
    readonly attention?: string;
  }[] = [];
  /** The causes that were logged: `+` those that began, `-` those that were over. */
  const told: string[] = [];
  const world: { items: readonly AttentionItem[] | Error | undefined; looks: number; isStoreAway?: true } = {
    items: [],
    looks: 0,
  };
  const ended: EndedCauses[] = [];
  const watch = new AttentionWatch({
    attention: () => {
      world.looks += 1;
      if (world.items instanceof Error) throw world.items;
      return world.items && { items: world.items, covered: new Set<string>() };
    },
    clock,
    endAcknowledgements: async (causes) => {
      ended.push(causes);
      if (world.isStoreAway) throw new Error('the store is away');
    },
    log: createLog('info', {
      write(text) {
        const line = JSON.parse(text);
        lines.push(line);
        if (line.attention) told.push(`${line.level === 40 ? '+' : '-'}${line.attention}`);
      },
    }),
  });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  /** What needs an operator from now on, and has been found. */
  const become = async (items: typeof world.items): Promise<void> => {
    world.items = items;
    watch.wake();
    await pass(1_000);
  };
  return { clock, lines, told, ended, world, watch, pass, become };
}

describe('a cause that needs an operator', () => {
  it('is logged once when it begins and once when it ends', async () => {
    const { told, lines, watch, become, pass } = open();
    expect(watch.items()).toBeUndefined();
    await become([item('shop'), item('app')]);
    await become([item('shop', { servers: { count: 9, examples: [] } }), item('app')]);
    await pass(60_000);
    expect([...(watch.items()?.keys() ?? [])]).toEqual(['failed:shop', 'failed:app']);
    await become([item('app')]);
    expect(told).toEqual(['+failed:shop', '+failed:app', '-failed:shop']);
    expect(lines.map(({ level, msg, attention }) => [level, attention, msg])).toEqual([
      [40, 'failed:shop', 'needs an operator: shop-1 is failed'],
      [40, 'failed:app', 'needs an operator: app-1 is failed'],
      [30, 'failed:shop', 'needs no operator any more: shop-1 is failed'],
    ]);
  });

  it('that is acknowledged begins when the acknowledgement ends', async () => {
    const { told, become, pass } = open();
    const acknowledged = item('shop', { acknowledged: ACKNOWLEDGED });
    await become([acknowledged]);
    expect(told).toEqual([]);
    await become([item('shop')]);
    await become([acknowledged]);
    // The same cause is logged once a minute.
    await pass(60_000);
    await become([item('shop')]);
    await become([acknowledged]);
    await become([]);
    expect(told).toEqual(['+failed:shop', '+failed:shop', '-failed:shop']);
  });

  it('stays the same while the causes are unknown', async () => {
    const { told, lines, become, watch } = open();
    await become([item('shop')]);
    await become(undefined);
    await become(new Error('it is broken'));
    await become(new Error('it is broken'));
    expect(lines.filter(({ level }) => level === 50)).toMatchObject([
      { msg: 'the causes that need an operator cannot be computed' },
    ]);
    await become([item('shop')]);
    expect(told).toEqual(['+failed:shop']);
    expect(watch.items()?.size).toBe(1);
  });
});

describe('acknowledgements', () => {
  it('end with their cause, also if the store failed then', async () => {
    const { ended, world, become, pass } = open();
    await become([item('shop'), item('app')]);
    world.isStoreAway = true;
    await become([item('app')]);
    await pass(10_000);
    delete world.isStoreAway;
    await pass(10_000);
    await pass(10_000);
    const ids = ['failed:shop', 'failed:app', 'provider:lab'];
    const over = ended.map(({ isOver }) => ids.filter(isOver));
    expect([over[0], over.at(-2), over.at(-1)]).toEqual([[], ['failed:shop'], []]);
  });

  it('of a cause not observed since the start end after a while', async () => {
    const { ended, pass } = open();
    await pass(300_000);
    expect(ended.at(-1)?.isOver('provider:lab')).toBe(false);
    await pass(100_000);
    expect(ended.at(-1)?.isOver('provider:lab')).toBe(true);
  });
});

describe('AttentionWatch', () => {
  it('runs at most once a second', async () => {
    const { world, watch, pass } = open();
    for (let second = 0; second < 10; second += 1) {
      for (let change = 0; change < 1_000; change += 1) watch.wake();
      await pass(1_000);
    }
    expect(world.looks).toBe(10);
  });

  it('leaves no timer after stop', async () => {
    const { clock, told, world, watch, pass } = open();
    world.items = [item('shop')];
    await watch.stop();
    watch.wake();
    await pass(60_000);
    expect([told, world.looks, clock.pending]).toEqual([[], 0, 0]);
  });
});
