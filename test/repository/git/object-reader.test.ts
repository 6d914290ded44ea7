// Reading packs as git writes them, through a git that goes on living: whole objects, deltas, damage, and its end.
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { OBJECT_TYPES, type ObjectType } from '../../../src/repository/git/git-object.ts';
import { DamagedCopyError, ObjectReader } from '../../../src/repository/git/object-reader.ts';
import { createGitRepository, type GitRepository } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MIB = 2 ** 20;

async function longHistory(): Promise<GitRepository> {
  const repository = await createGitRepository(join(temporaryDirectory(), 'long.git'));
  const lines = Array.from({ length: 400 }, (_, i) => `line ${i} ${Math.sin(i)}\n`);
  const commits = Array.from({ length: 25 }, (_, i) => {
    lines.splice((i * 37) % 400, 1, `changed ${i}\n`);
    return { files: { 'large.yaml': lines.join(''), [`dir/f${i}.yaml`]: `n: ${i}\n` } };
  });
  await repository.commitAll(commits);
  await repository.git('tag', '-a', '-m', 'tagged', 'v1', 'main');
  return repository;
}

/** Every object of a repository as git prints it: `<oid> <type> <size>` and its content. */
function objectsByGit(path: string): readonly { oid: string; type: ObjectType; bytes: Buffer }[] {
  const printed = execFileSync('git', ['-C', path, 'cat-file', '--batch-all-objects', '--batch'], { maxBuffer: 1e9 });
  const objects: { oid: string; type: ObjectType; bytes: Buffer }[] = [];
  for (let at = 0; at < printed.length; ) {
    const begin = printed.indexOf('\n', at) + 1;
    const [oid = '', name, size] = printed.toString('latin1', at, begin - 1).split(' ');
    const end = begin + Number(size);
    objects.push({
      oid,
      type: OBJECT_TYPES.find((each) => each === name) ?? 'blob',
      bytes: printed.subarray(begin, end),
    });
    at = end + 1;
  }
  return objects;
}

async function withObjects(path: string, work: (objects: ObjectReader) => Promise<void>): Promise<void> {
  const objects = new ObjectReader(path);
  try {
    await work(objects);
  } finally {
    objects.close();
  }
}

