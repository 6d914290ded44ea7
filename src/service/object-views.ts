// Builds the views of typed objects from files, templates, instances and the servers of stacks.

import type { DesiredState } from '../desired/desired-state.ts';
import { nodeOf, recordedNodes } from '../desired/node-records.ts';
import { addressOf } from '../model/address.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';
import { compareNames, TYPE_NAMES, type TypeName } from '../model/names.ts';
import type { ServerRow } from '../model/rows.ts';
import { sortNames } from '../model/sort-names.ts';
import { type Steps, visitAll } from '../model/steps.ts';
import { instanceNames, viewInstance } from './instance-views.ts';
import type { Served } from './reader.ts';
import type { View } from './recorded-rows.ts';

/** Returns work that finds all objects of a type, sorted by name; for `all`, of every other type, sorted by type and name. */
export function* viewObjects(moment: Steps<View<DesiredState>>, type: TypeName): Steps<readonly JsonMap[]> {
  const view = yield* moment;
  const found: JsonMap[] = [];
  for (const each of typesOf(type)) {
    const names = new Set<string>();
    yield* visitAll(namesOfType(view, each), (name) => names.add(name));
    yield* visitAll(yield* sortNames([...names]), (name) => {
      const served = viewObject(view, each, name);
      if (served !== undefined) found.push(served.body);
    });
  }
  return found;
}

/** Returns one object, or undefined where there is none. */
export function viewObject(view: View<DesiredState>, type: TypeName, name: string): Served<JsonMap> | undefined {
  if (type === 'stack-instance') {
    const instance = viewInstance(view, name);
    return instance === undefined ? undefined : { body: { ...instance.body } as JsonMap, oid: instance.oid };
  }
  const made = type === 'clientcert' ? viewServer(view, name) : undefined;
  if (made !== undefined) return made;
  const entry = view.desired.objects.get(addressOf(type, name))?.entry;
  return entry !== undefined && isMap(entry.object) ? { body: entry.object, oid: entry.oid } : undefined;
}

/** Yields the names of all objects of a type, `all` included, in any order; some of them twice. */
export function* objectNames(view: View<DesiredState>, type: TypeName): Generator<string> {
  for (const each of typesOf(type)) yield* namesOfType(view, each);
}

function typesOf(type: TypeName): readonly TypeName[] {
  return type === 'all' ? TYPE_NAMES.filter((name) => name !== 'all').sort(compareNames) : [type];
}

function* namesOfType(view: View<DesiredState>, type: TypeName): Generator<string> {
  if (type === 'stack-instance') {
    yield* instanceNames(view);
    return;
  }
  const start = addressOf(type, '');
  for (const address of view.desired.objects.keys()) if (address.startsWith(start)) yield address.slice(start.length);
  if (type === 'clientcert') yield* recordedNodes(view);
}

/** A server that a stack makes: its own properties under what its clientcert file says, and not the merged record. */
function viewServer({ desired, rows }: View<DesiredState>, name: string): Served<JsonMap> | undefined {
  const row = rows.server(name);
  if (row === undefined) return undefined;
  const node = desired.owners.has(name) ? nodeOf(desired, name) : undefined;
  const oid = desired.objects.get(addressOf('clientcert', name))?.entry.oid ?? null;
  if (node === undefined) return { body: { ...describe(name, lastDescription(row)), ...row.applied?.properties }, oid };
  const own = emptyMap<Json>();
  for (const { values } of node.own) Object.assign(own, values);
  return { body: { ...own, ...describe(name, node.description) }, oid };
}

function describe(name: string, description: string): JsonMap {
  return { name, type: 'clientcert', description };
}

function lastDescription(row: ServerRow): string {
  return String(row.lastRecord?.description?.value ?? '');
}
