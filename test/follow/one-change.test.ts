// Counts what one changed instance costs beside many others: the rows that are looked at, from the commit until its servers
// are done again.
import { expect, it } from 'vitest';
import type { RowKind, Rows } from '../../src/model/rows.ts';
import { Core } from '../reconcile/core.ts';

import { ManualClock } from '../support/manual-clock.ts';
import { instancePath, instanceText, repositoryFiles } from '../support/sized-repository.ts';
import { TextSource } from '../support/text-source.ts';

type TextChanges = Readonly<Record<string, string | null>>;

const SERVERS = 3;
const GENEROUS = { percent: 0, least: 10, most: 10 };

/** Rows that were looked at, one by one or in a list of all. */
class CountedRows<Row> extends Map<string, Row> {
  visits = 0;

  override get(name: string): Row | undefined {
    this.visits += 1;
    return super.get(name);
  }

  override *[Symbol.iterator](): MapIterator<[string, Row]> {
    for (const entry of super.entries()) {
      this.visits += 1;
      yield entry;
    }
  }

  override entries(): MapIterator<[string, Row]> {
    return this[Symbol.iterator]();
  }

  override *keys(): MapIterator<string> {
    for (const [name] of this) yield name;
  }

  override *values(): MapIterator<Row> {
    for (const [, row] of this) yield row;
  }
}

/** Returns how many rows of servers are looked at for one change in an installation of that many instances. */
async function rowsLookedAt(instances: number, changes: TextChanges): Promise<number> {
  const rows = new CountedRows<Rows[RowKind]>();
  const outside = { source: new TextSource(), clock: new ManualClock(), servers: new Map() };
  const core = new Core({ budget: GENEROUS }, { ...outside, rows: new Map([['server', rows]]) });
  core.source.commit(repositoryFiles({ instances, servers: SERVERS }));
  await core.poll();
  rows.visits = 0;
  core.source.commit(changes);
  await core.poll();
  const { visits } = rows;
  expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  return visits;
}

it.each<[what: string, changes: TextChanges]>([
  ['a new version', { [instancePath(1)]: instanceText({ kind: 1, servers: SERVERS, version: '2' }) }],
  ['a server less', { [instancePath(1)]: instanceText({ kind: 1, servers: SERVERS - 1 }) }],
  ['a server more', { [instancePath(1)]: instanceText({ kind: 1, servers: SERVERS + 1 }) }],
  ['one instance less', { [instancePath(1)]: null }],
  ['another file', { 'README.md': '# Stacks' }],
])('%s: looks at no more rows where there are four times as many', async (_what, changes) => {
  const [small, large] = [await rowsLookedAt(20, changes), await rowsLookedAt(80, changes)];
  expect(large).toBe(small);
});
