// The embedded store's files after something else than Treeline wrote to them, or a crash in the middle of a write.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { encodeFrame } from '../../src/store/frame.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { encodeGroup } from '../../src/store/replay.ts';
import { encodeRow } from '../../src/store/row-json.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { textRow, writeText } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
let journal: string;
let snapshot: string;

beforeEach(() => {
  directory = temporaryDirectory();
  journal = join(directory, 'journal');
  snapshot = join(directory, 'snapshot');
});

async function commitTexts(texts: readonly string[], options: { compactionBytes?: number } = {}): Promise<void> {
  const store = await createLowdbStore(directory, options);
  for (const text of texts) await store.commit([writeText(text, text)]);
  await store.close();
}

/** Opens, commits one more row, opens again: what is found each time. */
async function namesFound(): Promise<string[]> {
  const store = await createLowdbStore(directory);
  const names = [...store.list('node').keys()];
  await store.commit([writeText('more', 'more', store.read('node', 'more'))]);
  await store.close();
  const reopened = await createLowdbStore(directory);
  expect([...reopened.list('node').keys()]).toEqual([...names, 'more']);
  await reopened.close();
  return names;
}

async function refusal(): Promise<string> {
  const before = readFileSync(journal);
  const error: unknown = await createLowdbStore(directory).then(
    async (store) => {
      await store.close();
      return new Error('it opened');
    },
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  expect(readFileSync(journal).equals(before)).toBe(true);
  return String(error);
}

/** Where each record of a file begins, and its end. */
function bordersOf(path: string): number[] {
  const bytes = readFileSync(path);
  const borders = [0];
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) borders.push(at + 1);
  return borders;
}

function flip(bytes: Buffer, at: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ 1;
  return flipped;
}

describe('a torn tail', () => {
  it('is cut off at every byte of the last record', async () => {
    await commitTexts(['a', 'b', 'c']);
    const whole = readFileSync(journal);
    const [, , , start = 0, end = 0] = bordersOf(journal);
    expect(end).toBe(whole.length);
    for (let length = start; length < end; length++) {
      writeFileSync(journal, whole.subarray(0, length));
      expect(await namesFound()).toEqual(['a', 'b']);
    }
  });

  it('is cut off with all records of its commit, at every byte of each', async () => {
    await commitTexts(['a', 'b']);
    const store = await createLowdbStore(directory, { recordLength: 1 });
    await store.commit(['c', 'd', 'e'].map((text) => writeText(text, text)));
    await store.close();
    const whole = readFileSync(journal);
    const [, , , start = 0, ...others] = bordersOf(journal);
    expect(others).toHaveLength(3);
    for (let length = start; length < whole.length; length++) {
      writeFileSync(journal, whole.subarray(0, length));
      expect(await namesFound()).toEqual(['a', 'b']);
    }
    writeFileSync(journal, whole);
    expect(await namesFound()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it.each([
    ['zeros', Buffer.alloc(5000)],
    ['noise', Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7919) % 256))],
    ['line breaks', Buffer.alloc(3000, '\n')],
    ['a head without its record', Buffer.from('00000040 12345678 ')],
    ['a record that claims to be huge', Buffer.from('ffffffff 12345678 {"sequence":3}\n')],
  ])('of %s is cut off, and logged', async (_case, tail) => {
    await commitTexts(['a', 'b']);
    writeFileSync(journal, Buffer.concat([readFileSync(journal), tail]));
    const lines: string[] = [];
    const log = createLog('warn', { write: (line) => lines.push(line) });
    await (await createLowdbStore(directory, { log })).close();
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ file: journal, bytes: tail.length });
    expect(await namesFound()).toEqual(['a', 'b']);
  });

  it('is also a last record whose bytes are all there and one is wrong', async () => {
    await commitTexts(['a', 'b']);
    const whole = readFileSync(journal);
    writeFileSync(journal, flip(whole, whole.length - 10));
    expect(await namesFound()).toEqual(['a']);
  });
});

