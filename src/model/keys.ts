// Which words may be configuration keys, and which of them select layers. See docs/concepts.md, hierarchy and records.
import { type PlainTypeName, RESERVED_KEYS } from './names.ts';

/** Fields that every object may have: they describe it, and are never configuration keys. */
export const DESCRIBING_FIELDS: ReadonlySet<string> = new Set(['name', 'type', 'description', 'tenant']);

/** Keys that select the object of their type when a node itself sets them; no layer may set them. */
export const SELECTORS: ReadonlySet<string> = new Set<PlainTypeName>([
  'environment',
  'location',
  'zone',
  'shape',
  'role',
  'configuration',
]);

/** Returns why a word cannot be a key of a record, as the end of a sentence that begins with the key, or undefined. */
export function keyFault(key: string): string | undefined {
  if (RESERVED_KEYS.has(key)) return 'is a reserved word';
  if (/[/.]/.test(key)) return 'holds "/" or "."';
  if ([...key].some((character) => character < ' ' || character === '\u007f')) return 'holds a control character';
  return undefined;
}
