import { describe, expect, test } from 'vitest';
import { Lookout } from '../../../src/api/tls/lookout.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** A lookout whose looks end when they are told to. */
function start() {
  const clock = new ManualClock();
  const looks: PromiseWithResolvers<void>[] = [];
  const lookout = new Lookout({
    clock,
    settleMs: 10,
    pollMs: 1000,
    look() {
      const end = Promise.withResolvers<void>();
      looks.push(end);
      return end.promise;
    },
  });
  async function finish(): Promise<void> {
    looks.at(-1)?.resolve();
    // Everything that follows from it has happened by then.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { clock, looks, lookout, finish };
}

describe('a lookout', () => {
  test('looks now and then without a sign', async () => {
    const { clock, looks, finish } = start();
    clock.advance(999);
    expect(looks).toHaveLength(0);
    clock.advance(1);
    expect(looks).toHaveLength(1);
    clock.advance(5000);
    expect(looks).toHaveLength(1);
    await finish();
    clock.advance(1000);
    expect(looks).toHaveLength(2);
  });

  test('looks soon after the first of many signs', async () => {
    const { clock, looks, lookout, finish } = start();
    for (let ms = 0; ms < 9; ms++) {
      lookout.sign();
      clock.advance(1);
    }
    expect(looks).toHaveLength(0);
    clock.advance(1);
    expect(looks).toHaveLength(1);
    await finish();
    expect(clock.pending).toBe(1);
    clock.advance(999);
    expect(looks).toHaveLength(1);
  });

  test('looks again where a sign came during a look, and at once only one look', async () => {
    const { clock, looks, lookout, finish } = start();
    lookout.sign();
    clock.advance(10);
    lookout.sign();
    lookout.sign();
    clock.advance(2000);
    expect(looks).toHaveLength(1);
    await finish();
    clock.advance(10);
    expect(looks).toHaveLength(2);
    await finish();
    clock.advance(999);
    expect(looks).toHaveLength(2);
  });

  test('looks no more once it is closed, and waits for the look under way', async () => {
    const { clock, looks, lookout, finish } = start();
    clock.advance(1000);
    let isClosed = false;
    const closing = lookout.close().then(() => {
      isClosed = true;
    });
    lookout.sign();
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    await finish();
    await closing;
    clock.advance(5000);
    expect(looks).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  test('that is closed while it waits does not look', async () => {
    const { clock, looks, lookout } = start();
    lookout.sign();
    await lookout.close();
    lookout.sign();
    clock.advance(5000);
    expect(looks).toHaveLength(0);
  });
});
