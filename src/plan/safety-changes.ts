// Compares the settings that protect servers, or decide for many of them at once: fields of instances, the pace of
// updates, hierarchy.yaml and tree.yaml; and approvals that come with the commits.
import type { Catalog } from '../catalog/catalog.ts';
import type { Safety } from '../desired/admit.ts';
import type { Unit } from '../desired/unit.ts';
import { instanceAddress } from '../model/address.ts';
import { fieldOf, isMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { Hierarchy, TreeNode } from '../model/objects.ts';
import { isSameContent } from './changed-pointers.ts';
import type { ChangedUnit } from './changed-servers.ts';
import type { SafetyChange } from './plan.ts';

const FIELDS = ['protected', 'deletion', 'drift', 'adopt'];
/** A field that is not written has this value. The default of `drift` is a setting of the provider entry. */
const DEFAULTS: Readonly<Record<string, Json>> = { protected: false, deletion: 'delete', drift: null, adopt: false };
const PACE_FIELDS = ['max_unavailable', 'pause_seconds'] as const;

type LayoutFiles = Pick<Catalog, 'hierarchy' | 'tree'>;

/** Returns the changes of safety, by object and field. */
export function safetyChanges(
  units: readonly ChangedUnit[],
  before: LayoutFiles | undefined,
  after: LayoutFiles,
): readonly SafetyChange[] {
  const found = [
    ...units.flatMap(changesOfInstance),
    ...paceChanges(units),
    ...hierarchyChanges(before?.hierarchy.object ?? null, after.hierarchy.object),
    ...treeChanges(before?.tree.object ?? null, after.tree.object),
  ];
  return found.sort((a, b) => compareNames(a.object, b.object) || compareNames(a.field, b.field));
}

/** Returns the approval that trailers of the merged commits give; it counts for deletes that are held at base too. */
export function approvalChanges({ approvedCount }: Safety['deletions']): readonly SafetyChange[] {
  return approvedCount === 0
    ? []
    : [{ object: 'commits', field: 'Treeline-Approve-Deletes', from: null, to: approvedCount }];
}

function changesOfInstance({ before, after }: ChangedUnit): readonly SafetyChange[] {
  const unit = after ?? before;
  if (unit === undefined || unit.type !== 'stack-instance') return [];
  const object = instanceAddress(unit.name);
  return FIELDS.flatMap((field) => {
    const [from, to] = [before, after].map((version) => settingOf(version, field));
    const isShown = !isSame(from ?? DEFAULTS[field], to ?? DEFAULTS[field]);
    return isShown ? [{ object, field, from: from ?? null, to: to ?? null }] : [];
  });
}

/** Undefined: there is no such version. */
function settingOf(unit: Unit | undefined, field: string): Json | undefined {
  if (unit === undefined) return undefined;
  return fieldOf({ ...unit.entry.object } as JsonMap, field) ?? DEFAULTS[field];
}

/** Where only the template changes the pace of its groups, that is told once for all instances. */
function paceChanges(units: readonly ChangedUnit[]): readonly SafetyChange[] {
  const found = new Map<string, SafetyChange>();
  for (const { before, after } of units) {
    if (before === undefined || after === undefined || after.type !== 'stack-instance') continue;
    const [old, now] = [pacesIn(before), pacesIn(after)];
    for (const [group, pace] of now) {
      const known = old.get(group);
      if (known === undefined) continue;
      for (const field of PACE_FIELDS) {
        if (known[field] === pace[field]) continue;
        const change = { field: `${group}/${field}`, from: known[field], to: pace[field] };
        const told = { object: objectOf(before, after), ...change };
        found.set(JSON.stringify(told), told);
      }
    }
  }
  return [...found.values()];
}

type Pace = Readonly<Record<(typeof PACE_FIELDS)[number], string>>;

function pacesIn({ servers }: Unit): ReadonlyMap<string, Pace> {
  const paces = new Map<string, Pace>();
  for (const { key, policy } of servers.values()) {
    if (paces.has(key)) continue;
    paces.set(key, { max_unavailable: policy.maxUnavailable, pause_seconds: String(policy.pauseSeconds) });
  }
  return paces;
}

function objectOf(before: Unit, after: Unit): string {
  const { object } = after.entry;
  const isByTemplate = isSameContent(before.entry, after.entry) && object !== null && 'stackTemplate' in object;
  return isByTemplate ? `stack-template/${String(object.stackTemplate)}` : instanceAddress(after.name);
}

/** Each key of `merge` on its own, other fields as a whole. */
function hierarchyChanges(before: Hierarchy | null, after: Hierarchy | null): readonly SafetyChange[] {
  if (before === null || after === null) return [];
  return mapChanges('hierarchy', partsOf(before), partsOf(after));
}

function partsOf(hierarchy: Hierarchy): ReadonlyMap<string, Json> {
  const parts = new Map<string, Json>();
  const fields: readonly (readonly [string, Json])[] = Object.entries(hierarchy);
  for (const [field, value] of fields) {
    if (field !== 'merge' || !isMap(value)) parts.set(`/${field}`, value);
    else for (const [key, rule] of Object.entries(value)) parts.set(`/merge/${key}`, rule);
  }
  return parts;
}

/** The type of each node by its path of names: an index would change with every node before it. */
function treeChanges(before: TreeNode | null, after: TreeNode | null): readonly SafetyChange[] {
  if (before === null || after === null) return [];
  return mapChanges('tree', typesIn(before), typesIn(after));
}

function typesIn(root: TreeNode): ReadonlyMap<string, Json> {
  const types = new Map<string, Json>();
  function walk({ name, type, children = [] }: TreeNode, path: string): void {
    types.set(`${path}/${name}`, type);
    for (const child of children) walk(child, `${path}/${name}`);
  }
  walk(root, '');
  return types;
}

function mapChanges(
  object: string,
  before: ReadonlyMap<string, Json>,
  after: ReadonlyMap<string, Json>,
): readonly SafetyChange[] {
  const fields = [...new Set([...before.keys(), ...after.keys()])];
  return fields.flatMap((field) => {
    const [from, to] = [before.get(field), after.get(field)];
    return isSame(from, to) ? [] : [{ object, field, from: from ?? null, to: to ?? null }];
  });
}