describe('ObjectReader', () => {
  it.each([
    ['offsets', 'true'],
    ['object ids', 'false'],
  ])('reads every object where deltas name their base by %s', async (_, useOffsets) => {
    const repository = await longHistory();
    await repository.git(
      '-c',
      `repack.useDeltaBaseOffset=${useOffsets}`,
      'repack',
      '-adfq',
      '--depth=50',
      '--window=50',
    );
    const expected = objectsByGit(repository.path);
    const depths = await repository.git('verify-pack', '-sv', ...packsOf(repository.path));
    expect(depths).toMatch(/chain length = 1\d:/);

    await withObjects(repository.path, async (objects) => {
      // All at once: the answers come in the order of the questions.
      const read = await Promise.all(expected.map(({ oid, type }) => objects.read(oid, type)));
      expect(read).toEqual(expected.map(({ type, bytes }) => ({ type, bytes })));
      const sizes = await Promise.all(expected.map(({ oid }) => objects.sizeOf(oid)));
      expect(sizes).toEqual(expected.map(({ bytes }) => bytes.length));
      expect(objects.openedCount).toBe(2);
    });
  });

  it('finds objects over several packs', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'some.git'));
    const commits: string[] = [];
    for (const text of ['1', '2', '3']) {
      commits.push(await repository.commit({ a: text }));
      await repository.git('repack', '-dq');
    }
    expect(packsOf(repository.path)).toHaveLength(3);
    await withObjects(repository.path, async (objects) => {
      for (const commit of commits) expect((await objects.readCommit(commit)).oid).toBe(commit);
      for (const none of ['0'.repeat(40), 'f'.repeat(40), 'main', '', `${'0'.repeat(40)}\n${commits[0]}`]) {
        expect(await objects.findCommit(none)).toBeUndefined();
      }
      // What joins the repository meanwhile is found by the git that is there.
      const later = await repository.commit({ a: '4' });
      await repository.git('repack', '-dq');
      expect((await objects.findCommit(later))?.parents).toEqual([commits[2]]);
      expect(objects.openedCount).toBe(1);
    });
  });

  it('refuses an object of another type, and one that is not there', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'typed.git'));
    const commit = await repository.commit({ a: '1' });
    await repository.git('repack', '-adq');
    await withObjects(repository.path, async (objects) => {
      await expect(objects.readTree(commit, 10)).rejects.toThrow(/it is a commit where a tree belongs/);
      await expect(objects.read('0'.repeat(40), 'blob')).rejects.toThrow(DamagedCopyError);
      await expect(objects.sizeOf('0'.repeat(40))).rejects.toThrow(/it is not there/);
      const { tree } = await objects.readCommit(commit);
      expect(await objects.findCommit(tree)).toBeUndefined();
    });
  });

  it('reads no more of a tree than is wanted, and gives others their turn meanwhile', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'wide.git'));
    const names = Array.from({ length: 12_000 }, (_, n) => `f${n.toString().padStart(5, '0')}`);
    await repository.commit(Object.fromEntries(names.map((name) => [name, 'x'])));
    await repository.git('repack', '-adq');
    const tree = await repository.git('rev-parse', 'main^{tree}');
    await withObjects(repository.path, async (objects) => {
      let turns = 0;
      const others = setInterval(() => turns++, 0);
      const whole = await objects.readTree(tree, 20_000);
      clearInterval(others);
      expect(whole.map(({ name }) => name)).toEqual(names);
      expect(turns).toBeGreaterThan(0);
      expect((await objects.readTree(tree, 100)).length).toBe(101);
    });
  });

  it('refuses an object whose content does not hash to its id', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'swapped.git'));
    const commit = await repository.commit({ a: 'one', b: 'two' });
    await repository.git('repack', '-adq');
    const [index = ''] = packsOf(repository.path);
    const bytes = readFileSync(index);
    const count = bytes.readUInt32BE(8 + 255 * 4);
    const offsetsAt = 8 + 256 * 4 + count * 24;
    // Every id leads to the object of the next one.
    const offsets = Buffer.from(bytes.subarray(offsetsAt, offsetsAt + count * 4));
    bytes.set(offsets.subarray(4), offsetsAt);
    bytes.set(offsets.subarray(0, 4), offsetsAt + (count - 1) * 4);
    chmodSync(index, 0o600);
    writeFileSync(index, bytes);
    await withObjects(repository.path, async (objects) => {
      const reading = expect(objects.read(commit, 'commit')).rejects;
      await reading.toThrow(DamagedCopyError);
      await reading.toThrow(/its content does not hash to its id|it is a \w+ where/);
    });
  });

  it.each<[string, (index: string) => void]>([
    ['is empty', (index) => writeFileSync(index, '')],
    ['has another version', (index) => patch(index, 4, 3)],
    ['counts more objects than it has', (index) => patch(index, 8 + 255 * 4, 99)],
    ['has no pack', (index) => rmSync(index.replace(/idx$/, 'pack'))],
  ])('refuses a pack whose index %s', async (_, damage) => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'damaged.git'));
    const commit = await repository.commit({ a: 'one' });
    await repository.git('repack', '-adq');
    const [index = ''] = packsOf(repository.path);
    chmodSync(index, 0o600);
    damage(index);
    await withObjects(repository.path, async (objects) => {
      await expect(objects.readCommit(commit)).rejects.toThrow(DamagedCopyError);
      await expect(objects.sizeOf(commit)).rejects.toThrow(DamagedCopyError);
    });
  });

  it('gives the memory of a large commit back before the next one is read', async () => {
    const repository = await createGitRepository(join(temporaryDirectory(), 'large.git'));
    const message = `large\n\n${'x'.repeat(2 * MIB)}`;
    const commit = await repository.commit({ a: 'one' }, { message });
    using allocate = vi.spyOn(Buffer, 'allocUnsafe');
    await withObjects(repository.path, async (objects) => {
      for (let read = 0; read < 3; read += 1) {
        expect((await objects.readCommit(commit)).message).toBe(message.slice(0, 64 * 1024));
      }
    });
    const large = allocate.mock.calls.flatMap(([size], call) =>
      size > MIB ? [allocate.mock.results[call]?.value] : [],
    );
    // A buffer whose memory is given back has no bytes.
    expect(large.map(({ length }) => length)).toEqual([0, 0, 0]);
  });

  it('has no objects where there is no repository', async () => {
    await withObjects(join(temporaryDirectory(), 'none'), async (objects) => {
      expect(await objects.findCommit('0'.repeat(40))).toBeUndefined();
      expect(objects.openedCount).toBe(0);
    });
  });
});

function patch(path: string, at: number, value: number): void {
  const bytes = readFileSync(path);
  bytes.writeUInt32BE(value, at);
  writeFileSync(path, bytes);
}

function packsOf(path: string): readonly string[] {
  const folder = join(path, 'objects', 'pack');
  const indexes = readdirSync(folder).filter((name) => name.endsWith('.idx'));
  return indexes.map((name) => join(folder, name));
}
