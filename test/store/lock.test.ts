import { linkSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lockDirectory } from '../../src/store/lock.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Leaves a socket that nobody listens on, as a killed process does. */
async function leaveStaleLock(directory: string, name: string): Promise<void> {
  const lock = await lockDirectory(directory);
  const [made = ''] = readdirSync(directory).filter((each) => each.startsWith('lock-'));
  linkSync(join(directory, made), join(directory, 'kept'));
  await lock.release();
  renameSync(join(directory, 'kept'), join(directory, name));
}

it('refuses a second owner and names the first', async () => {
  const directory = temporaryDirectory();
  const lock = await lockDirectory(directory);
  await expect(lockDirectory(directory)).rejects.toThrow(
    `The store in ${directory} is in use by process ${process.pid}. Two controllers must not share it`,
  );
  await lock.release();
  await (await lockDirectory(directory)).release();
  expect(readdirSync(directory)).toEqual([]);
});

it('takes over from a process that was killed, and tidies up', async () => {
  const directory = temporaryDirectory();
  await leaveStaleLock(directory, 'lock-00000000');
  const lock = await lockDirectory(directory);
  expect(readdirSync(directory)).toEqual([expect.stringMatching(/^lock-(?!00000000)/)]);
  await expect(lockDirectory(directory)).rejects.toThrow('in use');
  await lock.release();
});

it('lets one of many win that find a stale lock at the same time, and never two', async () => {
  for (let round = 0; round < 10; round++) {
    const directory = temporaryDirectory();
    await leaveStaleLock(directory, 'lock-00000000');
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => lockDirectory(directory)));
    const won = results.filter((result) => result.status === 'fulfilled');
    expect(won).toHaveLength(1);
    await expect(lockDirectory(directory)).rejects.toThrow('in use');
    for (const result of won) await result.value.release();
    expect(readdirSync(directory)).toEqual([]);
  }
});

it('steps back for as long as another tries, and says so in the end', async () => {
  const directory = temporaryDirectory();
  const trying = createServer((socket) => socket.end('trying 1234\n')).listen(join(directory, 'lock-00000000'));
  onTestFinished(() => {
    trying.close();
  });
  await expect(lockDirectory(directory)).rejects.toThrow(`Other processes are starting on ${directory}`);
  expect(readdirSync(directory)).toEqual(['lock-00000000']);
});

it('takes an owner that does not answer for one', async () => {
  const directory = temporaryDirectory();
  const silent = createServer(() => undefined).listen(join(directory, 'lock-00000000'));
  onTestFinished(() => {
    silent.close();
  });
  await expect(lockDirectory(directory)).rejects.toThrow('in use by another process');
});

it('removes no file that is not its own', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'lock-00000000'), 'mine');
  writeFileSync(join(directory, 'lock-notes'), 'mine');
  await expect(lockDirectory(directory)).rejects.toThrow('lock-00000000 has the name of a socket');
  expect(readdirSync(directory)).toEqual(['lock-00000000', 'lock-notes']);
});

it('refuses a path that is too long for a socket, with advice', async () => {
  const directory = join(temporaryDirectory(), 'x'.repeat(90));
  mkdirSync(directory);
  await expect(lockDirectory(directory)).rejects.toThrow(
    /bytes too long for the Unix socket.*Move it to a shorter path/,
  );
  expect(readdirSync(directory)).toEqual([]);
});

it('is let go when the store cannot be opened', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'journal'), 'damaged');
  await expect(createLowdbStore(directory)).rejects.toThrow('damaged');
  await (await lockDirectory(directory)).release();
});
