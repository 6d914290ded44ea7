// Collects the data of servers from all sources as flat keys, like those of records, each with its file and line; and
// the data that cannot be imported, with the reason. docs/import.md has the rules for maps and lists.
import { quote } from '../base/wording.ts';
import { isMap, type Json } from '../model/json.ts';
import { DESCRIBING_FIELDS, isStructural, isWellFormed, recordKeyFault, textLengthFault } from '../model/keys.ts';
import { nameFault } from '../model/names.ts';
import type { RecordValue } from '../model/record.ts';
import { bounded, type Located, placeText, plainJson, type SourceLine } from './foreign-yaml.ts';

/** The value of a key. */
export interface SourceValue extends SourceLine {
  readonly value: RecordValue;
  /** The value as JSON. Equal values have equal texts. */
  readonly text: string;
  /** True if it was written only for this server, not for a group. */
  readonly isOwn: boolean;
}

/** A server of the sources. */
export interface SourceNode {
  readonly name: string;
  readonly values: Map<string, SourceValue>;
  /** The candidates for selectors: facts, groups, columns. */
  readonly facets: Map<string, string>;
}

/** Data that is not imported. `key` is empty for a whole file and for whole servers. */
export interface LeftOut extends SourceLine {
  readonly key: string;
  readonly reason: string;
  /** The affected servers. */
  readonly servers: readonly string[];
}

/** The data of one server in one source. */
export interface SourceServer extends SourceLine {
  readonly name: string;
  readonly variables: Iterable<readonly [key: string, value: Located, isOwn: boolean]>;
  readonly facets: Iterable<readonly [name: string, value: string]>;
}

/** The sources cannot be imported at all. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

const NODES_MAX = 20_000;
const VALUES_MAX = 8_000_000;
const LEFT_OUT_MAX = 100_000;

/** Keys with secret values; also written to hierarchy.yaml, so that no such value is committed later. */
export const SECRET_KEY =
  '(?i)(?:password|passwd|passphrase|secret|token|private_?key|secret_?key|api_?key|credentials?|_pass|_pw)$';
const SECRET_KEY_PATTERN = new RegExp(SECRET_KEY.slice('(?i)'.length), 'i');
/** Encrypted values, keys, password hashes, well-known tokens, and URLs with a password. */
const SECRET_VALUE = new RegExp(
  [
    String.raw`ENC\[[A-Z0-9]+,`,
    String.raw`\$ANSIBLE_VAULT`,
    '-----BEGIN [A-Z ]*PRIVATE KEY',
    String.raw`^\$(?:1|2[abxy]|5|6|y|gy|7)\$`,
    String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
    String.raw`\b(?:ghp|gho|glpat|xox[abp])[-_][\w-]{16,}`,
    String.raw`:\/\/[^/\s:@]+:[^/\s@]+@`,
  ].join('|'),
);

const SECRET = 'it looks like a secret: keep it in a secret store, and write a reference';

/** Keys or list items of a flattened value. */
type Flat = readonly (readonly [key: string, value: SourceValue | (SourceLine & { readonly reason: string })])[];

/** The servers of all sources, by name. */
export class Inventory {
  readonly nodes = new Map<string, SourceNode>();
  readonly #folded = new Map<string, string>();
  readonly #leftOut = new Map<string, LeftOut & { readonly servers: string[] }>();
  /** Caches flattened values, because thousands of servers share a value. */
  readonly #flat = new WeakMap<Located, Map<string, Flat>>();
  #values = 0;

