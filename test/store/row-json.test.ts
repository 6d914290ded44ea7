// How rows are written: a spec once, and of a changed row what has changed. Read again they are as they were, and share
// what is equal.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, RunningAction, ServerRow } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import { encodeFrame } from '../../src/store/frame.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { bytesOfRow, encodeChange } from '../../src/store/row-json.ts';
import type { Store } from '../../src/store/store.ts';
import { serverRow } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const WANTED = specOf('1');
const OTHER = specOf('2');

function specOf(version: string): Spec {
  const names = ['web-1', 'web-2'];
  return {
    kind: 'Platform::Server',
    properties: { name: 'web-1', version, peers: names },
    layers: { shape: { cpus: 2 } },
    configurationOnly: ['peers'],
    dependsOn: [],
    lists: ['web-2'],
  };
}

function running(spec: Spec | null): RunningAction {
  const [started, deadline] = ['2026-11-20T10:13:56.000Z', '2026-11-20T10:23:56.000Z'];
  return { id: 'web-1.0.create', operation: 'create', spec, provider: 'lab', started, deadline };
}

function change(name: string, value: ServerRow | null, expected?: ServerRow): Change {
  return { kind: 'server', name, value, expected };
}

function journalOf(directory: string): string[] {
  return readFileSync(join(directory, 'journal'), 'utf8').trimEnd().split('\n');
}

/** Returns the sum of what all rows take in a snapshot. */
function bytesOf(store: Store): number {
  let sum = 0;
  for (const [name, value] of store.list('server')) sum += bytesOfRow({ kind: 'server', name, value });
  return sum;
}

describe('the JSON of a row', () => {
  it('has the wanted spec once, whatever else holds it', () => {
    const row = serverRow({ wanted: WANTED, applied: WANTED, action: running(WANTED) });
    const { json } = encodeChange(change('web-1', row));
    expect(json.split('"version":"1"')).toHaveLength(2);
    expect(JSON.parse(json)).toMatchObject(['server', 'web-1', { applied: 'wanted', action: { spec: 'wanted' } }]);
  });

  it('has another applied spec, and one that equals a wanted one that is gone', () => {
    const row = serverRow({ wanted: WANTED, applied: OTHER, action: running(OTHER) });
    expect(JSON.parse(encodeChange(change('web-1', row)).json)[2]).toMatchObject({
      applied: OTHER,
      action: { spec: OTHER },
    });
    const unwanted = serverRow({ wanted: null, applied: WANTED });
    expect(JSON.parse(encodeChange(change('web-1', unwanted)).json)[2]).toMatchObject({ applied: WANTED });
  });

  it('has of a changed row the changed fields', () => {
    const row = serverRow({ wanted: WANTED });
    const { json } = encodeChange(change('web-1', { ...row, state: 'creating', action: running(WANTED) }, row));
    const fields = { state: 'creating', action: { ...running(WANTED), spec: 'wanted' } };
    expect(JSON.parse(json)).toEqual(['server', 'web-1', fields, 'changed']);
  });

  it('has an applied spec that is the wanted one no more', () => {
    const row = serverRow({ wanted: WANTED, applied: WANTED });
    const { json } = encodeChange(change('web-1', { ...row, wanted: OTHER }, row));
    expect(JSON.parse(json)).toEqual(['server', 'web-1', { wanted: OTHER, applied: WANTED }, 'changed']);
  });

  it('has an applied spec that changes with the wanted one', () => {
    const row = serverRow({ wanted: WANTED, applied: WANTED });
    const { json } = encodeChange(change('web-1', { ...row, wanted: OTHER, applied: OTHER }, row));
    expect(JSON.parse(json)).toEqual(['server', 'web-1', { wanted: OTHER, applied: 'wanted' }, 'changed']);
  });

  it('has the whole row where a field is gone', () => {
    const row = serverRow({ isPretended: true });
    const { isPretended: _, ...rest } = row;
    expect(JSON.parse(encodeChange(change('web-1', rest, row)).json)).toHaveLength(3);
  });
});

const spec = fc.constantFrom(WANTED, OTHER, specOf('1'), null);
const fields = fc.record(
  {
    wanted: spec,
    applied: spec,
    action: fc.option(spec.map(running)),
    state: fc.constantFrom('pending' as const, 'done' as const),
    outputs: fc.constantFrom({}, { ip: 'ü' }),
    isPretended: fc.constant(true),
    observed: fc.constantFrom(null, { version: '3' }),
  },
  { requiredKeys: ['wanted', 'applied', 'action'] },
);

it('counts how many more bytes any row takes in a snapshot after any change, none included', () => {
  const sizeOf = (value: ServerRow): number => bytesOfRow({ kind: 'server', name: 'web-1', value });
  fc.assert(
    fc.property(fields, fields, (before, changed) => {
      const row = serverRow(before);
      const after = { ...row, ...changed };
      expect(encodeChange(change('web-1', after, row)).growth).toBe(sizeOf(after) - sizeOf(row));
    }),
    {
      numRuns: 10_000,
      examples: [
        [
          { wanted: null, applied: null, action: null },
          { wanted: null, applied: null, action: null },
        ],
      ],
    },
  );
});

