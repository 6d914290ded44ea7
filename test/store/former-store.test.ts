// Files of the format that version 0.1.0 writes, kept in `former/`: a snapshot, a journal with whole rows, changed fields and
// removals, and a backup that was taken before the last commit. Every later version reads all of it.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { InstanceEvent } from '../../src/model/instance-event.ts';
import type { RowKind } from '../../src/model/rows.ts';
import { FORMER_FILES } from '../../src/store/former-store.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import type { Store } from '../../src/store/store.ts';
import { emptyStoreDocument } from '../../src/store/store-document.ts';
import { restoreStore } from '../../src/store/store-file.ts';
import { serverRow } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const FORMER = join(import.meta.dirname, 'former');
const KINDS = Object.keys(emptyStoreDocument().tables) as RowKind[];
const INSTANCES = ['office', 'shop'];
/** The last commit removed this server's row, and brought the events of this minute. */
const LAST = { server: 'a-web-3-s2', minute: '2026-11-20T10:05:' };

/** A row as `[kind, name, row]`, and an event as `['event', instance, event]`. */
type Line = readonly [kind: string, name: string, value: unknown];

/** Returns what `former/expected.jsonl` holds: everything that is in the store after its last commit. */
function expectedLines(): Line[] {
  const lines = readFileSync(join(FORMER, 'expected.jsonl'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [kind, name, value] = JSON.parse(line) as Line;
    return kind === 'event' ? [kind, name, { ...(value as InstanceEvent), clientName: null }] : [kind, name, value];
  });
}

async function linesIn(store: Store): Promise<Line[]> {
  const lines: Line[] = KINDS.flatMap((kind) => [...store.list(kind)].map(([name, row]): Line => [kind, name, row]));
  for (const instance of INSTANCES) {
    const { events } = await store.events(instance, { after: 0, limit: 1000 });
    lines.push(...events.map((event): Line => ['event', instance, event]));
  }
  return sorted(lines);
}

/** Sorted, and with fields that are undefined left out, as JSON has them. */
function sorted(lines: readonly Line[]): Line[] {
  const keyOf = ([kind, name, value]: Line): string =>
    JSON.stringify([kind, name, kind === 'event' ? (value as InstanceEvent).id : 0]);
  const plain = JSON.parse(JSON.stringify(lines)) as Line[];
  return plain.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

describe('files of a former version', () => {
  it('are a store with every row and event', async () => {
    const directory = temporaryDirectory();
    for (const file of ['snapshot', 'journal']) copyFileSync(join(FORMER, file), join(directory, file));
    const store = await createLowdbStore(directory);
    expect(await linesIn(store)).toEqual(sorted(expectedLines()));
    await store.close();
  });

  it('are a backup that is restored with every row and event', async () => {
    const directory = temporaryDirectory();
    const former = join(FORMER, 'backup');
    await restoreStore(directory, former, { force: false, now: Date.now(), renew: () => [] });
    const store = await createLowdbStore(directory);
    expect(store.read('server', LAST.server)).toMatchObject({
      instance: expect.any(String),
      state: expect.any(String),
    });
    const isBefore = ([kind, , value]: Line): boolean =>
      kind !== 'event' || !(value as InstanceEvent).time.startsWith(LAST.minute);
    const found = (await linesIn(store)).filter(([kind, name]) => kind !== 'server' || name !== LAST.server);
    expect(found).toEqual(sorted(expectedLines().filter(isBefore)));
    await store.close();
  });
});

describe('a journal of a former version', () => {
  /** Each record of a file, with its line end. */
  function recordsOf(path: string): Buffer[] {
    const bytes = readFileSync(path);
    const records: Buffer[] = [];
    for (let start = 0, end = bytes.indexOf(10); end !== -1; start = end + 1, end = bytes.indexOf(10, start)) {
      records.push(bytes.subarray(start, end + 1));
    }
    return records;
  }

  async function opened(file: string, bytes: Buffer): Promise<number> {
    const directory = temporaryDirectory();
    for (const name of FORMER_FILES) copyFileSync(join(FORMER, name), join(directory, name));
    writeFileSync(join(directory, file), bytes);
    const store = await createLowdbStore(directory);
    const events = await store.events('shop', { after: 0, limit: 1000 });
    await store.close();
    return events.events.length;
  }

  it('that ends in a torn record lacks that commit alone, wherever it is torn', async () => {
    const records = recordsOf(join(FORMER, 'journal'));
    const last = records.at(-1) ?? Buffer.alloc(0);
    const all = await opened('journal', Buffer.concat(records));
    for (const length of [1, 17, 18, 100, last.length - 1]) {
      const torn = Buffer.concat([...records.slice(0, -1), last.subarray(0, length)]);
      expect(await opened('journal', torn)).toBeLessThan(all);
    }
  });

  it.each([
    ['journal', 0],
    ['journal', 1],
    ['snapshot', 0],
    ['snapshot', 1],
    ['snapshot', 5],
  ])('is refused where its %s has a flipped bit in record %d, and the files stay', async (file, index) => {
    const records = recordsOf(join(FORMER, file));
    const before = records.slice(0, index).reduce((sum, { length }) => sum + length, 0);
    const bytes = Buffer.concat(records);
    for (const at of [0, 9, 18, 40]) {
      const damaged = Buffer.from(bytes);
      damaged[before + at] = (damaged[before + at] ?? 0) ^ 1;
      await expect(opened(file, damaged)).rejects.toThrow(`/${file} is damaged: `);
    }
  });

  it.each([
    ['of a kind that is not known', ['wanted', 'web-1', {}]],
    ['of a server without its wanted spec', ['server', 'web-1', { ...serverRow(), wanted: 'wanted' }]],
    ['without a field', ['node', 'a', { oid: 'x' }]],
    ['that is no map', ['node', 'a', ['x']]],
  ])('is refused where it has a row %s', async (_what, row) => {
    const records = recordsOf(join(FORMER, 'journal'));
    const { sequence } = JSON.parse((records.at(-1) ?? '').toString().slice('00000000 00000000 '.length));
    const json = Buffer.from(`${JSON.stringify({ sequence: sequence + 1, rows: [row] })}\n`);
    const head = [json.length, crc32(json)].map((value) => `${value.toString(16).padStart(8, '0')} `).join('');
    await expect(opened('journal', Buffer.concat([...records, Buffer.from(head), json]))).rejects.toThrow(
      `/journal is damaged: the row of the ${row[0]} "${row[1]}" does not fit those before it, or lacks a field.`,
    );
  });

  it('is refused where a record or the journal is missing', async () => {
    const [head = Buffer.alloc(0), , ...rest] = recordsOf(join(FORMER, 'journal'));
    await expect(opened('journal', Buffer.concat([head, ...rest]))).rejects.toThrow('a record is missing');
    const directory = temporaryDirectory();
    copyFileSync(join(FORMER, 'snapshot'), join(directory, 'snapshot'));
    await expect(createLowdbStore(directory)).rejects.toThrow('it is missing, though there is a snapshot beside it');
  });

  it('is kept aside once it is taken over, and not read again', async () => {
    const directory = temporaryDirectory();
    for (const name of FORMER_FILES) copyFileSync(join(FORMER, name), join(directory, name));
    await (await createLowdbStore(directory)).close();
    const aside = readdirSync(directory).find((name) => name.startsWith('former-')) ?? '';
    expect(readdirSync(directory).sort()).toEqual([aside, 'lock', 'store.sqlite']);
    for (const name of FORMER_FILES)
      expect(readFileSync(join(directory, aside, name))).toEqual(readFileSync(join(FORMER, name)));
  });
});
