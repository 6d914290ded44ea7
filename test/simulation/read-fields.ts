// Reads values of JSON as the types of a script. It refuses unknown fields and other values, and names the place of the first.

/** Returns a value as its type, or throws an error that names the place `at`. */
export type Read<T> = (value: unknown, at: string) => T;

/** A field that may be absent. */
export interface Optional<T> {
  readonly optional: Read<T>;
}

type FieldsOf<T> = { readonly [Key in keyof T]-?: Read<Exclude<T[Key], undefined>> | Optional<T[Key]> };

function fail(at: string, wanted: string, value: unknown): never {
  throw new Error(`${at}: ${JSON.stringify(value)} is not ${wanted}`);
}

export const text: Read<string> = (value, at) => (typeof value === 'string' ? value : fail(at, 'a text', value));

export const number: Read<number> = (value, at) => (typeof value === 'number' ? value : fail(at, 'a number', value));

export const yesOrNo: Read<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : fail(at, 'true or false', value);

/** Reads one of the keys of an object, which therefore names all values of a union. */
export function keyOf<T extends string>(names: Readonly<Record<T, true>>): Read<T> {
  return (value, at) =>
    typeof value === 'string' && Object.hasOwn(names, value)
      ? (value as T)
      : fail(at, `one of ${Object.keys(names).join(', ')}`, value);
}

export function orNull<T>(read: Read<T>): Read<T | null> {
  return (value, at) => (value === null ? null : read(value, at));
}

export function optional<T>(read: Read<T>): Optional<T> {
  return { optional: read };
}

export function list<T>(read: Read<T>): Read<readonly T[]> {
  return (value, at) =>
    Array.isArray(value) ? value.map((item, index) => read(item, `${at}/${index}`)) : fail(at, 'a list', value);
}

/** Reads an object with these fields and no other. They keep their order. */
export function object<T extends object>(fields: FieldsOf<T>): Read<T> {
  const known = new Map<string, Read<unknown> | Optional<unknown>>(Object.entries(fields));
  return (value, at) => {
    if (!isObject(value)) return fail(at, 'an object', value);
    for (const [key, field] of known) {
      if (typeof field === 'function' && !Object.hasOwn(value, key)) {
        throw new Error(`${at}: the field "${key}" is missing`);
      }
    }
    const entries = Object.entries(value).map(([key, item]) => {
      const field = known.get(key);
      if (field === undefined) throw new Error(`${at}: there is no field "${key}"`);
      return [key, (typeof field === 'function' ? field : field.optional)(item, `${at}/${key}`)];
    });
    return Object.fromEntries(entries) as T;
  };
}

/** Returns true for a map of JSON. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
