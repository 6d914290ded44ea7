import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createLowdbStore, type LowdbStoreOptions } from '../../src/store/lowdb-store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { describeStore } from '../contract/store.ts';
import { textRow, writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

describeStore('lowdb', async () => placeOf({}));
describeStore('lowdb, with a snapshot after almost every commit', async () => placeOf({ compactionBytes: 100 }));
describeStore('lowdb, with a record for every row', async () => placeOf({ recordLength: 1 }));

function placeOf(options: LowdbStoreOptions) {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  return {
    open: () => createLowdbStore(join(directory, 'state'), options),
    remove: () => rm(directory, { recursive: true }),
  };
}

describe('files', () => {
  it('are for their owner only, and so is the directory', async () => {
    const directory = join(temporaryDirectory(), 'deep', 'state');
    const store = await createLowdbStore(directory, { compactionBytes: 100 });
    await store.commit([writeText('a', 'x'.repeat(200))]);
    await store.close();
    expect(modeOf(directory)).toBe(0o700);
    expect(modeOf(join(directory, 'journal'))).toBe(0o600);
    expect(modeOf(join(directory, 'snapshot'))).toBe(0o600);
  });

  it('are so whatever the umask, and so is the lock', async () => {
    const directory = join(temporaryDirectory(), 'state');
    const before = process.umask(0);
    try {
      const store = await createLowdbStore(directory, { compactionBytes: 100 });
      await store.commit([writeText('a', 'x'.repeat(200))]);
      const held = readdirSync(directory).filter((name) => name.startsWith('lock'));
      expect(held.map((name) => [name, modeOf(join(directory, name))])).toEqual([
        ['lock', 0o600],
        ['lock-owner', 0o600],
      ]);
      await store.close();
      expect(modeOf(directory)).toBe(0o700);
      for (const name of ['journal', 'snapshot']) expect(modeOf(join(directory, name))).toBe(0o600);
    } finally {
      process.umask(before);
    }
  });

  it.each(['0750', '0701', '0770', '0755', '0777'])('are not put into a directory of the mode %s', async (mode) => {
    const directory = join(temporaryDirectory(), 'state');
    mkdirSync(directory);
    chmodSync(directory, Number.parseInt(mode, 8));
    const refused = createLowdbStore(directory);
    await expect(refused).rejects.toThrow(StoreError);
    await expect(refused).rejects.toThrow(
      `The directory ${directory} has the mode ${mode}: others may read what Treeline keeps in it, or change it`,
    );
    await expect(refused).rejects.toThrow(`chmod 0700 ${directory}`);
    expect(readdirSync(directory)).toEqual([]);
    chmodSync(directory, 0o700);
    await (await createLowdbStore(directory)).close();
  });

  it('say what they are, in one line a record', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    await store.commit([writeText('a', 'one')]);
    await store.close();
    const [head, record] = readFileSync(join(directory, 'journal'), 'utf8').split('\n');
    expect(head).toMatch(/^[0-9a-f]{8} [0-9a-f]{8} \{"format":"treeline-journal","version":2,"after":0\}$/);
    expect(record?.slice(18)).toBe(`{"sequence":1,"rows":[${JSON.stringify(['node', 'a', textRow('one')])}]}`);
  });

  it('are one journal record for all commits that wait at the same time', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    await Promise.all(['a', 'b', 'c'].map((name) => store.commit([writeText(name, name)])));
    await store.close();
    expect(readFileSync(join(directory, 'journal'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
  });
});

describe('compaction', () => {
  it('comes in time also where the snapshot is larger than the journal may become', async () => {
    const directory = temporaryDirectory();
    const options = { compactionBytes: 1_000, journalBytesLarge: 5_000 };
    const store = await createLowdbStore(directory, options);
    await store.commit([writeText('large', 'x'.repeat(20_000))]);
    for (let round = 0; round < 60; round++) {
      await store.commit([writeText('a', String(round).padStart(500, '0'), store.read('node', 'a'))]);
    }
    await store.close();
    expect(statSync(join(directory, 'snapshot')).size).toBeGreaterThan(20_000);
    expect(statSync(join(directory, 'journal')).size).toBeLessThan(6_000);
  });

  it('keeps the journal in proportion to the rows', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory, { compactionBytes: 10_000 });
    for (let round = 0; round < 300; round++) {
      await store.commit([writeText('a', String(round).padStart(200, '0'), store.read('node', 'a'))]);
    }
    await store.close();
    expect(existsSync(join(directory, 'snapshot'))).toBe(true);
    expect(statSync(join(directory, 'journal')).size).toBeLessThan(11_000);
    expect(store.journalBytes).toBeGreaterThan(300 * 200);
    const reopened = await createLowdbStore(directory);
    expect(reopened.read('node', 'a')?.oid).toBe('299'.padStart(200, '0'));
    await reopened.close();
  });

  it('is not done while the snapshot is more than half as large as the journal', async () => {
    const directory = temporaryDirectory();
    let store = await createLowdbStore(directory, { compactionBytes: 100 });
    await store.commit([writeText('large', 'x'.repeat(10_000))]);
    await store.close();
    const { ino } = statSync(join(directory, 'snapshot'));
    store = await createLowdbStore(directory, { compactionBytes: 100 });
    await store.commit([writeText('b', 'x'.repeat(1000))]);
    await store.close();
    expect(statSync(join(directory, 'snapshot')).ino).toBe(ino);
    expect(statSync(join(directory, 'journal')).size).toBeGreaterThan(1000);
  });

  it('fails no commit, is logged, and is tried again once the journal has grown further', async () => {
    const directory = temporaryDirectory();
    const lines: string[] = [];
    const log = createLog('warn', { write: (line) => lines.push(line) });
    mkdirSync(join(directory, 'snapshot.new'));
    const store = await createLowdbStore(directory, { compactionBytes: 1000, log });
    for (let index = 0; index < 15; index++) await store.commit([writeText(`row-${index}`, 'x'.repeat(100))]);
    rmdirSync(join(directory, 'snapshot.new'));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('no snapshot could be written');
    for (let index = 15; index < 20; index++) await store.commit([writeText(`row-${index}`, 'x'.repeat(100))]);
    await store.close();
    expect(existsSync(join(directory, 'snapshot'))).toBe(true);
    const reopened = await createLowdbStore(directory);
    expect(reopened.list('node').size).toBe(20);
    await reopened.close();
  });
});

describe('limits', () => {
  it('refuse the commit that is one too many to wait, and save the others', async () => {
    const store = await createLowdbStore(temporaryDirectory());
    const commits = Array.from({ length: 10_001 }, (_, index) => store.commit([writeText(`row-${index}`, 'x')]));
    const results = await Promise.allSettled(commits);
    expect(results.findIndex((result) => result.status === 'rejected')).toBe(10_000);
    await expect(commits[10_000]).rejects.toThrow('10000 commits wait for the disk already. Nothing was saved');
    expect(store.list('node').size).toBe(10_000);
    await store.close();
  });
});

describe('opening', () => {
  it('refuses a directory that is a file', async () => {
    const path = join(temporaryDirectory(), 'state');
    writeFileSync(path, '');
    await expect(createLowdbStore(path)).rejects.toThrow('EEXIST');
  });
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}
