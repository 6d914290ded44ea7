// Defines which words may be configuration keys, and which keys select layers.
// See docs/concepts.md, hierarchy and records.
import { NAME_LENGTH_MAX, type PlainTypeName, RESERVED_KEYS } from './names.ts';

/** The maximum length of a text, as a value or a list item, in characters: UTF-16 code units. */
export const TEXT_LENGTH_MAX = 64 * 1024;

/** Fields that describe an object. They are never configuration keys. */
export const DESCRIBING_FIELDS: ReadonlySet<string> = new Set(['name', 'type', 'description', 'tenant']);

/** Keys by which a node selects the object of that type. No shared layer may set them. */
export const SELECTORS: ReadonlySet<string> = new Set<PlainTypeName>([
  'environment',
  'location',
  'zone',
  'shape',
  'role',
  'configuration',
]);

const STRUCTURAL_PROPERTIES = ['configuration_only', 'depends_on'] as const;
/** A property that controls how Treeline handles a server. Neither providers nor records get it. */
export type StructuralProperty = (typeof STRUCTURAL_PROPERTIES)[number];

/** Returns true for a structural property. */
export function isStructural(property: string): property is StructuralProperty {
  return (STRUCTURAL_PROPERTIES as readonly string[]).includes(property);
}

/** The key with the tags of the proxies that manage a server. */
export const PROXY_TAG = 'ProxyTag';

/** Returns why a key is too long, as the end of a sentence that begins with the key, or undefined. */
export function keyLengthFault(key: string): string | undefined {
  if (key.length <= NAME_LENGTH_MAX) return undefined;
  return `has ${key.length} characters, and a key may have ${NAME_LENGTH_MAX}`;
}

/** Returns why a text is too long, as the end of a sentence that begins with the text, or undefined. */
export function textLengthFault(text: string): string | undefined {
  if (text.length <= TEXT_LENGTH_MAX) return undefined;
  return `has ${text.length} characters, and a text may have ${TEXT_LENGTH_MAX}`;
}

/** Returns true if a text can be stored and sent: it contains no NUL and no half of a surrogate pair. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Returns why a word cannot be a key of a record, as the end of a sentence that begins with the key, or undefined. */
export function recordKeyFault(key: string): string | undefined {
  if (key === '') return 'is empty';
  if (RESERVED_KEYS.has(key)) return 'is a reserved word';
  if (key.length > NAME_LENGTH_MAX) return keyLengthFault(key);
  if (/[/.]/.test(key)) return 'contains "/" or "."';
  // A blank, an invisible character or a look-alike letter would hide a key from the patterns of secrets.
  if (!/^[A-Za-z0-9_:-]+$/.test(key)) return 'contains something other than letters, digits, "_", "-" and ":"';
  return undefined;
}
