// The file of the audit log: what stands in a line, and what becomes of the file and its disk meanwhile.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type AuditEntry, AuditLog } from '../src/base/audit-log.ts';
import { createLog } from '../src/base/log.ts';
import type { JsonMap } from '../src/model/json.ts';
import { ManualClock } from './support/manual-clock.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const WRITE: AuditEntry = { kind: 'write', decision: 'allowed', serial: '1A', object: 'tree' };
const REFUSED: AuditEntry = { kind: 'certificate', decision: 'refused', reason: 'CERT_HAS_EXPIRED' };

let clock: ManualClock;
let file: string;
let logged: JsonMap[];
beforeEach(() => {
  clock = new ManualClock();
  file = join(temporaryDirectory(), 'audit.log');
  logged = [];
});

function open(): AuditLog {
  const log = createLog('info', { write: (line) => logged.push(JSON.parse(line)) });
  const audit = new AuditLog({ file, replica: 'one', clock, log });
  onTestFinished(() => audit.close());
  return audit;
}

function linesIn(path = file): JsonMap[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const objectsIn = (path = file) => linesIn(path).map(({ object }) => object);

describe('a line of the audit log', () => {
  it('has time, replica and known fields, and is written when the call returns', () => {
    open().record({ ...WRITE, commit: null, branch: undefined });
    expect(readFileSync(file, 'utf8')).toBe(
      '{"time":"2026-11-20T10:13:56.000Z","replica":"one","kind":"write","decision":"allowed","serial":"1A","object":"tree"}\n',
    );
  });

  it('is one line of limited length without control characters', () => {
    const name = `\u001b[2J\n{"kind":"write"}\u009b2J\u2028\u007f\u202e\u061c${'x'.repeat(5_000)}`;
    open().record({ ...WRITE, name });
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/^[ -~…]*\n$/);
    const [line] = linesIn();
    expect(line?.name).toBe(`${name.slice(0, 999)}…`);
  });

  it('is in a file that its group may read, with any umask', () => {
    const before = process.umask(0o077);
    onTestFinished(() => void process.umask(before));
    open().record(WRITE);
    expect((statSync(file).mode & 0o777).toString(8)).toBe('640');
  });
});

it('the audit log writes repeated refusals once a minute with their number, and all other lines', () => {
  const audit = open();
  for (let index = 0; index < 1_000; index++) {
    audit.record(REFUSED);
    audit.record({ ...WRITE, object: String(index) });
  }
  audit.record({ kind: 'permission', decision: 'refused' });
  const kinds = linesIn().map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'write')).toHaveLength(1_000);
  expect(kinds.filter((kind) => kind === 'permission')).toHaveLength(1);
  expect(kinds.filter((kind) => kind === 'certificate')).toHaveLength(1);
  audit.record({ ...REFUSED, reason: 'another' });
  expect(linesIn().at(-1)).toMatchObject({ kind: 'certificate', reason: 'another' });
  clock.advance(60_000);
  audit.record(REFUSED);
  expect(linesIn().at(-1)).toMatchObject({ kind: 'certificate', decision: 'refused', repeated: 999 });
  audit.close();
});

describe('a rotated audit log', () => {
  it('is opened again on request', () => {
    const audit = open();
    audit.record({ ...WRITE, object: 'a' });
    renameSync(file, `${file}.1`);
    audit.reopen();
    audit.record({ ...WRITE, object: 'b' });
    rmSync(file);
    audit.reopen();
    audit.record({ ...WRITE, object: 'c' });
    expect([objectsIn(`${file}.1`), objectsIn()]).toEqual([['a'], ['c']]);
  });

  it('continues at its start after copytruncate', () => {
    const audit = open();
    audit.record({ ...WRITE, object: 'a' });
    truncateSync(file);
    audit.record({ ...WRITE, object: 'b' });
    expect(objectsIn()).toEqual(['b']);
  });

  it('keeps what another process appends', () => {
    const audit = open();
    audit.record({ ...WRITE, object: 'a' });
    appendFileSync(file, '{"object":"b"}\n');
    audit.record({ ...WRITE, object: 'c' });
    expect(objectsIn()).toEqual(['a', 'b', 'c']);
  });
});

it('the audit log starts a new line after a partial one', () => {
  writeFileSync(file, '{"time":"2026');
  open().record(WRITE);
  expect(readFileSync(file, 'utf8').split('\n')).toEqual(['{"time":"2026', expect.stringContaining('"tree"'), '']);
});

describe('an audit log that cannot be written', () => {
  const LOST = 'the audit log cannot be written, and loses lines';
  const AGAIN = 'the audit log can be written again';
  const messages = () => logged.map(({ msg }) => msg);

  it('is reported once, until a line can be written', () => {
    mkdirSync(file);
    const audit = open();
    audit.record(WRITE);
    clock.advance(20_000);
    audit.record(WRITE);
    const since = '2026-11-20T10:13:56.000Z';
    expect(audit.failure).toEqual({ reason: `${file} cannot be written: it is a folder`, since });
    expect(messages()).toEqual([LOST]);
    rmSync(file, { recursive: true });
    audit.record({ ...WRITE, object: 'new' });
    expect(objectsIn()).toEqual(['new']);
    expect(audit.failure).toBeUndefined();
    expect(messages()).toEqual([LOST, AGAIN]);
  });

  it('may not be a device, and its directory may be created later', () => {
    const place = file;
    file = '/dev/null';
    expect(open().failure?.reason).toContain('it is not a file');
    file = join(place, '..', 'later', 'audit.log');
    const audit = open();
    expect(audit.failure?.reason).toContain('it is not there');
    mkdirSync(join(place, '..', 'later'));
    audit.record(WRITE);
    expect(existsSync(file)).toBe(true);
  });
});
