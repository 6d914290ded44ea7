import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isHolding } from '../../src/machine/holders.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { RowIndex } from '../../src/reconcile/row-index.ts';
import { rowIn, running, SMALL, specOf } from './build.ts';

const NEEDS_DB = specOf('small', { dependsOn: ['db'] });
const LISTS_DB = specOf('small', { lists: ['db'] });

describe('the index', () => {
  it('says the same as a walk over all rows, whatever happened before', () => {
    const spec = fc.record({ dependsOn: names(), lists: names() }).map((fields) => specOf('small', fields));
    const row = fc
      .record({ instance: name(), key: name(), applied: fc.option(spec), running: fc.option(spec) })
      .map(({ running: to, ...fields }) => rowIn('done', { ...fields, action: to && running('create', to) }));
    const steps = fc.array(fc.record({ name: name(), row: fc.option(row, { nil: undefined }) }), { maxLength: 30 });
    fc.assert(
      fc.property(steps, name(), (history, asked) => {
        const index = new RowIndex();
        const rows = new Map<string, ServerRow>();
        for (const step of history) {
          index.follow(step.name, rows.get(step.name), step.row);
          if (step.row === undefined) rows.delete(step.name);
          else rows.set(step.name, step.row);
        }
        const needy = [...rows].filter(([, { applied, action }]) =>
          [applied, action?.spec].some((spec) => spec?.dependsOn.includes(asked) || spec?.lists.includes(asked)),
        );
        const inInstance = [...rows].filter(([, { instance }]) => instance === asked);
        expect([...index.dependentsOf(asked)].sort()).toEqual(needy.map(([each]) => each).sort());
        expect(index.serversOf(asked)).toEqual(inInstance.map(([each]) => each).sort());
      }),
    );
  });
});

function name(): fc.Arbitrary<string> {
  return fc.constantFrom('a', 'b', 'c', '__proto__');
}

function names(): fc.Arbitrary<string[]> {
  return fc.uniqueArray(name(), { maxLength: 2 });
}

describe('who holds up a delete', () => {
  it.each<[name: string, row: ServerRow | undefined, holdsUp: boolean]>([
    ['one that depends on it', rowIn('done', { applied: NEEDS_DB }), true],
    ['one that lists it', rowIn('done', { applied: LISTS_DB }), true],
    ['one that depends on it and is to go too', rowIn('deleting', { applied: NEEDS_DB, wanted: null }), true],
    ['one that lists it and is to go too', rowIn('deleting', { applied: LISTS_DB, wanted: null }), false],
    ['one that is being created', rowIn('creating', { action: running('create', NEEDS_DB) }), true],
    [
      'one that is being created and is to go',
      rowIn('creating', { action: running('create', NEEDS_DB), wanted: null }),
      true,
    ],
    ['one whose update to it runs', rowIn('updating', { applied: SMALL, action: running('update', NEEDS_DB) }), true],
    ['one that is not there yet', rowIn('pending', { wanted: NEEDS_DB }), false],
    ['one that is not recorded', undefined, false],
  ])('%s', (_name, row, holdsUp) => {
    expect(isHolding('db', row)).toBe(holdsUp);
  });
});
