// The turns of clients, and their shares of the time while others wait for what is urgent.
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { clientTurns } from '../../src/api/client-turns.ts';

let clients = 0;

/** Returns a client that has used so much of the time just now. */
function clientAfter(usedMs: number): string {
  const client = `client ${clients++}`;
  clientTurns.inTurn(client, () => work(usedMs));
  return client;
}

function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Has something be urgent until it is told that it is over. */
function beUrgent(): { isOver: boolean } {
  const urgent = { isOver: false };
  onTestFinished(clientTurns.giveWay(() => !urgent.isOver));
  return urgent;
}

/** Returns what is done of the work of these clients, in the order in which it is. */
function doneOf(...names: readonly string[]): string[] {
  const done: string[] = [];
  for (const name of names) clientTurns.inTurn(name, () => done.push(name));
  return done;
}

test('who has used more than a share waits while something is urgent, and others come first', async () => {
  const urgent = beUrgent();
  const [heavy, light] = [clientAfter(100), clientAfter(0)];
  const done = doneOf(heavy, light, heavy);
  await expect.poll(() => done).toEqual([light]);
  urgent.isOver = true;
  clientTurns.inTurn(heavy, () => done.push('the last of it'));
  await expect.poll(() => done).toEqual([light, heavy, heavy, 'the last of it']);
});

test('who waits has its turn once its share is there again', async () => {
  beUrgent();
  const began = performance.now();
  const heavy = clientAfter(50);
  const done = doneOf(heavy);
  await expect.poll(() => done).toEqual([heavy]);
  // A fifth of the time is its share, of which it had 20 ms.
  expect(performance.now() - began).toBeGreaterThan(190);
});

test('nobody waits for a share where nothing is urgent, nor after that', async () => {
  clientTurns.giveWay(() => true)();
  const heavy = clientAfter(100);
  const done = doneOf(heavy);
  // For its share it would wait for 400 ms.
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  expect(done).toEqual([heavy]);
});
