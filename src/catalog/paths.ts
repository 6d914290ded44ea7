// Classifies paths of the stacks repository: a path gives the type and the name of its object. See docs/concepts.md,
// repository layout.

import { didYouMean, quote, withForeignCharacter } from '../base/wording.ts';
import type { Fault } from '../model/entry.ts';
import { isPlainTypeName, isTypeName, nameFault, TYPE_NAMES } from '../model/names.ts';
import { canonicalSerial, serialFault } from '../model/serial.ts';
import type { FileMode } from '../model/snapshot.ts';
import type { FileType } from './catalog.ts';

/** The path of an object; `name` is the object's, or `tree` or `hierarchy` for those two files. */
export interface ObjectPath {
  readonly type: FileType;
  readonly name: string;
}

/** The path of a file inside the layout that is not read, with a hint how to correct it. */
export interface StrayPath {
  readonly stray: Fault;
}

/** The path of the tree of environments, locations and zones. */
export const TREE_FILE = 'tree.yaml';
/** The path of the order of layers. */
export const HIERARCHY_FILE = 'hierarchy.yaml';

/** Folders that determine the type of their files. Below `types/`, the next folder does. */
export const FOLDERS: readonly (readonly [folder: string, type: FileType])[] = [
  ['stacks/templates', 'stack-template'],
  ['stacks/instances', 'stack-instance'],
  ['clients', 'client'],
];

/** Returns the object or the stray file at a path; undefined if the file is not part of the layout. */
export function placePath(path: string, mode: FileMode): ObjectPath | StrayPath | undefined {
  if (isLink(mode)) return isInLayout(path) ? { stray: notAFile(path, mode) } : undefined;
  const type = typeAt(path);
  if (type === undefined || typeof type === 'object') return type;
  const extension = /\.ya?ml$/i.exec(path)?.[0];
  if (extension === undefined) return undefined;
  if (extension !== '.yaml') return { stray: wrongExtension(path, extension) };
  const name = path.slice(path.lastIndexOf('/') + 1, -'.yaml'.length);
  const fault = type === 'client' ? fileNameFault(name) : objectNameFault(type, name);
  return fault === undefined ? { type, name } : { stray: fault };
}

/** Returns true for a symbolic link or a submodule. */
function isLink(mode: FileMode): boolean {
  return mode === '120000' || mode === '160000';
}

/** Yields the folders that a path lies in, from the root down. */
export function* foldersAbove(path: string): Generator<string> {
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) yield path.slice(0, at);
}

/** A link in place of a folder would hide everything below it, so it counts as part of the layout. */
function isInLayout(path: string): boolean {
  return path === 'types' || path === 'stacks' || path.startsWith('types/') || typeAt(path) !== undefined;
}

/**
 * Returns whether the content of the file is read: of an object, or of a client with a wrong file name, whose content
 * gives the correct one.
 */
export function isReadPath(placed: ObjectPath | StrayPath | undefined): placed is ObjectPath | StrayPath {
  return placed !== undefined && ('type' in placed || placed.stray.code === 'client_file_name');
}

/** Returns whether `placed` is the path of an object. */
export function isObjectPath(placed: ObjectPath | StrayPath | undefined): placed is ObjectPath {
  return placed !== undefined && 'type' in placed;
}

/** Returns the type that the folder gives, for any file name; a stray if the folder is wrong. */
function typeAt(path: string): FileType | StrayPath | undefined {
  if (/^tree\.ya?ml$/i.test(path)) return 'tree';
  if (/^hierarchy\.ya?ml$/i.test(path)) return 'hierarchy';
  const [, type] = FOLDERS.find(([folder]) => path === folder || path.startsWith(`${folder}/`)) ?? [];
  if (type !== undefined) return type;
  if (path.startsWith('types/')) return plainTypeAt(path);
  return /\.ya?ml$/i.test(path) ? strayNearLayout(path) : undefined;
}

