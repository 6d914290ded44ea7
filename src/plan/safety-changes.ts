// Compares the settings that protect servers or affect many of them (fields of instances, the pace of updates,
// hierarchy.yaml, tree.yaml), and lists approvals in the commits.
import type { Catalog } from '../catalog/catalog.ts';
import type { Safety } from '../desired/admit.ts';
import type { Unit } from '../desired/unit.ts';
import { instanceAddress } from '../model/address.ts';
import type { Json, JsonMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { Hierarchy, TreeNode } from '../model/objects.ts';
import { isSameContent } from './changed-pointers.ts';
import { differences, type Values } from './changed-properties.ts';
import type { ChangedUnit } from './changed-servers.ts';
import type { SafetyChange } from './plan.ts';

/**
 * The fields of instances, with their defaults. The default of `drift` is a setting of the provider entry.
 */
const DEFAULTS: Readonly<Record<string, Json>> = { protected: false, deletion: 'delete', drift: null, adopt: false };

type LayoutFiles = Pick<Catalog, 'hierarchy' | 'tree'>;

/** Returns the changes of safety, by object and field. */
export function safetyChanges(
  units: readonly ChangedUnit[],
  before: LayoutFiles | undefined,
  after: LayoutFiles,
): readonly SafetyChange[] {
  const found = [
    ...units.filter((unit) => (unit.after ?? unit.before)?.type === 'stack-instance').flatMap(instanceChanges),
    ...(before === undefined ? [] : layoutChanges(before, after)),
  ];
  // Instances with the same template share a change of its pace.
  const different = new Map(found.map((change) => [JSON.stringify(change), change]));
  return [...different.values()].sort((a, b) => compareNames(a.object, b.object) || compareNames(a.field, b.field));
}

/** Returns the approval of the merged commits' trailers. It also counts for deletes that are held at base. */
export function approvalChanges({ approvedCount }: Safety['deletions']): readonly SafetyChange[] {
  return approvedCount === 0
    ? []
    : [{ object: 'commits', field: 'Treeline-Approve-Deletes', from: null, to: approvedCount }];
}

function instanceChanges({ before, after }: ChangedUnit): readonly SafetyChange[] {
  const settings = changesOf(instanceAddress((after ?? before)?.name ?? ''), settingsOf(before), settingsOf(after));
  const written = settings.filter(({ field, from, to }) => (from ?? DEFAULTS[field]) !== (to ?? DEFAULTS[field]));
  if (before === undefined || after === undefined) return written;
  const paces = changesOf(ownerOfPaces(before, after), pacesOf(before), pacesOf(after));
  return [...written, ...paces.filter(({ from, to }) => from !== null && to !== null)];
}

function changesOf(object: string, before: Values, after: Values): readonly SafetyChange[] {
  return differences(before, after).map(({ key, from, to }) => ({ object, field: key, from, to }));
}

function settingsOf(unit: Unit | undefined): Values {
  if (unit === undefined) return {};
  const object = { ...unit.entry.object } as JsonMap;
  return Object.fromEntries(Object.entries(DEFAULTS).map(([field, value]) => [field, object[field] ?? value]));
}

function pacesOf({ servers }: Unit): Values {
  return Object.fromEntries(
    [...servers.values()].flatMap(({ key, policy }) => [
      [`${key}/max_unavailable`, policy.maxUnavailable],
      [`${key}/pause_seconds`, String(policy.pauseSeconds)],
    ]),
  );
}

/** Returns the address of the template if only the template changes, so that its change is listed once. */
function ownerOfPaces(before: Unit, after: Unit): string {
  const { object } = after.entry;
  const isByTemplate = isSameContent(before.entry, after.entry) && object !== null && 'stackTemplate' in object;
  return isByTemplate ? `stack-template/${String(object.stackTemplate)}` : instanceAddress(after.name);
}

function layoutChanges(before: LayoutFiles, after: LayoutFiles): readonly SafetyChange[] {
  const [oldOrder, order] = [before.hierarchy.object, after.hierarchy.object];
  const [oldTree, tree] = [before.tree.object, after.tree.object];
  return [
    ...(oldOrder === null || order === null ? [] : changesOf('hierarchy', partsOf(oldOrder), partsOf(order))),
    ...(oldTree === null || tree === null ? [] : changesOf('tree', typesIn(oldTree), typesIn(tree))),
  ];
}

/** Returns each key of `merge` separately, and other fields as a whole. */
function partsOf({ merge, ...fields }: Hierarchy): Values {
  const rules = Object.entries(merge).map(([key, rule]) => [`/merge/${key}`, rule]);
  return Object.fromEntries([...rules, ...Object.entries(fields).map(([field, value]) => [`/${field}`, value])]);
}

/** Returns the type of each node by its path of names, because indexes change with every node before. */
function typesIn({ name, type, children = [] }: TreeNode, path = ''): Values {
  const below = `${path}/${name}`;
  return Object.assign({ [below]: type }, ...children.map((child) => typesIn(child, below)));
}
