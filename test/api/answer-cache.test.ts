import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { AnswerCache, type SerializedAnswer } from '../../src/api/answer-cache.ts';

const answer = (json: string): SerializedAnswer => ({ json, bytes: json.length, etag: `"${json.length}"` });
const node = {};
const row = {};

describe('an answer that is kept', () => {
  it('is returned as long as both of its sources are the same objects', () => {
    const cache = new AnswerCache(10_000);
    const kept = answer('one');
    cache.set('/hiera/web-1', [node, row], kept);
    expect(cache.get('/hiera/web-1', [node, row])).toBe(kept);
    expect(cache.get('/hiera/web-1', [{ ...node }, row])).toBeUndefined();
    expect(cache.get('/hiera/web-1', [node, { ...row }])).toBeUndefined();
    expect(cache.get('/hiera/web-1', [node, undefined])).toBeUndefined();
    expect(cache.get('/hiera/web-2', [node, row])).toBeUndefined();
  });

  it('does not keep its sources in memory', async () => {
    setFlagsFromString('--expose-gc');
    const cache = new AnswerCache(10_000);
    const keep = (): WeakRef<object> => {
      const desired = { units: [] };
      cache.set('/tree', [desired, 1], answer('one'));
      expect(cache.get('/tree', [desired, 1])).toEqual(answer('one'));
      return new WeakRef(desired);
    };
    const source = keep();
    // What a WeakRef was made of stays until the present turn is over.
    await setImmediate();
    runInNewContext('gc')();
    expect(source.deref()).toBeUndefined();
    expect(cache.get('/tree', [{ units: [] }, 1])).toBeUndefined();
  });

  it('gives way to the next one of its key', () => {
    const cache = new AnswerCache(10_000);
    const later = answer('two');
    cache.set('/hiera/web-1', [node, row], answer('one'));
    cache.set('/hiera/web-1', [node, later], later);
    expect(cache.get('/hiera/web-1', [node, row])).toBeUndefined();
    expect(cache.get('/hiera/web-1', [node, later])).toBe(later);
  });

  it('is removed where the limit is reached, the oldest first', () => {
    const cache = new AnswerCache(10_000);
    for (let number = 0; number < 100; number += 1) cache.set(`/hiera/${number}`, [node, row], answer('x'.repeat(700)));
    const kept = Array.from({ length: 100 }, (_, number) => cache.get(`/hiera/${number}`, [node, row]) !== undefined);
    expect(kept.lastIndexOf(false)).toBe(90);
    expect(kept.slice(91)).toEqual(Array(9).fill(true));
  });

  it('counts as the memory that it takes: two bytes a character where one character needs them', () => {
    const cache = new AnswerCache(10_000);
    const wide = `–${'x'.repeat(3_000)}`;
    for (const key of ['/1', '/2']) cache.set(key, [node], { ...answer(wide), bytes: Buffer.byteLength(wide) });
    expect(['/1', '/2'].map((key) => cache.get(key, [node]) !== undefined)).toEqual([false, true]);
  });

  it('is not kept where it is larger than the limit by itself', () => {
    const cache = new AnswerCache(1_000);
    cache.set('/hiera/small', [node, row], answer('x'));
    cache.set('/hiera/large', [node, row], answer('x'.repeat(2_000)));
    expect(cache.get('/hiera/large', [node, row])).toBeUndefined();
    cache.set('/hiera/small', [node, row], answer('x'));
    expect(cache.get('/hiera/small', [node, row])).toEqual(answer('x'));
  });

  it('counts one that is replaced once', () => {
    const cache = new AnswerCache(2_500);
    cache.set('/hiera/other', [node, row], answer('x'.repeat(500)));
    for (let time = 0; time < 50; time += 1) cache.set('/hiera/same', [node, { time }], answer('x'.repeat(500)));
    expect(cache.get('/hiera/other', [node, row])).toBeDefined();
  });
});
