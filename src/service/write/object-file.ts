// Turns a body of the interface into the text of its file: an edit of the current file, or a new file.
import type { Catalog, FileEntry, FileType } from '../../catalog/catalog.ts';
import { parseYaml, type YamlDocument } from '../../catalog/yaml.ts';
import { entryAtAddress } from '../../desired/tracked-reads.ts';
import { isMap, isSame, type JsonMap } from '../../model/json.ts';
import { ServiceError } from '../../model/service-error.ts';
import { editYaml } from '../../yaml-edit/edit-yaml.ts';
import { writeYaml } from '../../yaml-edit/print-yaml.ts';
import type { FileEdit } from './draft.ts';
import { laidOver, newFields } from './written-fields.ts';

interface ObjectFile {
  /** `tree`, or `<type>/<name>`. */
  readonly address: string;
  /** Names the schema in the modeline of a new file. */
  readonly type: FileType;
  /** The path of a new file. */
  readonly newPath: string;
  /** All fields of the interface. An omitted field is removed. */
  readonly fields: JsonMap;
}

/** Returns the catalog's file of an address, or undefined. An unreadable file has no text. */
export function fileOf(catalog: Catalog, address: string): FileEntry | undefined {
  const unreadable = catalog.unreadable.get(address);
  if (unreadable !== undefined) return unreadable;
  const path = entryAtAddress(catalog, address)?.path;
  return path === undefined ? undefined : catalog.files.get(path);
}

/** Parsed documents of files, so that writes parse each file once. */
const documents = new WeakMap<FileEntry, YamlDocument>();

/** Returns the map in a file, valid or not; undefined if the file contains no map. */
export function writtenIn(file: FileEntry): JsonMap | undefined {
  const value = file.text === null ? undefined : documentOf(file, file.text).value;
  return isMap(value) ? value : undefined;
}

function documentOf(file: FileEntry, text: string): YamlDocument {
  const document = documents.get(file) ?? parseYaml(file.path, text);
  documents.set(file, document);
  return document;
}

/**
 * Returns the edit that gives the file these fields; none if it has them. Throws ServiceError `edit_by_hand` if the
 * edit would lose text of an operator, or if the edited file could not be read. A new file is not checked here.
 */
export function editObjectFile(catalog: Catalog, { address, type, newPath, fields }: ObjectFile): readonly FileEdit[] {
  const file = fileOf(catalog, address);
  if (file === undefined) return [newFile(catalog, { path: newPath, type, content: newFields(type, fields) })];
  const raw = writtenIn(file);
  if (file.text === null || raw === undefined)
    throw byHand(file.path, 'it contains no readable map of keys and values');
  const wanted = laidOver(type, { raw, object: isMap(file.object) ? file.object : raw }, fields);
  if (isSame(wanted, raw)) return [];
  const { path, text } = file;
  const edited = editYaml({ text, document: documentOf(file, text) }, wanted, (changed) => parseYaml(path, changed));
  if (!edited.ok) throw byHand(path, edited.reason);
  return [{ path, ...edited.file }];
}

interface NewFile {
  readonly path: string;
  readonly type: FileType;
  readonly content: JsonMap;
}

function newFile(catalog: Catalog, { path, type, content }: NewFile): FileEdit {
  // A path without an object, such as a link, has no address.
  if (catalog.files.has(path)) throw byHand(path, 'the path exists already, but is not an object');
  const up = '../'.repeat(path.split('/').length - 1);
  const modeline = `# yaml-language-server: $schema=${up === '' ? './' : up}schemas/${type}.schema.json`;
  return { path, text: writeYaml(content, modeline) };
}

function byHand(path: string, reason: string): ServiceError {
  const message = `${path} cannot be changed without reformatting it: ${reason}. Edit it by hand, with git`;
  return new ServiceError('edit_by_hand', message);
}