  /** The data that is not imported, sorted by file and line. */
  get leftOut(): readonly LeftOut[] {
    return [...this.#leftOut.values()].sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
  }

  /** Records data that is not imported, once for each place, key and reason, with the servers. */
  leave({ file, line }: SourceLine, key: string, reason: string, server?: string): void {
    const id = `${file}\n${line}\n${key}\n${reason}`;
    const known = this.#leftOut.get(id) ?? { file, line, key, reason, servers: [] };
    if (server !== undefined) known.servers.push(server);
    this.#leftOut.set(id, known);
    if (this.#leftOut.size > LEFT_OUT_MAX) throw new ImportError(`more than ${LEFT_OUT_MAX} values cannot be imported`);
  }

  /** Adds the data of a server. Its keys override those of earlier sources. */
  add({ name, variables, facets, ...at }: SourceServer): void {
    const node = this.#nodeAt(name, at);
    if (node === undefined) return;
    const found = new Map<string, SourceValue>();
    for (const [top, value, isOwn] of variables) {
      for (const [key, one] of this.#flatten(top, value, isOwn)) {
        const other = found.get(key);
        if ('reason' in one) this.leave(one, key, one.reason, name);
        else if (other !== undefined) this.leave(one, key, `${placeText(other)} makes the same key`, name);
        else if (!isNameOf(node, key, one)) this.#note(node, found, { key, ...one });
      }
    }
    for (const [key, value] of found) node.values.set(key, value);
    for (const [facet, value] of facets) node.facets.set(facet, value);
  }

  #note({ name }: SourceNode, found: Map<string, SourceValue>, { key, ...value }: SourceValue & { key: string }): void {
    const fault = fieldFault(key, value.value);
    if (fault !== undefined) {
      this.leave(value, key, fault, name);
      return;
    }
    this.#values += 1;
    if (this.#values > VALUES_MAX) throw new ImportError(`the servers have more than ${VALUES_MAX} values together`);
    found.set(key, value);
  }

  #nodeAt(name: string, at: SourceLine): SourceNode | undefined {
    const known = this.nodes.get(name);
    if (known !== undefined) return known;
    const twin = this.#folded.get(name.toLowerCase());
    const fault = name === 'all' ? 'is kept for the list of all records' : nameFault(name);
    if (fault !== undefined || twin !== undefined) {
      const why = fault === undefined ? `differs from ${quote(twin ?? '')} in case only` : fault;
      this.leave(at, '', `the server ${quote(name)} is missing: its name ${why}`, name);
      return undefined;
    }
    if (this.nodes.size >= NODES_MAX) throw new ImportError(`the sources have more than ${NODES_MAX} servers`);
    const node = { name, values: new Map(), facets: new Map() };
    this.#folded.set(name.toLowerCase(), name);
    this.nodes.set(name, node);
    return node;
  }

  #flatten(key: string, value: Located, isOwn: boolean): Flat {
    const known = this.#flat.get(value) ?? new Map<string, Flat>();
    this.#flat.set(value, known);
    const flat = known.get(`${isOwn} ${key}`) ?? [...flatten(key, bounded(value), isOwn)];
    known.set(`${isOwn} ${key}`, flat);
    return flat;
  }
}

/** Returns true for a key that only repeats the name of the server, which is in every record. */
function isNameOf({ name }: SourceNode, key: string, { value }: SourceValue): boolean {
  return key === 'name' && value === name;
}

/** Returns why a name is not usable as a key: it is a field of every object, except the description of a server. */
function fieldFault(key: string, value: RecordValue): string | undefined {
  if (key === 'description') return typeof value === 'string' && value !== '' ? undefined : 'a description is a text';
  if (DESCRIBING_FIELDS.has(key)) return `${quote(key)} is a field of every object, and not a key: rename it`;
  return isStructural(key) ? `${quote(key)} says how a server is handled, and is not a key: rename it` : undefined;
}

/** A word that can follow `::` in a key. */
const KEY_PART = /^[A-Za-z0-9_-]+(?:::[A-Za-z0-9_-]+)*$/;

/** Yields the keys for a value; a map with words as keys becomes one key for each of them. */
function* flatten(key: string, located: Located, isOwn: boolean): Generator<Flat[number]> {
  const { file, line } = located;
  const leave = (reason: string): Flat[number] => [key, { file, line, reason }];
  const keyFault = recordKeyFault(key);
  if (keyFault !== undefined) return yield leave(`the key ${keyFault}`);
  if (SECRET_KEY_PATTERN.test(key)) return yield leave(SECRET);
  if (located.kind === 'map' && isOfWords(located.entries)) {
    for (const [part, value] of located.entries) yield* flatten(`${key}::${part}`, value, isOwn);
    return;
  }
  const plain = plainJson(located);
  if ('fault' in plain) return yield leave(plain.fault);
  if (plain.json === null) return yield leave('it is null, and a record has no such value');
  if (hasSecret(plain.json)) return yield leave(SECRET);
  const value = recordValueOf(plain.json);
  const fault = valueFault(value);
  if (fault !== undefined) return yield leave(fault);
  yield [key, { file, line, value, text: JSON.stringify(value), isOwn }];
}

function isOfWords(entries: ReadonlyMap<string, unknown>): boolean {
  return entries.size > 0 && [...entries.keys()].every((key) => KEY_PART.test(key));
}

/** Converts values that a record cannot contain to JSON text: other maps, and list items that are not texts. */
function recordValueOf(json: Exclude<Json, null>): RecordValue {
  if (Array.isArray(json)) return json.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  return typeof json === 'object' ? JSON.stringify(json) : json;
}

function valueFault(value: RecordValue): string | undefined {
  for (const text of Array.isArray(value) ? value : [value]) {
    if (typeof text !== 'string') continue;
    const fault = isWellFormed(text) ? textLengthFault(text) : 'contains a character that a file cannot contain';
    if (fault !== undefined) return `it ${fault}`;
  }
  return undefined;
}

function hasSecret(json: Json): boolean {
  if (typeof json === 'string') return SECRET_VALUE.test(json);
  if (Array.isArray(json)) return json.some(hasSecret);
  if (!isMap(json)) return false;
  return Object.entries(json).some(([key, value]) => SECRET_KEY_PATTERN.test(key) || hasSecret(value));
}
