// The records of running calls at a start: which processes they lead to. No signal of these tests reaches a process.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { identityOf } from '../../src/programs/linux-processes.ts';
import { endLeftovers } from '../../src/programs/program-runner.ts';

import { temporaryDirectory } from '../support/temporary-directory.ts';

const signalled: number[] = [];
beforeEach(() => {
  signalled.length = 0;
  vi.spyOn(process, 'kill').mockImplementation((pid) => {
    signalled.push(pid);
    throw Object.assign(new Error('there is no such process'), { code: 'ESRCH' });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns whom a start signals that finds this record. */
async function signalledFor(record: unknown, name = 'calls'): Promise<readonly number[]> {
  const directory = join(temporaryDirectory(), 'running');
  mkdirSync(directory);
  writeFileSync(join(directory, name), JSON.stringify({ process: record }));
  await endLeftovers(directory, createLog('silent'));
  expect(readFileSync(join(directory, 'id'), 'utf8')).not.toBe('');
  return [...new Set(signalled)];
}

it('a group whose first process runs is ended', async () => {
  expect(await signalledFor(identityOf(process.pid))).toEqual([-process.pid]);
});

it('a process that runs programs is ended before their records are read', async () => {
  expect(await signalledFor(identityOf(process.pid), 'runner')).toEqual([-process.pid]);
});

it('a record of another start, or of another process, leads to none', async () => {
  const own = identityOf(process.pid);
  expect(await signalledFor({ ...own, boot: 'another' })).toEqual([]);
  expect(await signalledFor({ ...own, start: '1' })).toEqual([]);
  expect(await signalledFor({ ...own, pid: 'self' })).toEqual([]);
});

it('a record of the first process of the system does not end every process of this user', async () => {
  expect(await signalledFor(identityOf(1))).toEqual([]);
});
