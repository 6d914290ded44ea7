// Refuses JSON values that no file can hold. It runs first, so that later code can rely on a limited depth.
import { below } from '../../model/entry.ts';
import { isMap, type Json, type JsonMap } from '../../model/json.ts';
import { isWellFormed } from '../../model/keys.ts';
import { ServiceError } from '../../model/service-error.ts';

/** As deep as a file may be. */
const DEPTH_MAX = 64;

/** Throws ServiceError `invalid_input` for the first value that no file can hold, with its place. */
export function requireWritable(fields: JsonMap): void {
  const fault = faultIn(fields, '', 1);
  if (fault === undefined) return;
  const [pointer, message] = fault;
  throw new ServiceError('invalid_input', `${pointer === '' ? 'the body' : pointer} ${message}`, [
    { pointer, message },
  ]);
}

function faultIn(value: Json, pointer: string, depth: number): readonly [pointer: string, message: string] | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : [pointer, 'is a number that is too large'];
  if (typeof value === 'string') return isWellFormed(value) ? undefined : [pointer, NO_TEXT];
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > DEPTH_MAX) return ['', `has more than ${DEPTH_MAX} objects and lists inside one another`];
  for (const [key, one] of isMap(value) ? Object.entries(value) : value.entries()) {
    const fault = isWellFormed(String(key))
      ? faultIn(one, below(pointer, key), depth + 1)
      : ([pointer, NO_TEXT] as const);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const NO_TEXT = 'holds NUL or half of a surrogate pair, which are no characters';
