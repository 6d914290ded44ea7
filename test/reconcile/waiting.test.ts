import { describe, expect, it } from 'vitest';
import { Waiting } from '../../src/reconcile/waiting.ts';

describe('who waits', () => {
  it('for a server is woken once when it changes', () => {
    const waiting = new Waiting();
    waiting.forServer('web-1', 'db');
    waiting.forServer('web-2', 'db');
    waiting.forServer('web-2', 'db');
    waiting.forServer('web-3', 'cache');
    expect(waiting.onChange('db', [])).toEqual(['web-1', 'web-2']);
    expect(waiting.onChange('db', [])).toEqual([]);
    expect(waiting.onChange('cache', ['db'])).toEqual(['web-3']);
  });

  it('for a group is woken by any of its members, wherever it moves from or to', () => {
    const waiting = new Waiting();
    waiting.forGroup('web-1', 'shop/web');
    waiting.forGroup('api-1', 'shop/api');
    expect(waiting.onChange('web-2', ['shop/web', 'shop/api'])).toEqual(['web-1', 'api-1']);
    expect(waiting.onChange('web-2', ['shop/web', 'shop/api'])).toEqual([]);
  });

  it('for room is woken one by one, who came first first', () => {
    const waiting = new Waiting();
    for (const name of ['b', 'a', 'b', 'c']) waiting.forRoom(name, 'lab');
    expect([1, 2, 3, 4].map(() => waiting.onRoom(() => true))).toEqual(['b', 'a', 'c', undefined]);
  });

  it('for room is not held up by those who wait for another provider', () => {
    const waiting = new Waiting();
    waiting.forRoom('a', 'full');
    waiting.forRoom('b', 'free');
    const hasRoom = (provider: string): boolean => provider === 'free';
    expect(waiting.onRoom(hasRoom)).toBe('b');
    expect(waiting.onRoom(hasRoom)).toBeUndefined();
    expect(waiting.onRoom(() => true)).toBe('a');
  });
});
