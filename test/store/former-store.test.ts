// Files of the format that version 0.1.0 writes, kept in `former/`: a snapshot, a journal with whole rows, changed fields and
// removals, and a backup that was taken before the last commit. Every later version reads all of it.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { InstanceEvent } from '../../src/model/instance-event.ts';
import type { RowKind } from '../../src/model/rows.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { restoreStore } from '../../src/store/restore-store.ts';
import type { Store } from '../../src/store/store.ts';
import { emptyStoreDocument } from '../../src/store/store-document.ts';
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
  return lines.map((line) => JSON.parse(line) as Line);
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
