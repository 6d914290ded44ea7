// Defines the type names of the interface and the rules for names. See docs/concepts.md, names.

/** The thirteen type names, in the order in which `GET /types` lists them. */
export const TYPE_NAMES = [
  'all',
  'zone',
  'environment',
  'stack-template',
  'shape',
  'stack-snapshot',
  'role',
  'location',
  'action',
  'stack-instance',
  'configuration',
  'clientcert',
  'common',
] as const;
/** The name of a type of the interface. */
export type TypeName = (typeof TYPE_NAMES)[number];

/** The types whose objects are files below `types/`. */
export type PlainTypeName = Exclude<TypeName, 'all' | 'stack-template' | 'stack-instance'>;

/** The roles of clients. */
export const ROLES = ['administrator', 'automation-endpoint', 'proxy'] as const;
/** The role of a client. */
export type Role = (typeof ROLES)[number];

/** The kind of a resource that is a group. */
export const RESOURCE_GROUP = 'Platform::ResourceGroup';
/** The kind of a resource that is a server. */
export const SERVER = 'Platform::Server';

/** The provider entry of servers that proxies manage. No entry of the settings has this name. */
export const PROXIED = 'proxied';

/** The maximum length of a name, in UTF-16 code units. */
export const NAME_LENGTH_MAX = 250;

/** Keys that no record may contain: Hiera's own, computed keys, and keys that would reach a prototype. */
export const RESERVED_KEYS: ReadonlySet<string> = new Set([
  'lookup_options',
  'stackInstance',
  'last_stack_update',
  '__proto__',
  'constructor',
  'prototype',
]);

/** Returns true for the full SHA-1 or SHA-256 id of a commit. */
export function isCommitId(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** Returns true for the name of a type, including `all`. */
export function isTypeName(text: string): text is TypeName {
  return (TYPE_NAMES as readonly string[]).includes(text);
}

/** Returns the words for an object of a type: `zone`, `stack template`; `object` for `all`. */
export function kindOf(type: TypeName): string {
  if (type === 'all') return 'object';
  return type === 'common' ? 'common object' : type.replace('-', ' ');
}

/** Returns true for the name of a type whose objects are below `types/`. */
export function isPlainTypeName(text: string): text is PlainTypeName {
  return isTypeName(text) && text !== 'all' && text !== 'stack-template' && text !== 'stack-instance';
}

/** Returns why a name is invalid, as the end of a sentence that begins with the name, or undefined. */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > NAME_LENGTH_MAX) return `is longer than ${NAME_LENGTH_MAX} characters`;
  if (!/^[A-Za-z0-9]/.test(name)) return 'does not begin with a letter or digit';
  if (!/^[A-Za-z0-9._-]*$/.test(name)) return 'contains something other than letters, digits, ".", "_" and "-"';
  if (name.includes('..')) return 'contains ".."';
  if (name.endsWith('.')) return 'ends in "."';
  if (name.endsWith('.lock')) return 'ends in ".lock"';
  return undefined;
}

/** Compares names by code unit, independent of the locale. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
