// How rows are kept: further specs of a server that are the wanted one are kept once, and read again as they were.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RunningAction } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import { keptRow, type Row, readRow } from '../../src/store/row-json.ts';
import { serverRow } from '../support/rows.ts';

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

it('keptRow stores an equal spec of a server once, and shares it when read', () => {
  const value = serverRow({ wanted: WANTED, applied: WANTED, action: running(WANTED) });
  const kept = keptRow({ kind: 'server', name: 'web-1', value });
  expect(kept[2]?.split('Platform::Server')).toHaveLength(2);
  const read = readRow(kept, 'a file') as Row<'server'>;
  expect(read.value?.applied).toBe(read.value?.wanted);
});

const spec = fc.constantFrom(WANTED, OTHER, specOf('1'), null);
const fields = fc.record({ wanted: spec, applied: spec, action: fc.option(spec.map(running)) });

it('readRow returns every row as it was written', () => {
  fc.assert(
    fc.property(fields, (some) => {
      const row: Row = { kind: 'server', name: 'web-1', value: serverRow(some) };
      expect(readRow(keptRow(row), 'a file')).toEqual(row);
    }),
  );
  const removed: Row = { kind: 'server', name: 'web-1', value: null };
  expect(readRow(keptRow(removed), 'a file')).toEqual(removed);
});
