// Edits the files of a commit, and reads from them what they ask for an instance.
import type { Edit, Spoil } from './actions.ts';
import {
  GLOBAL,
  INSTANCES_FOLDER,
  instanceFile,
  isDerivable,
  isValidShape,
  LAB,
  layerFile,
  type ModelFile,
  type ModelFiles,
  PLAIN,
  pathOf,
  type Shape,
  SMALL,
  serversOf,
  TEMPLATE,
  templateFile,
  textFile,
} from './stacks.ts';

/** What stands under an instance's name: nothing at all, something that nobody can read, or what its file says. */
export type FileState = 'absent' | 'unreadable' | Shape;

/** The names that a spoilt file has, after the name without its extension. */
const SPELLINGS = { yml: '.yml', upper: '.YAML', blank: ' .yaml', backup: '.yaml~', bak: '.yaml.bak' } as const;
/** A slip of the extension, which instances get by a rename. */
const MISTYPED = '.yamll';

const PLACES = new Map<string, readonly string[]>();

/** Returns the paths at which something may stand in a file's place. */
function placesOf(path: string): readonly string[] {
  const known = PLACES.get(path) ?? placesMade(path);
  PLACES.set(path, known);
  return known;
}

function placesMade(path: string): readonly string[] {
  const stem = path.slice(0, -'.yaml'.length);
  const spellings = [...Object.values(SPELLINGS), MISTYPED].map((end) => `${stem}${end}`);
  return [path, ...spellings, hiddenPath(path), `${path}/readme.md`, ...foldersOf(path)];
}

function hiddenPath(path: string): string {
  const at = path.lastIndexOf('/') + 1;
  return `${path.slice(0, at)}.${path.slice(at)}`;
}

/** Returns the folders above a path: where one of them is a link, nobody knows what stands below. */
export function foldersOf(path: string): readonly string[] {
  const steps = path.split('/').slice(0, -1);
  return steps.map((_, index) => steps.slice(0, index + 1).join('/'));
}

/** Returns what stands under an instance's name. */
export function fileStateOf(files: ModelFiles, instance: string): FileState {
  const path = pathOf(instance);
  const file = files.get(path);
  if (file?.shape !== undefined && file.mode === '100644') return file.shape;
  return isGone(files, path) ? 'absent' : 'unreadable';
}

/** Returns true where nothing stands at a path, nor at another spelling of it. A blank makes another name of a layer's. */
export function isGone(files: ModelFiles, path: string): boolean {
  const isLayer = path.startsWith('types/');
  return !placesOf(path).some((place) => files.has(place) && !(isLayer && place.endsWith(SPELLINGS.blank)));
}

/** Returns true where a file is there and can be read. */
export function isWhole(files: ModelFiles, path: string): boolean {
  const file = files.get(path);
  return file !== undefined && file.mode === '100644' && !isBroken(file);
}

function isBroken(file: ModelFile): boolean {
  return file.words === 'broken';
}

/** The files of a commit never change, so what they mean is found out once. */
const RIGHT_SHAPES = new WeakMap<ModelFiles, Map<string, Shape | undefined>>();

/** Returns the shape of an instance where it and all it draws on are right in these files, by itself. */
export function validShape(files: ModelFiles, instance: string): Shape | undefined {
  const known = RIGHT_SHAPES.get(files) ?? new Map<string, Shape | undefined>();
  if (known.size === 0) RIGHT_SHAPES.set(files, known);
  if (!known.has(instance)) known.set(instance, findValidShape(files, instance));
  return known.get(instance);
}

/** Returns the shape of an instance whose servers are known, although one that they depend on may be missing. */
export function derivableShape(files: ModelFiles, instance: string): Shape | undefined {
  return findValidShape(files, instance, isDerivable);
}

function findValidShape(files: ModelFiles, instance: string, isRight = isValidShape): Shape | undefined {
  const shape = fileStateOf(files, instance);
  if (typeof shape === 'string' || !isRight(shape) || !isWhole(files, TEMPLATE)) return undefined;
  const isSpoilt = (path: string): boolean => !isWhole(files, path) && !isGone(files, path);
  // Without servers it draws on no layer.
  if (serversOf(shape).length === 0) return shape;
  if (isSpoilt(GLOBAL) || (shape.lab && shape.web > 0 && isSpoilt(LAB))) return undefined;
  if (shape.small && shape.web > 0 && !isWhole(files, SMALL)) return undefined;
  // The record of a server of that name would have this file as its last layer.
  const certs = serversOf(shape).map((server) => `types/clientcert/${server}.yaml`);
  return certs.some(isSpoilt) ? undefined : shape;
}

/** What earlier commits had at a path, newest first. */
export type Earlier = (path: string) => Iterable<ModelFile>;

/** Returns the files after some edits; the same object where nothing changes. */
export function edited(files: ModelFiles, edits: readonly Edit[], earlier: Earlier): ModelFiles {
  const after = new Map(files);
  for (const edit of edits) apply(after, edit, earlier);
  return isSameFiles(files, after) ? files : after;
}

function isSameFiles(a: ModelFiles, b: ModelFiles): boolean {
  return a.size === b.size && [...a].every(([path, file]) => isSameFile(b.get(path), file));
}

