import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lockDirectory } from '../../src/store/lock.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MODULE = join(import.meta.dirname, '../../src/store/lock.ts');
const HOLDER = `const { lockDirectory } = await import(process.argv[1]);
globalThis.lock = lockDirectory(process.argv[2]);
console.log('locked');
setInterval(() => undefined, 1_000);`;

/** Returns another process that has a directory. */
async function holderOf(directory: string): Promise<ChildProcess> {
  const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, MODULE, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout as NonNullable<typeof holder.stdout>, 'data');
  return holder;
}

it('refuses a second owner', () => {
  const directory = temporaryDirectory();
  const lock = lockDirectory(directory);
  for (let time = 0; time < 3; time++) {
    expect(() => lockDirectory(directory)).toThrow(
      `The store in ${directory} is in use by another process. Two controllers must not share it`,
    );
  }
  expect(() => lockDirectory(directory, 'Stop it.')).toThrow(/in use by another process\. Stop it\.$/);
  lock[Symbol.dispose]();
  lockDirectory(directory)[Symbol.dispose]();
  expect(readdirSync(directory)).toEqual(['lock']);
  expect(statSync(join(directory, 'lock')).size).toBe(0);
});

it('refuses another process, and succeeds after that was killed', async () => {
  const directory = temporaryDirectory();
  const holder = await holderOf(directory);
  expect(() => lockDirectory(directory)).toThrow('in use by another process. Two');
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  using _lock = lockDirectory(directory);
  expect(() => lockDirectory(directory)).toThrow('in use by another process. Two');
});

it('goes to one of many processes that find the lock of a killed one', async () => {
  const directory = temporaryDirectory();
  const former = await holderOf(directory);
  former.kill('SIGKILL');
  await once(former, 'exit');
  const start = `process.stdin.once('data', () => {
    try { globalThis.lock = lockDirectory(process.argv[2]); console.log('won'); }
    catch (error) { console.log(error.message.includes('in use') ? 'lost' : error.message); }
  });
  console.log('ready');`;
  const script = `const { lockDirectory } = await import(process.argv[1]);\n${start}`;
  const racers = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script, MODULE, directory], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  onTestFinished(() => racers.forEach((racer) => void racer.kill('SIGKILL')));
  await Promise.all(racers.map(({ stdout }) => once(stdout, 'data')));
  for (const { stdin } of racers) stdin.write('go\n');
  const said = await Promise.all(racers.map(({ stdout }) => once(stdout, 'data')));
  expect(said.map(([text]) => String(text).trim()).sort()).toEqual(['lost', 'lost', 'lost', 'won']);
});

it('does not replace a file of another program', () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'lock'), 'mine, and not of the store');
  expect(() => lockDirectory(directory)).toThrow(
    `${join(directory, 'lock')} has the name of the lock file of the store. Move it away.`,
  );
  expect(readdirSync(directory)).toEqual(['lock']);
});

it('names the remedy if it cannot be taken', () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'lock'));
  expect(() => lockDirectory(directory)).toThrow(
    /cannot be locked: .*\. Use a local disk that this user may write to\.$/,
  );
});

it('works with a long path', () => {
  const directory = join(temporaryDirectory(), 'x'.repeat(200));
  mkdirSync(directory);
  lockDirectory(directory)[Symbol.dispose]();
});

it('is released if the store cannot be opened', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'store.sqlite'), 'damaged');
  await expect(createLowdbStore(directory)).rejects.toThrow('damaged');
  lockDirectory(directory)[Symbol.dispose]();
});
