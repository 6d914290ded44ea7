// Answers that are kept: until something changes, and in no more memory than they may take.
import { beforeEach, describe, expect, it } from 'vitest';
import type { PiecedAnswer } from '../../src/api/answer.ts';
import { KeptAnswers } from '../../src/api/reads.ts';

const answer = (json: string): PiecedAnswer => ({
  pieces: [json],
  bytes: Buffer.byteLength(json),
  etag: `"${json.length}"`,
});

let version: string;
beforeEach(() => {
  version = '1';
});
const keptIn = (bytes: number, bytesOfAnswer = bytes): KeptAnswers =>
  new KeptAnswers(() => version, { bytes, bytesOfAnswer });

describe('an answer that is kept', () => {
  it('is found as long as the version is the same', () => {
    const kept = keptIn(10_000);
    const one = answer('one');
    kept.keep('/hiera/web-1', '1', one);
    expect(kept.find('/hiera/web-1')).toBe(one);
    expect(kept.find('/hiera/web-2')).toBeUndefined();
    version = '2';
    expect(kept.find('/hiera/web-1')).toBeUndefined();
    version = '1';
    expect(kept.find('/hiera/web-1')).toBeUndefined();
  });

  it('is none whose making began at another version', () => {
    const kept = keptIn(10_000);
    version = '2';
    kept.keep('/hiera/web-1', '1', answer('one'));
    expect(kept.find('/hiera/web-1')).toBeUndefined();
  });

  it.each(['/hiera/web-1?', '/hiera/web-1?info=true', '/hiera/%77eb-1'])(
    'has one path, so none is kept under %s',
    (path) => {
      const kept = keptIn(10_000);
      kept.keep(path, '1', answer('one'));
      expect(kept.find(path)).toBeUndefined();
    },
  );

  it('gives way to the next one of its path', () => {
    const kept = keptIn(10_000);
    const later = answer('two');
    kept.keep('/hiera/web-1', '1', answer('one'));
    kept.keep('/hiera/web-1', '1', later);
    expect(kept.find('/hiera/web-1')).toBe(later);
  });

  it('is removed where the limit is reached, the oldest first', () => {
    const kept = keptIn(10_000);
    for (let number = 0; number < 100; number += 1) kept.keep(`/hiera/${number}`, '1', answer('x'.repeat(700)));
    const found = Array.from({ length: 100 }, (_, number) => kept.find(`/hiera/${number}`) !== undefined);
    expect(found.lastIndexOf(false)).toBe(90);
    expect(found.slice(91)).toEqual(Array(9).fill(true));
  });

  it('counts as the memory that it takes: two bytes a character where one character needs them', () => {
    const kept = keptIn(10_000);
    for (const path of ['/1', '/2']) kept.keep(path, '1', answer(`–${'x'.repeat(3_000)}`));
    expect(['/1', '/2'].map((path) => kept.find(path) !== undefined)).toEqual([false, true]);
  });

  it('is not kept where it is too large, and takes no room from others', () => {
    const kept = keptIn(10_000, 1_000);
    kept.keep('/hiera/small', '1', answer('x'));
    kept.keep('/hiera/large', '1', answer('x'.repeat(2_000)));
    expect(kept.find('/hiera/large')).toBeUndefined();
    expect(kept.find('/hiera/small')).toEqual(answer('x'));
  });

  it('counts one that is replaced once', () => {
    const kept = keptIn(2_500);
    kept.keep('/hiera/other', '1', answer('x'.repeat(500)));
    for (let time = 0; time < 50; time += 1) kept.keep('/hiera/same', '1', answer('x'.repeat(500)));
    expect(kept.find('/hiera/other')).toBeDefined();
  });

  it('counts no more once it was dropped with its version', () => {
    const kept = keptIn(2_500);
    for (let time = 0; time < 50; time += 1) {
      version = String(time);
      for (const path of ['/1', '/2']) kept.keep(path, version, answer('x'.repeat(500)));
      expect(['/1', '/2'].map((path) => kept.find(path) !== undefined)).toEqual([true, true]);
    }
  });
});