/** Returns a stray for a file that was probably meant for a folder of the layout, and undefined for other files. */
function strayNearLayout(path: string): StrayPath | undefined {
  const [first = '', ...below] = path.split('/');
  if (first === 'stacks') {
    const folder = below.length === 1 ? '' : `stacks/${below[0]}`;
    const hint = folder === '' ? null : didYouMean(folder, STACK_FOLDERS);
    return { stray: misplaced(folder, hint ?? `move it into ${STACK_FOLDERS.map((name) => `${name}/`).join(' or ')}`) };
  }
  if (below.length === 0) return undefined;
  const own = STACK_FOLDERS.find((folder) => folder === `stacks/${first.toLowerCase()}`);
  const hint = own === undefined ? nearFolder(first) : `did you mean "${own}"?`;
  return hint === null ? undefined : { stray: misplaced(first, hint) };
}

const STACK_FOLDERS = ['stacks/templates', 'stacks/instances'];
const TOP_FOLDERS = ['types', 'stacks', 'clients'];

/** A typo seldom changes the first letter: `styles` is not a typo of `types`. */
function nearFolder(name: string): string | null {
  const begin = name.slice(0, 1).toLowerCase();
  return didYouMean(
    name,
    TOP_FOLDERS.filter((folder) => folder.startsWith(begin)),
  );
}

/** `folder` is '' for a file directly below `stacks`. */
function misplaced(folder: string, hint: string): Fault {
  const place = folder === '' ? 'directly below "stacks"' : `below ${quote(folder)}`;
  return { code: 'misplaced_file', severity: 'warning', message: `a file ${place} is not read`, hint };
}

function plainTypeAt(path: string): FileType | StrayPath | undefined {
  const [, folder = '', below] = path.split('/');
  if (isPlainTypeName(folder)) return folder;
  if (below !== undefined) return { stray: unknownTypeFolder(folder) };
  return /\.ya?ml$/i.test(folder) ? { stray: MISPLACED } : undefined;
}

const MISPLACED: Fault = {
  code: 'misplaced_file',
  severity: 'warning',
  message: 'a file directly below "types" is not read',
  hint: 'move it into the folder of its type, such as types/zone/',
};

function unknownTypeFolder(folder: string): Fault {
  const [place] = FOLDERS.find(([, type]) => type === folder) ?? [];
  const names = TYPE_NAMES.filter(isPlainTypeName);
  const ownPlace = place === undefined ? undefined : `its objects belong in ${place}/`;
  return {
    code: 'unknown_type_folder',
    message: isTypeName(folder)
      ? `objects of the type "${folder}" do not belong below "types"`
      : `the folder ${quote(folder)} is not named after a type`,
    hint: ownPlace ?? didYouMean(folder, names) ?? `the types are: ${names.join(', ')}`,
  };
}

function notAFile(path: string, mode: FileMode): Fault {
  return {
    code: 'not_a_file',
    message: `${quote(path)} is a ${mode === '120000' ? 'symbolic link' : 'submodule'}, which is not followed`,
    hint: 'commit the files themselves',
  };
}

function wrongExtension(path: string, extension: string): Fault {
  return {
    code: 'wrong_extension',
    severity: 'warning',
    message: `a file ending in "${extension}" is not read`,
    hint: `rename it to ${path.slice(0, -extension.length)}.yaml`,
  };
}

function objectNameFault(type: FileType, name: string): Fault | undefined {
  if (type !== 'clientcert' || name !== 'all') return badNameFault(name);
  const message = 'a clientcert cannot be called "all"';
  return { code: 'bad_name', message, hint: '/hiera/all lists every record; choose another name' };
}

/** Returns the fault of a name that no object can have, or undefined. */
export function badNameFault(name: string): Fault | undefined {
  const fault = nameFault(name);
  if (fault === undefined) return undefined;
  const hint = 'a name contains letters, digits, ".", "_" and "-", and begins with a letter or digit';
  return { code: 'bad_name', message: `the name ${quote(name)}${withForeignCharacter(name)} ${fault}`, hint };
}

function fileNameFault(name: string): Fault | undefined {
  const serial = canonicalSerial(name);
  if (serial === name) return undefined;
  const words = serial === undefined ? `a serial number: ${serialFault(name)}` : 'the spelling of this serial number';
  return {
    code: 'client_file_name',
    message: `${quote(name)} is not ${words}`,
    hint:
      serial === undefined
        ? "name the file after the certificate's serial number in upper-case hexadecimal"
        : `rename the file to ${serial}.yaml`,
  };
}
