// Trees that git would never write: what a few objects can pretend to be.
import { describe, expect, it } from 'vitest';
import type { TreeEntry } from '../../src/repository/git/git-object.ts';
import { ObjectReader } from '../../src/repository/git/object-reader.ts';
import { listFiles } from '../../src/repository/tree-listing.ts';

const NOTHING = new ObjectReader('/nowhere');

function list(trees: Readonly<Record<string, readonly TreeEntry[]>>, directory: readonly string[] = []) {
  return listFiles(NOTHING, { root: 'root', directory, known: new Map(Object.entries(trees)), entriesMax: 1000 });
}

function directory(name: string, oid: string): TreeEntry {
  return { mode: '40000', name, oid };
}

function file(name: string): TreeEntry {
  return { mode: '100644', name, oid: 'blob' };
}

describe('listFiles', () => {
  it('keeps the trees that it went through, and no others', async () => {
    const { files, trees, treesRead } = await list({
      root: [directory('d', 'sub'), file('a')],
      sub: [file('b')],
      old: [],
    });
    expect([...files.keys()]).toEqual(['d/b', 'a']);
    expect([...trees.keys()]).toEqual(['root', 'sub']);
    expect(treesRead).toBe(0);
  });

  it('ends a bomb: ten trees of ten times the next one', async () => {
    const levels = Array.from({ length: 10 }, (_, level) => [
      level === 0 ? 'root' : `t${level}`,
      Array.from({ length: 10 }, (_, n) => directory(`d${n}`, `t${level + 1}`)),
    ]);
    await expect(list({ ...Object.fromEntries(levels), t10: [] })).rejects.toThrow(
      /the repository holds more than 1000 files/,
    );
  });

  it('ends a tree that holds itself', async () => {
    await expect(list({ root: [directory('d', 'root')] })).rejects.toThrow(/nested deeper than 256/);
  });

  it('names the followed directory where that one is too large', async () => {
    const many = Array.from({ length: 1001 }, (_, n) => file(`f${n}`));
    await expect(list({ root: [directory('live', 'sub')], sub: many }, ['live'])).rejects.toThrow(
      /"live" holds more than 1000/,
    );
  });

  it('ends a directory whose name is so long that the paths below it fill the memory', async () => {
    const many = Array.from({ length: 900 }, (_, n) => file(`f${n}`));
    const long = directory('x'.repeat(1_000_000), 'sub');
    await expect(list({ root: [long], sub: many })).rejects.toThrow(/^a path has 1000000 characters: /);
    const steps = Array.from({ length: 40 }, (_, n) => [
      n === 0 ? 'root' : `t${n}`,
      [directory('x'.repeat(99), `t${n + 1}`)],
    ]);
    const trees = { ...Object.fromEntries(steps), t40: Array.from({ length: 900 }, (_, n) => file(`f${n}`)) };
    expect((await list(trees)).files.size).toBe(900);
    const wide = {
      root: Array.from({ length: 300 }, (_, n) => directory(`d${n}${'x'.repeat(3_900)}`, 'sub')),
      sub: many,
    };
    await expect(
      listFiles(NOTHING, { root: 'root', directory: [], known: new Map(Object.entries(wide)), entriesMax: 1e6 }),
    ).rejects.toThrow(/^the paths of the repository have more than \d+ characters together/);
  });

  it('refuses a name that is listed twice', async () => {
    await expect(list({ root: [file('a'), file('a')] })).rejects.toThrow(/a tree lists "a" twice/);
  });

  it('has no files where the directory is not there', async () => {
    expect((await list({ root: [file('live')] }, ['live', 'more'])).files.size).toBe(0);
  });
});
