// Turns a body of the interface into the text of its file: an edit of the present file, or a new file.
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
  /** The fields of the interface, complete: what is left out is to be gone. */
  readonly fields: JsonMap;
}

/** Returns the file of an address as the catalog has it, or undefined. One that cannot be read has no text. */
export function fileOf(catalog: Catalog, address: string): FileEntry | undefined {
  const unreadable = catalog.unreadable.get(address);
  if (unreadable !== undefined) return unreadable;
  const path = entryAtAddress(catalog, address)?.path;
  return path === undefined ? undefined : catalog.files.get(path);
}

/** The documents of entries that writes have looked into, so that each is parsed once. */
const documents = new WeakMap<FileEntry, YamlDocument>();

/** Returns the map that is written in a file, right or wrong; undefined where it holds none. */
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
 * Returns the edit that makes the file say what the fields say; none if it does. Throws ServiceError `edit_by_hand` if
 * that would lose something that an operator wrote, or if the edited file could not be read. A new file is not checked here.
 */
export function editObjectFile(catalog: Catalog, { address, type, newPath, fields }: ObjectFile): readonly FileEdit[] {
  const file = fileOf(catalog, address);
  if (file === undefined) return [newFile(catalog, { path: newPath, type, content: newFields(type, fields) })];
  const raw = writtenIn(file);
  if (file.text === null || raw === undefined)
    throw byHand(file.path, 'it holds no map of keys and values that can be read');
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
  // A link, say: a file of the layout that is no object has no address.
  if (catalog.files.has(path)) throw byHand(path, 'something is there already that is no object');
  const up = '../'.repeat(path.split('/').length - 1);
  const modeline = `# yaml-language-server: $schema=${up === '' ? './' : up}schemas/${type}.schema.json`;
  return { path, text: writeYaml(content, modeline) };
}

function byHand(path: string, reason: string): ServiceError {
  const message = `${path} cannot be changed without reformatting it: ${reason}. Edit it by hand, with git`;
  return new ServiceError('edit_by_hand', message);
}
