// How alike two files are, and which of the added ones are looked at. test/reconcile/hand-over.test.ts has what follows.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blobsToCompare, type GoneFile, reappearing, similarity } from '../../src/catalog/reappearing.ts';
import { snapshotOf } from './snapshots.ts';

function linesOf(count: number, from = 0): string {
  return Array.from({ length: count }, (_, index) => `line ${String(from + index).padStart(4, '0')}\n`).join('');
}

const TEN = linesOf(10);

describe('similarity', () => {
  it.each<[what: string, a: string, b: string, part: number]>([
    ['the same', TEN, TEN, 1],
    ['other line ends', TEN, TEN.replaceAll('\n', '\r\n'), 1],
    ['lines in another order', TEN, TEN.trim().split('\n').reverse().join('\n'), 1],
    ['nothing alike', TEN, linesOf(10, 10), 0],
    ['half of the lines', TEN, linesOf(5), 0.5],
    ['as much again added', TEN, linesOf(20), 0.5],
    ['a line that is there once and twice', 'ab\n', 'ab\nab\n', 0.5],
    ['a long line with another end', `${'a'.repeat(64)}b`, `${'a'.repeat(64)}c`, 64 / 66],
    ['the same without an end of the last line', TEN, TEN.trimEnd(), 1],
    ['short lines', 'a\nb\nc\n', 'd\ne\nf\n', 0],
    ['nothing, and something', '', TEN, 0],
    ['nothing twice', '', '', 1],
  ])('%s', (_what, a, b, part) => {
    expect(similarity(a, b)).toBeCloseTo(part, 5);
    expect(similarity(b, a)).toBeCloseTo(part, 5);
  });

  const texts = fc.array(fc.constantFrom('a: 1', 'b: 2', '  c: "3"', '', 'x'.repeat(70))).map((all) => all.join('\n'));

  it('is the same both ways, between 0 and 1, and 1 for the same text', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const part = similarity(a, b);
        expect(part).toBe(similarity(b, a));
        expect(part).toBeGreaterThanOrEqual(0);
        expect(part).toBeLessThanOrEqual(1);
        expect(similarity(a, a)).toBe(1);
      }),
    );
  });

  it('is at least what is left where lines are added', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const both = `${a}\n${b}`;
        expect(similarity(a, both)).toBeGreaterThanOrEqual(a.length / (both.length + 1));
      }),
    );
  });
});

const GONE: readonly GoneFile[] = [{ name: 'shop', oid: 'gone', text: TEN }];

describe('the files that are compared', () => {
  it('are 50, those first that are called like the instance', () => {
    const texts = Array.from({ length: 60 }, (_, index) => [`attic/${String(index).padStart(2, '0')}`, `${index}`]);
    const { files } = snapshotOf({ ...Object.fromEntries(texts), 'z/.shop.yaml.off': 'x', 'z/eu/shop': 'y' });
    const oids = blobsToCompare(GONE, files);
    const paths = oids.map((oid) => [...files].find(([, file]) => file.oid === oid)?.[0]);
    expect(paths.slice(0, 4)).toEqual(['z/.shop.yaml.off', 'z/eu/shop', 'attic/00', 'attic/01']);
    expect(paths).toHaveLength(50);
  });

  it('are no instances, links and binary files', () => {
    const binary = snapshotOf({ a: `${TEN}\0`, 'stacks/instances/eu/a.yaml': TEN, b: TEN }, { modes: { b: '120000' } });
    expect([...reappearing(GONE, binary)]).toEqual([]);
  });

  it('are none for a file that was moved to another folder', () => {
    const moved = snapshotOf({ a: TEN, 'stacks/instances/eu/shop.yaml': 'x' });
    expect([...reappearing(GONE, moved)]).toEqual([]);
    expect([...reappearing(GONE, snapshotOf({ a: TEN }))]).toEqual(['a']);
  });

  it('are compared up to a limit for one commit', () => {
    const large = (begin: string): string =>
      Array.from({ length: 16_000 }, (_, index) => `${`${begin} ${index}`.padEnd(60)}\n`).join('');
    const names = Array.from({ length: 20 }, (_, index) => `f${index}`);
    const gone = names.map((name) => ({ name, oid: '', text: large(`gone ${name}`) }));
    const appearing = (name: string) => {
      const others = names.map((other): [string, string] => [other, large(other)]);
      return [...reappearing(gone, snapshotOf({ found: large(`gone ${name}`), ...Object.fromEntries(others) }))];
    };
    expect(appearing('f0')).toEqual(['found']);
    expect(appearing('f19')).toEqual([]);
  });
});