describe('a damaged journal', () => {
  it('is refused for every byte of a record before the last, with file and place', async () => {
    await commitTexts(['a', 'b', 'c']);
    const whole = readFileSync(journal);
    const [, , start = 0, end = 0] = bordersOf(journal);
    for (let at = start; at < end; at++) {
      writeFileSync(journal, flip(whole, at));
      const message = await refusal();
      expect(message).toContain(`damaged at byte ${start}: ${journal}`);
      expect(message).toContain(`truncate --size=${start} '${journal}'`);
    }
  });

  it('opens again after the cut that the message advises', async () => {
    await commitTexts(['a', 'b', 'c']);
    const [, , start = 0] = bordersOf(journal);
    const whole = readFileSync(journal);
    writeFileSync(journal, flip(whole, start + 30));
    await refusal();
    writeFileSync(journal, whole.subarray(0, start));
    expect(await namesFound()).toEqual(['a']);
  });

  it('is refused where a whole record is missing', async () => {
    await commitTexts(['a', 'b', 'c']);
    const whole = readFileSync(journal);
    const [, , start = 0, end = 0] = bordersOf(journal);
    writeFileSync(journal, Buffer.concat([whole.subarray(0, start), whole.subarray(end)]));
    expect(await refusal()).toContain(`damaged at byte ${start}`);
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['of another program', Buffer.from('hello\n')],
    ['a snapshot', encodeFrame('{"format":"treeline-snapshot","version":2,"after":0}')],
    ['a list', encodeFrame('[]')],
  ])('is refused where the file is %s', async (_case, bytes) => {
    writeFileSync(journal, bytes);
    expect(await refusal()).toContain('damaged at byte 0');
  });

  it.each([
    ['version', '{"format":"treeline-journal","version":5,"after":0}', [], 'format version 5, not 4'],
    ['record', undefined, ['{"sequence":1,"deltas":[]}'], 'a record it does not know, at byte 70'],
    ['row', undefined, ['{"sequence":1,"rows":[["lease","x",{}]]}'], 'a record it does not know'],
    ['row value', undefined, ['{"sequence":1,"rows":[["head","x",7]]}'], 'a record it does not know'],
    ['row shape', undefined, ['{"sequence":1,"rows":[["head","x"]]}'], 'a record it does not know'],
  ])('is refused where another Treeline wrote it: %s', async (_case, head, records, message) => {
    const first = head ?? '{"format":"treeline-journal","version":4,"after":0}';
    writeFileSync(journal, Buffer.concat([first, ...records].map(encodeFrame)));
    const refused = await refusal();
    expect(refused).toContain('another version of Treeline');
    expect(refused).toContain(message);
  });

  it('is refused where it is missing beside a snapshot', async () => {
    await commitTexts(['a'], { compactionBytes: 10 });
    rmSync(journal);
    await expect(createLowdbStore(directory)).rejects.toThrow(`${journal} is missing`);
  });
});

describe('a damaged snapshot', () => {
  it('is refused for every byte', async () => {
    await commitTexts(['a', 'b'], { compactionBytes: 10 });
    const whole = readFileSync(snapshot);
    for (let at = 0; at < whole.length; at++) {
      writeFileSync(snapshot, flip(whole, at));
      expect(await refusal()).toContain(`snapshot is damaged at byte`);
    }
  });

  it.each([
    ['one record too few', (borders: number[]) => borders.at(-2) ?? 0],
    ['half a record', (borders: number[]) => (borders.at(-1) ?? 0) - 7],
    ['nothing', () => 0],
  ])('is refused with %s', async (_case, lengthOf) => {
    await commitTexts(['a', 'b'], { compactionBytes: 10 });
    writeFileSync(snapshot, readFileSync(snapshot).subarray(0, lengthOf(bordersOf(snapshot))));
    expect(await refusal()).toContain('snapshot is damaged');
  });

  it('is refused where it is older than the journal, or missing', async () => {
    await commitTexts(['a'], { compactionBytes: 10 });
    const older = readFileSync(snapshot);
    await commitTexts(['b', 'c', 'd'], { compactionBytes: 10 });
    writeFileSync(snapshot, older);
    expect(await refusal()).toContain('one of the two is from another time');
    rmSync(snapshot);
    expect(await refusal()).toContain('the snapshot beside it ends with 0');
  });

  it('is refused where another Treeline wrote it', async () => {
    await commitTexts(['a'], { compactionBytes: 10 });
    const head = (version: number) => `{"format":"treeline-snapshot","version":${version},"sequence":1,"rows":1}`;
    writeFileSync(snapshot, encodeFrame(head(5)));
    expect(await refusal()).toContain('format version 5, not 4');
    writeFileSync(snapshot, Buffer.concat([encodeFrame(head(4)), encodeFrame('["lease","x",{}]')]));
    expect(await refusal()).toContain('a row it does not know');
  });
});

describe('what a crash while compacting leaves', () => {
  it('is passed over: the journal of before, and half-written files beside', async () => {
    await commitTexts(['a', 'b']);
    const before = readFileSync(journal);
    const record = encodeGroup(3, [encodeRow({ kind: 'node', name: 'c', value: textRow('c') })]);
    await commitTexts(['c'], { compactionBytes: 10 });
    writeFileSync(journal, Buffer.concat([before, encodeFrame(record)]));
    writeFileSync(`${snapshot}.new`, 'half');
    writeFileSync(`${journal}.new`, 'half');
    expect(await namesFound()).toEqual(['a', 'b', 'c']);
  });

  it('is no obstacle where the journal was cut off before the end of the snapshot', async () => {
    await commitTexts(['a', 'b']);
    const before = readFileSync(journal);
    const store = await createLowdbStore(directory, { compactionBytes: 10 });
    await store.commit([writeText('a', null, store.read('node', 'a')), writeText('c', 'c')]);
    await store.close();
    writeFileSync(journal, before);
    expect(await namesFound()).toEqual(['b', 'c']);
  });
});