/** Returns true where both are the same bytes in the same form. */
export function isSameFile(a: ModelFile | undefined, b: ModelFile | undefined): boolean {
  return a?.oid === b?.oid && a?.mode === b?.mode;
}

function apply(files: Map<string, ModelFile>, edit: Edit, earlier: Earlier): void {
  if ('from' in edit) handOver(files, edit);
  else if ('set' in edit) {
    const path = pathOf(edit.instance);
    const before = files.get(path)?.shape ?? lastShape(earlier(path)) ?? { ...PLAIN, prefix: edit.instance };
    put(files, path, instanceFile({ ...before, ...edit.set }));
  } else if ('name' in edit) rename(files, edit);
  else if ('folder' in edit) hide(files, edit.folder);
  else if ('spoil' in edit) spoil(files, edit.path, edit.spoil);
  else if ('value' in edit) put(files, edit.path, valueFile(edit.path, edit.value));
  else if (edit.is === 'removed') clear(files, edit.path);
  else {
    const right = validFile(earlier(edit.path));
    if (right !== undefined) put(files, edit.path, right);
  }
}

function put(files: Map<string, ModelFile>, path: string, file: ModelFile): void {
  clear(files, path);
  files.set(path, file);
}

function clear(files: Map<string, ModelFile>, path: string): void {
  for (const place of placesOf(path)) files.delete(place);
}

function valueFile(path: string, value: string): ModelFile {
  if (path === TEMPLATE) return templateFile(value);
  return layerFile(path.split('/')[1] ?? '', value);
}

function lastShape(files: Iterable<ModelFile>): Shape | undefined {
  return validFile(files)?.shape;
}

function validFile(files: Iterable<ModelFile>): ModelFile | undefined {
  for (const file of files) {
    const isValidEntry = file.mode === '100644' && !isBroken(file);
    if (isValidEntry && (file.shape === undefined || isRightAlone(file.shape))) return file;
  }
  return undefined;
}

/** Whether nobody would mend it: links without a member need a server of another instance. */
function isRightAlone(shape: Shape): boolean {
  return isValidShape(shape) && !(shape.links && shape.web === 0);
}

/** Where there is nothing to hand over, nothing happens. */
function handOver(files: Map<string, ModelFile>, { instance, from, set }: Extract<Edit, { from: string }>): void {
  const shape = files.get(pathOf(from))?.shape;
  if (shape === undefined || instance === from) return;
  clear(files, pathOf(from));
  put(files, pathOf(instance), instanceFile({ ...shape, ...set }));
}

function rename(files: Map<string, ModelFile>, { instance, name }: Extract<Edit, { name: string }>): void {
  const file = files.get(pathOf(instance));
  if (file?.shape === undefined) return;
  const { shape: _, ...bare } = file;
  clear(files, pathOf(instance));
  files.set(`${INSTANCES_FOLDER}${name}`, bare);
}

/** What stood there stays in some form that nobody can read; where nothing did, nothing happens. */
function spoil(files: Map<string, ModelFile>, path: string, how: Spoil): void {
  const file = files.get(path);
  if (file === undefined) return;
  const stem = path.slice(0, -'.yaml'.length);
  const { shape: _, ...bare } = file;
  clear(files, path);
  if (how === 'link') files.set(path, textFile('elsewhere.yaml', 'a link', '120000'));
  else if (how === 'submodule') files.set(path, textFile('a commit', 'a submodule', '160000'));
  else if (how === 'folder') files.set(`${path}/readme.md`, textFile('Read me.\n', 'a folder'));
  else if (how === 'broken') files.set(path, textFile('{ this is: [not\n', 'broken'));
  else files.set(how === 'hidden' ? hiddenPath(path) : `${stem}${SPELLINGS[how]}`, bare);
}

function hide(files: Map<string, ModelFile>, folder: string): void {
  for (const path of [...files.keys()]) if (path.startsWith(`${folder}/`)) files.delete(path);
  files.set(folder, textFile('elsewhere', 'a link', '120000'));
}

/** Merges a side into a branch, field by field as git does line by line: where both changed, the branch stays. */
export function merged(base: ModelFiles, ours: ModelFiles, theirs: ModelFiles): ModelFiles {
  const after = new Map(ours);
  for (const path of new Set([...base.keys(), ...theirs.keys()])) {
    const [was, our, their] = [base.get(path), ours.get(path), theirs.get(path)];
    if (isSameFile(was, their)) continue;
    if (isSameFile(was, our)) {
      if (their === undefined) after.delete(path);
      else after.set(path, their);
    } else if (was?.shape !== undefined && our?.shape !== undefined && their?.shape !== undefined) {
      after.set(path, instanceFile(mergedShape(was.shape, our.shape, their.shape)));
    }
  }
  return after;
}

function mergedShape(was: Shape, our: Shape, their: Shape): Shape {
  const changed = Object.entries(their).filter(([key, value]) => {
    const field = key as keyof Shape;
    return value !== was[field] && our[field] === was[field];
  });
  return { ...our, ...Object.fromEntries(changed) };
}