describe('a store', () => {
  it('finds every row again as it was, however rows were changed, and counts their bytes', async () => {
    const steps = fc.array(
      fc.record({ name: fc.constantFrom('web-1', 'web-2'), keeps: fc.boolean(), row: fc.option(fields) }),
      {
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 3000 }), async (history, compactionBytes) => {
        const directory = temporaryDirectory();
        const store = await createLowdbStore(directory, { compactionBytes });
        for (const { name, keeps, row } of history) {
          const before = store.read('server', name);
          const kept = keeps && before !== undefined ? before : serverRow();
          await store.commit([change(name, row === null ? null : { ...kept, ...row }, before)]);
          expect(store.rowBytes).toBe(bytesOf(store));
        }
        const rows = new Map(store.list('server'));
        await store.close();
        const reopened = await createLowdbStore(directory);
        expect(new Map(reopened.list('server'))).toEqual(rows);
        expect(reopened.rowBytes).toBe(bytesOf(reopened));
        await reopened.close();
      }),
      { numRuns: 60 },
    );
  });

  it('keeps an applied spec that was equal to the wanted one, but not the same, when another is wanted', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    const row = serverRow({ wanted: WANTED, applied: specOf('1') });
    await store.commit([change('web-1', row)]);
    const next = { ...row, wanted: OTHER };
    await store.commit([change('web-1', next, row)]);
    await store.commit([change('web-1', { ...next, applied: OTHER }, next)]);
    await store.commit([change('web-1', { ...next, applied: specOf('1') }, store.read('server', 'web-1'))]);
    await store.close();
    const reopened = await createLowdbStore(directory);
    expect(reopened.read('server', 'web-1')).toEqual({ ...row, wanted: OTHER });
    await reopened.close();
  });

  it('writes as much for a change of one row, however many rows and however large a spec there are', async () => {
    const written: number[] = [];
    for (const [servers, value] of [
      [10, 'x'],
      [1000, 'x'.repeat(10_000)],
    ] as const) {
      const store = await createLowdbStore(temporaryDirectory());
      const wanted = { ...WANTED, properties: { ...WANTED.properties, motd: value } };
      const names = Array.from({ length: servers }, (_, index) => `web-${index + 1}`);
      await store.commit(names.map((name) => change(name, serverRow({ wanted, applied: wanted }))));
      const [before, row] = [store.journalBytes, store.read('server', 'web-5')];
      if (row === undefined) throw new Error('web-5 was saved');
      await store.commit([change('web-5', { ...row, state: 'updating', action: running(wanted) }, row)]);
      written.push(store.journalBytes - before);
      await store.close();
    }
    expect(written[0]).toBe(written[1]);
    expect(written[0]).toBeLessThan(400);
  });

  it('keeps equal parts of the rows of a group once after a restart', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    const copy = (spec: Spec): Spec => JSON.parse(JSON.stringify(spec));
    await store.commit(
      ['web-1', 'web-2'].map((name) => change(name, serverRow({ wanted: copy(WANTED), applied: copy(WANTED) }))),
    );
    await store.close();
    const reopened = await createLowdbStore(directory);
    const [one, two] = ['web-1', 'web-2'].map((name) => reopened.read('server', name));
    expect(one?.applied).toBe(one?.wanted);
    expect(two?.policy).toBe(one?.policy);
    expect(two?.outputs).toBe(one?.outputs);
    expect(two?.wanted?.layers).toBe(one?.wanted?.layers);
    expect(two?.wanted?.configurationOnly).toBe(one?.wanted?.configurationOnly);
    expect(two?.wanted?.properties.peers).toBe(one?.wanted?.properties.peers);
    expect(reopened.rowBytes).toBe(bytesOf(reopened));
    await reopened.close();
  });

  it('refuses a journal that changes a row which is not there', async () => {
    const directory = temporaryDirectory();
    const store = await createLowdbStore(directory);
    const row = serverRow();
    await store.commit([change('web-1', row)]);
    await store.commit([change('web-1', { ...row, state: 'blocked' }, row)]);
    await store.close();
    const [head = '', , last = ''] = journalOf(directory).map((line) => line.slice(18));
    writeFileSync(
      join(directory, 'journal'),
      Buffer.concat([head, last.replace('"sequence":2', '"sequence":1')].map(encodeFrame)),
    );
    await expect(createLowdbStore(directory)).rejects.toThrow('journal is damaged');
  });

  it('reads rows of version 3, which hold a spec twice, and writes them anew', async () => {
    const directory = temporaryDirectory();
    const row = serverRow({ wanted: WANTED, applied: WANTED, action: running(WANTED) });
    const group = { sequence: 1, rows: [['server', 'web-1', row]] };
    const head = { format: 'treeline-journal', version: 3, after: 0 };
    writeFileSync(
      join(directory, 'journal'),
      Buffer.concat([head, group].map((json) => encodeFrame(JSON.stringify(json)))),
    );
    const store = await createLowdbStore(directory);
    expect(store.read('server', 'web-1')).toEqual(row);
    expect(store.read('server', 'web-1')?.applied).toBe(store.read('server', 'web-1')?.wanted);
    await store.close();
    expect(journalOf(directory)[0]).toContain('"version":4');
    expect(readFileSync(join(directory, 'snapshot'), 'utf8')).toContain('"applied":"wanted"');
    const reopened = await createLowdbStore(directory);
    expect(reopened.read('server', 'web-1')).toEqual(row);
    await reopened.close();
  });
});
