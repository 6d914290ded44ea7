// Trees that git would never write: what a few objects can pretend to be.
import { describe, expect, it } from 'vitest';
import type { TreeEntry } from '../../src/source/git-object.ts';
import { ObjectStore } from '../../src/source/object-store.ts';
import { listFiles } from '../../src/source/tree-listing.ts';

const NOTHING = new ObjectStore([]);

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

  it('refuses a name that is listed twice', async () => {
    await expect(list({ root: [file('a'), file('a')] })).rejects.toThrow(/a tree lists "a" twice/);
  });

  it('has no files where the directory is not there', async () => {
    expect((await list({ root: [file('live')] }, ['live', 'more'])).files.size).toBe(0);
  });
});
