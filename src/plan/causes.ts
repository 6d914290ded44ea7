// Finds the line that causes a change of a server: the first changed place that concerns it. It searches the instance,
// its template, the layers from specific to general, hierarchy.yaml and tree.yaml, in this order.
import type { Unit } from '../desired/unit.ts';
import { instanceAddress } from '../model/address.ts';
import { below, type Entry } from '../model/entry.ts';
import type { Json } from '../model/json.ts';
import { isError } from '../model/problem.ts';
import { changedPointers, isSameContent, valueAt } from './changed-pointers.ts';

/** A file and one of its lines; null if there is no such line. */
export interface CauseLine {
  readonly file: string | null;
  readonly line: number | null;
}

/** The cause of a change that follows from no file, such as a released hold. */
const NO_LINE: CauseLine = { file: null, line: null };

/** The versions of a unit. */
export interface UnitVersions {
  readonly before: Unit;
  readonly after: Unit;
}

/** The fields of a resource that change its members or their names. */
export const MEMBER_FIELDS: readonly string[] = ['count', 'index_start', 'name', 'index'];

/** The parts of the files that concern a change of a server. */
interface Concern {
  /** The key of the resource. */
  readonly key: string;
  /** Fields and properties of the resource, and keys of layers; omitted: the resource as a whole. */
  readonly fields?: readonly string[];
  /** The addresses of other objects, by priority. */
  readonly others?: readonly string[];
}

/** Returns the line of an entry at a pointer, or of the nearest value around it. */
export function lineAt(entry: Entry<unknown>, pointer: string): CauseLine {
  return { file: entry.path, line: entry.locate(pointer, 'key').line };
}

/** Returns the first changed line that concerns a server; if none does, the first changed line. */
export function causeOf(versions: UnitVersions, concern: Concern): CauseLine {
  const files = changedFiles(versions, [...stackFiles(versions.after), ...(concern.others ?? [])]);
  for (const { entry, pointers } of files) {
    const pointer = pointers.find((changed) => concerns(changed, concern, versions.after));
    if (pointer !== undefined) return lineAt(entry, concern.fields === undefined ? ofResource(pointer) : pointer);
  }
  const [first] = files;
  return first === undefined ? NO_LINE : lineAt(first.entry, first.pointers[0] ?? '');
}

/** Returns the line that corrects an instance: the line of the first mistake whose file has changed. */
export function causeOfValidity({ before, after }: UnitVersions): CauseLine {
  for (const { file, pointer } of before.problems.filter(isError)) {
    const [old, now] = [before, after].map((unit) => entryAt(unit, file));
    if (now !== undefined && !isSameContent(old, now)) return lineAt(now, pointer);
  }
  return causeOf({ before, after }, { key: '' });
}

/** Returns true for a version that was built from rows, whose files are unknown. */
export function isUnread({ inputs }: Unit): boolean {
  return inputs.size === 0;
}

/** Returns the addresses of the files that define the servers of an instance. */
function stackFiles({ name, entry: { object } }: Unit): readonly string[] {
  const template =
    object !== null && 'stackTemplate' in object ? [`stack-template/${String(object.stackTemplate)}`] : [];
  return [instanceAddress(name), ...template];
}

interface ChangedFile {
  readonly entry: Entry<unknown>;
  readonly pointers: readonly string[];
}

function changedFiles({ before, after }: UnitVersions, addresses: readonly string[]): readonly ChangedFile[] {
  if (isUnread(before)) return [];
  return addresses.flatMap((address) => {
    const [old, now] = [before.inputs.get(address), after.inputs.get(address)];
    if (now === undefined || isSameContent(old, now)) return [];
    return [{ entry: now, pointers: changedPointers(old, now) }];
  });
}

function entryAt({ inputs }: Unit, path: string): Entry<unknown> | undefined {
  return [...inputs.values()].find((entry) => entry?.path === path);
}

function concerns(pointer: string, concern: Concern, unit: Unit): boolean {
  const { key, fields } = concern;
  if (pointer === '' || pointer === '/stackTemplate') return true;
  const steps = pointer.split('/').slice(1);
  const [first = '', parameter] = steps;
  if (first === 'parameters') return parameter === undefined || textsOf(unit, concern).includes(`<<${parameter}>>`);
  const at = steps.indexOf('resources');
  if (at < 0) return fields?.includes(first) ?? false;
  const [resource = key, ...within] = steps.slice(at + 1);
  if (resource !== key) return false;
  return fields === undefined || within.length === 0 || within.some((step) => fields.includes(step));
}

/** Returns the pointer of the resource around a place. */
function ofResource(pointer: string): string {
  return /^.*?\/resources\/[^/]*/.exec(pointer)?.[0] ?? pointer;
}

/** Returns the texts of a resource in the template and the additions. Their placeholders name parameters. */
function textsOf(unit: Unit, { key, fields }: Concern): string {
  const objects = stackFiles(unit).map((address) => unit.inputs.get(address)?.object as Json | undefined);
  const resources = objects.flatMap((object) =>
    ['/resources', '/stackTemplateAdditions/resources'].map((pointer) => valueAt(object, below(pointer, key))),
  );
  return JSON.stringify(resources, fields === undefined ? null : ['properties', 'resource_def', ...fields]);
}
