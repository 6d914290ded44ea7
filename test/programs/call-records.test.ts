// The records of running calls: what the next start reads after calls have come and gone, and after accidents.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { CallRecords, readCallRecords } from '../../src/programs/call-records.ts';
import { identityOf } from '../../src/programs/linux-processes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const OWN = identityOf(process.pid);
const PARENT = identityOf(process.ppid);
let directory: string;
let records: CallRecords;
beforeEach(() => {
  directory = join(temporaryDirectory(), 'running');
  mkdirSync(directory);
  records = new CallRecords(directory);
});

it('holds what was written and not cleared', () => {
  const own = records.write(process.pid, { server: 'web-1' });
  const parent = records.write(process.ppid, {});
  expect(readCallRecords(directory)).toEqual([OWN, PARENT]);
  records.clear(own);
  expect(readCallRecords(directory)).toEqual([PARENT]);
  records.clear(parent);
  expect(readCallRecords(directory)).toEqual([]);
});

it('uses the lines of calls that have ended again', () => {
  for (let count = 0; count < 100; count++) {
    const lines = [records.write(process.pid, { server: 'x'.repeat(count) }), records.write(process.pid, {})];
    for (const line of lines) records.clear(line);
  }
  expect(statSync(join(directory, 'calls')).size).toBe(1024);
});

it('leaves out facts that do not fit, and keeps what is no ASCII off the disk', () => {
  records.write(process.pid, { server: 'x'.repeat(600) });
  records.write(process.ppid, { server: 'ü\u2028' });
  expect(readCallRecords(directory)).toEqual([OWN, PARENT]);
  expect(readFileSync(join(directory, 'calls'), 'utf8')).toContain('"server":"??"');
});

it('skips a line that is torn, and one that was never written', () => {
  records.write(process.pid, {});
  records.write(process.pid, {});
  const file = join(directory, 'calls');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, `${text.slice(0, 40)}${'\0'.repeat(472)}${text.slice(512)}${text.slice(0, 60)}`);
  expect(readCallRecords(directory)).toEqual([OWN]);
});

it('makes a file again that was removed or moved, and refuses where it cannot', () => {
  const lost = records.write(process.pid, {});
  renameSync(join(directory, 'calls'), join(directory, 'moved'));
  records.write(process.ppid, {});
  expect(readCallRecords(directory)).toEqual([PARENT]);
  records.clear(lost);
  expect(readCallRecords(directory)).toEqual([PARENT]);
  rmSync(directory, { recursive: true });
  expect(() => records.write(process.pid, {})).toThrow('ENOENT');
});

it('removes the file in the end, unless a call is left to the next start', () => {
  const line = records.write(process.pid, {});
  records.close();
  expect(readCallRecords(directory)).toEqual([OWN]);
  records.write(process.ppid, {});
  records.clear(line);
  records.close();
  expect(readCallRecords(directory)).toEqual([PARENT]);
});
