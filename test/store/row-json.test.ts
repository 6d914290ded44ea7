// How rows are kept: a spec once, and the wanted one in a row of its own. Read again they are as they were, and share what is
// equal.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change, RunningAction, ServerRow } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { keptRows } from '../../src/store/row-json.ts';
import { countRuns } from '../support/count-runs.ts';
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

/** Returns the rows of a change as they are kept, parsed. */
function kept(value: ServerRow | null, expected?: ServerRow): unknown[] {
  return keptRows({ kind: 'server', name: 'web-1', value }, expected).map(([kind, , json]) => [
    kind,
    JSON.parse(json ?? 'null'),
  ]);
}

describe('the rows of a server', () => {
  it('have the wanted spec once, in a row of its own, whatever else holds it', () => {
    const row = serverRow({ wanted: WANTED, applied: WANTED, action: running(WANTED) });
    const [own, wanted] = kept(row);
    expect(own).toEqual([
      'server',
      { ...row, wanted: 'wanted', applied: 'wanted', action: { ...row.action, spec: 'wanted' } },
    ]);
    expect(wanted).toEqual(['desired', WANTED]);
  });

  it('have another applied spec, and one that equals a wanted one that is gone', () => {
    const row = serverRow({ wanted: WANTED, applied: OTHER, action: running(OTHER) });
    expect(kept(row)[0]).toEqual(['server', { ...row, wanted: 'wanted' }]);
    const unwanted = serverRow({ wanted: null, applied: WANTED });
    expect(kept(unwanted)).toEqual([['server', unwanted]]);
  });

  it('are one where the wanted spec stays, two where it changes, and go together', () => {
    const row = serverRow({ wanted: WANTED, applied: WANTED });
    expect(kept({ ...row, state: 'creating' }, row)).toHaveLength(1);
    expect(kept({ ...row, wanted: OTHER }, row)).toEqual([
      ['server', { ...row, wanted: 'wanted', applied: WANTED }],
      ['desired', OTHER],
    ]);
    expect(kept({ ...row, wanted: null }, row)[1]).toEqual(['desired', null]);
    expect(kept(null, row)).toEqual([
      ['server', null],
      ['desired', null],
    ]);
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
    observed: fc.constantFrom(null, { version: '3' }),
  },
  { requiredKeys: ['wanted', 'applied', 'action'] },
);

describe('a store', () => {
  it('finds every row again as it was, however rows were changed', {
    timeout: 120_000,
  }, async () => {
    const steps = fc.array(
      fc.record({ name: fc.constantFrom('web-1', 'web-2'), keeps: fc.boolean(), row: fc.option(fields) }),
      {
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const directory = temporaryDirectory();
        const store = await createLowdbStore(directory);
        for (const { name, keeps, row } of history) {
          const before = store.read('server', name);
          const kept = keeps && before !== undefined ? before : serverRow();
          await store.commit([change(name, row === null ? null : { ...kept, ...row }, before)]);
        }
        const rows = new Map(store.list('server'));
        await store.close();
        const reopened = await createLowdbStore(directory);
        expect(new Map(reopened.list('server'))).toEqual(rows);
        await reopened.close();
      }),
      { numRuns: countRuns(60) },
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
});
