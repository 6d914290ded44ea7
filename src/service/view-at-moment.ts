// Makes the view of one moment with a copy of its rows, so that a long answer is made of them in steps while the rows change.
import { compareNames } from '../model/names.ts';
import type { RowKind, Rows } from '../model/rows.ts';
import { type Steps, visitAll } from '../model/steps.ts';
import type { RowsAtMoment, View } from './recorded-rows.ts';

type Copies = { readonly [Kind in RowKind]: ReadonlyMap<string, Rows[Kind]> };

/** Copies the tables of rows at once, and returns work that results in a view of this moment. A row itself never changes. */
export function viewAtMoment<Desired>({ desired, rows, now }: View<Desired>): Steps<View<Desired>> {
  const copies: Copies = {
    head: new Map(rows.list('head')),
    pinned: new Map(rows.list('pinned')),
    active: new Map(rows.list('active')),
    terminating: new Map(rows.list('terminating')),
    node: new Map(rows.list('node')),
    held: new Map(rows.list('held')),
    approval: new Map(rows.list('approval')),
    removal: new Map(rows.list('removal')),
    suspension: new Map(rows.list('suspension')),
    rollout: new Map(rows.list('rollout')),
    beginning: new Map(rows.list('beginning')),
    commitStatus: new Map(rows.list('commitStatus')),
    server: new Map(rows.list('server')),
  };
  return indexed({ desired, now, copies });
}

interface Moment<Desired> extends Pick<View<Desired>, 'desired' | 'now'> {
  readonly copies: Copies;
}

function* indexed<Desired>({ desired, now, copies }: Moment<Desired>): Steps<View<Desired>> {
  const servers = new Map<string, string[]>();
  yield* visitAll(copies.server, ([name, { instance }]) => {
    const names = servers.get(instance);
    if (names === undefined) servers.set(instance, [name]);
    else names.push(name);
  });
  const rows: RowsAtMoment = {
    server: (name) => copies.server.get(name),
    read: (kind, name) => copies[kind].get(name),
    list: (kind) => copies[kind],
    index: { serversOf: (instance) => (servers.get(instance) ?? []).toSorted(compareNames) },
  };
  return { desired, rows, now };
}
