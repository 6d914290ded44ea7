// Finds the line that causes a change of a server. The closest changed place counts: that of the property itself, then
// the instance, its template, the layers from specific to general, hierarchy.yaml and tree.yaml.
import type { Unit } from '../desired/unit.ts';
import { tokenize } from '../expand/placeholders.ts';
import type { HieraNode, Layer } from '../hiera/node.ts';
import { addressOf, instanceAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import { isMap, isSame, type Json } from '../model/json.ts';
import { isError } from '../model/problem.ts';
import { changedPointers, isSameContent, valueAt } from './changed-pointers.ts';
import type { ChangedProperty } from './changed-properties.ts';

/** A file, and a line of it; null: it has no such line. */
export interface CauseLine {
  readonly file: string | null;
  readonly line: number | null;
}

/** The cause of a change that follows from none of the files, such as a version that was held before. */
const NO_LINE: CauseLine = { file: null, line: null };

/** The versions of a unit. */
interface UnitVersions {
  readonly before: Unit;
  readonly after: Unit;
}

/** Returns the line of an entry at a pointer, or of the nearest value around it. */
export function lineAt(entry: Entry<unknown>, pointer: string): CauseLine {
  return { file: entry.path, line: entry.locate(pointer, 'key').line };
}

/** Returns the line that gives a resource other members or names. */
export function causeOfMembers(versions: UnitVersions, key: string): CauseLine {
  const found = causeInResource(versions, key, 'members') ?? causeInResource(versions, key, 'any');
  return found === undefined ? causeAt(versions, stackFiles(versions.after)) : lineAt(found.entry, found.pointer);
}

/** Returns the line that adds a resource to an instance, or takes it out. */
export function causeOfResource(versions: UnitVersions, key: string): CauseLine {
  const found = causeInResource(versions, key, 'any');
  if (found === undefined) return causeAt(versions, stackFiles(versions.after));
  const steps = found.pointer.split('/');
  const at = steps.indexOf('resources');
  return lineAt(found.entry, at < 0 ? found.pointer : steps.slice(0, at + 2).join('/'));
}

/** Returns the line that changes properties of a server. */
export function causeOfProperties(
  versions: UnitVersions,
  { name, key, changed }: { readonly name: string; readonly key: string; readonly changed: readonly ChangedProperty[] },
): CauseLine {
  if (isUnread(versions.before)) return NO_LINE;
  const nodes = [versions.after, versions.before].map((unit) => unit.nodes.get(name));
  const origins = changed.flatMap((property) => nodes.flatMap((node) => originsOf(node, property)));
  const origin = origins.find((one) => isChanged(one, versions));
  if (origin !== undefined) return lineOf(origin, versions);
  const found = causeInResource(versions, key, 'any');
  if (found !== undefined) return lineAt(found.entry, found.pointer);
  const types = new Set(changed.map(({ layer }) => layer));
  const layers = nodes.flatMap((node) => node?.shared ?? []).filter(({ type }) => types.has(type));
  const order = types.size === 1 && types.has(null) ? [] : ['hierarchy', 'tree'];
  const objects = layers.map(({ type, name: object }) => addressOf(type, object));
  return causeAt(versions, [...stackFiles(versions.after), ...objects, ...order]);
}

/** Returns the line that corrects an instance: that of the first mistake whose file has changed. */
export function causeOfValidity({ before, after }: UnitVersions): CauseLine {
  for (const { file, pointer } of before.problems.filter(isError)) {
    const [old, now] = [before, after].map((unit) => entryAt(unit, file));
    if (now !== undefined && !isSameContent(old, now)) return lineAt(now, pointer);
  }
  return causeAt({ before, after }, stackFiles(after));
}

/** A version that was built from rows: its files are not known. */
export function isUnread({ inputs }: Unit): boolean {
  return inputs.size === 0;
}

/** The addresses of the files that make the servers of an instance. */
function stackFiles({ name, entry: { object } }: Unit): readonly string[] {
  const template =
    object !== null && 'stackTemplate' in object ? [`stack-template/${String(object.stackTemplate)}`] : [];
  return [instanceAddress(name), ...template];
}

/** Returns the first changed place of the first of these objects that has changed. */
function causeAt({ before, after }: UnitVersions, addresses: readonly string[]): CauseLine {
  for (const address of isUnread(before) ? [] : addresses) {
    const [old, now] = [before.inputs.get(address), after.inputs.get(address)];
    if (now !== undefined && !isSameContent(old, now)) return lineAt(now, changedPointers(old, now)[0] ?? '');
  }
  return NO_LINE;
}

/** The places of a property's value: to be corrected, and as written. */
function originsOf(node: HieraNode | undefined, { layer, key }: ChangedProperty): readonly Origin[] {
  if (node === undefined) return [];
  const layers = layer === null ? node.own.slice(0, 1) : node.shared.filter(({ type }) => type === layer).toReversed();
  return layers.filter(({ values }) => Object.hasOwn(values, key)).flatMap((found) => placesOf(found, key));
}

function placesOf(layer: Layer, key: string): readonly Origin[] {
  return [layer.blame?.(key), layer.origin(key)].filter((origin) => origin !== undefined && origin !== null);
}

/** Returns true where the text at a place is not the same in both versions, and both were read. */
function isChanged({ entry, pointer }: Origin, { before, after }: UnitVersions): boolean {
  const [old, now] = [before, after].map((unit) => entryAt(unit, entry.path));
  if (old === undefined || now === undefined || isSameContent(old, now)) return false;
  return !isSame(valueAt(old.object as Json, pointer), valueAt(now.object as Json, pointer));
}

function lineOf({ entry, pointer }: Origin, { after }: UnitVersions): CauseLine {
  return lineAt(entryAt(after, entry.path) ?? entry, pointer);
}

function entryAt({ inputs }: Unit, path: string): Entry<unknown> | undefined {
  return [...inputs.values()].find((entry) => entry?.path === path);
}

/** Returns the first changed place that concerns one resource, in the instance and then in its template. */
function causeInResource({ before, after }: UnitVersions, key: string, what: 'members' | 'any'): Origin | undefined {
  if (isUnread(before)) return undefined;
  const texts = collectTexts(after, key);
  for (const address of stackFiles(after)) {
    const [old, now] = [before.inputs.get(address), after.inputs.get(address)];
    if (now === undefined || isSameContent(old, now)) continue;
    const pointer = changedPointers(old, now).find((changed) => concerns(changed, { key, texts, what }));
    if (pointer !== undefined) return { entry: now, pointer };
  }
  return undefined;
}

/** The placeholders of a resource, by whether they make its members or only their properties. */
interface ResourceTexts {
  readonly members: ReadonlySet<string>;
  readonly any: ReadonlySet<string>;
}

interface Concern {
  readonly key: string;
  readonly texts: ResourceTexts;
  readonly what: 'members' | 'any';
}

const MEMBER_FIELDS = ['count', 'index_start', 'name', 'index'];

function concerns(pointer: string, { key, texts, what }: Concern): boolean {
  if (pointer === '' || pointer === '/stackTemplate') return true;
  const steps = pointer.split('/').slice(1);
  if (steps[0] === 'parameters') return steps.length === 1 || texts[what].has(steps[1] ?? '');
  const at = steps.indexOf('resources');
  if (at < 0 || (steps.length > at + 1 && steps[at + 1] !== key)) return false;
  const isWhole = steps.length <= at + 3;
  return what === 'any' || isWhole || steps.slice(at + 2).some((step) => MEMBER_FIELDS.includes(step));
}

/** Returns the parameters that the texts of a resource name, in the template and in the additions. */
function collectTexts({ entry, inputs }: Unit, key: string): ResourceTexts {
  const members = new Set<string>();
  const any = new Set<string>();
  for (const [object, pointer] of [
    ...[...inputs]
      .filter(([address]) => address.startsWith('stack-template/'))
      .map(([, found]) => [found?.object, ''] as const),
    [entry.object, '/stackTemplateAdditions'] as const,
  ]) {
    const resources = valueAt(object as Json | undefined, `${pointer}/resources`);
    if (isMap(resources) && Object.hasOwn(resources, key)) collect(resources[key], { field: '', members, any });
  }
  return { members, any };
}

interface Collected {
  /** The innermost key around a value. */
  readonly field: string;
  readonly members: Set<string>;
  readonly any: Set<string>;
}

function collect(value: Json | undefined, collected: Collected): void {
  if (typeof value === 'string') {
    for (const token of tokenize(value)) {
      if (token.kind !== 'parameter') continue;
      collected.any.add(token.name);
      if (MEMBER_FIELDS.includes(collected.field)) collected.members.add(token.name);
    }
  } else if (Array.isArray(value)) for (const item of value as readonly Json[]) collect(item, collected);
  else if (isMap(value)) for (const [field, inner] of Object.entries(value)) collect(inner, { ...collected, field });
}
