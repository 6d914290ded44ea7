// The records of calls: what the next start reads of the last calls of servers, after accidents too.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { CallRecords } from '../../src/programs/call-records.ts';
import { identityOf } from '../../src/programs/linux-processes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const WEB = { about: { server: 'web-1', action: 'ü\n' }, mark: 'm.1' };
const DB = { about: { server: '../db', action: 'c' }, mark: 'm.2' };
const RECORDED = { ...WEB, leader: identityOf(process.pid) };
let directory: string;
let records: CallRecords;
beforeEach(() => {
  directory = join(temporaryDirectory(), 'running');
  mkdirSync(directory);
  records = new CallRecords(directory);
});

/** Changes where and when the one record was written. */
function changePlace(change: (place: Record<string, string>) => object): void {
  const [name = ''] = readdirSync(directory);
  const record = JSON.parse(readFileSync(join(directory, name), 'utf8'));
  writeFileSync(join(directory, name), JSON.stringify({ ...record, place: change(record.place) }));
}

it('CallRecords returns the last call of each server until that is removed', () => {
  records.write(process.ppid, { ...WEB, mark: 'm.0' });
  records.write(process.pid, WEB);
  records.write(process.ppid, DB);
  const other = { ...DB, leader: identityOf(process.ppid) };
  expect(new Set(records.read())).toEqual(new Set([RECORDED, other]));
  records.remove(DB);
  expect(records.read()).toEqual([RECORDED]);
  records.remove(WEB);
  expect(readdirSync(directory)).toEqual([]);
});

it('CallRecords removes truncated records and files of other versions', () => {
  records.write(process.pid, WEB);
  const [name = ''] = readdirSync(directory);
  const text = readFileSync(join(directory, name), 'utf8');
  mkdirSync(join(directory, 'calls'));
  writeFileSync(join(directory, 'cut.json'), text.slice(0, -10));
  expect(records.read()).toEqual([RECORDED]);
  expect(readdirSync(directory)).toEqual([name]);
});

it('CallRecords throws when a record cannot be written', () => {
  rmSync(directory, { recursive: true });
  expect(() => records.write(process.pid, WEB)).toThrow('ENOENT');
});

it('CallRecords ignores the records of a copied directory', () => {
  records.write(process.pid, WEB);
  const copy = `${directory}-copy`;
  cpSync(directory, copy, { recursive: true });
  expect([new CallRecords(copy).read(), records.read()]).toEqual([[], [RECORDED]]);
});

it('CallRecords ignores a record from before a restart of the machine, and from another machine', () => {
  records.write(process.pid, WEB);
  changePlace((own) => ({ ...own, boot: 'earlier' }));
  expect(records.read()).toEqual([]);
});
