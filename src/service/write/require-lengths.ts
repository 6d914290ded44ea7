// Checks the lengths of a write's keys and texts before any other work. The limits are those of files.
import { below } from '../../model/entry.ts';
import type { Json } from '../../model/json.ts';
import { keyLengthFault, textLengthFault } from '../../model/keys.ts';
import { quote } from '../../model/quote.ts';
import { type ErrorDetail, ServiceError } from '../../model/service-error.ts';

/** The number of faults that are reported. */
const FAULTS_MAX = 20;

interface Part {
  readonly value: Json;
  readonly pointer: string;
}

/** Throws `invalid_input`, with at most 20 details, for a body with a key or text that is longer than a file may hold. */
export function requireLengths(body: Json): void {
  const faults = faultsIn(body);
  const [first] = faults;
  if (first !== undefined) throw new ServiceError('invalid_input', first.message, faults);
}

function faultsIn(body: Json): readonly ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const left: Part[] = [{ value: body, pointer: '' }];
  for (let part = left.pop(); part !== undefined && faults.length < FAULTS_MAX; part = left.pop()) {
    const message = faultOf(part);
    if (message !== undefined) faults.push({ pointer: part.pointer, message });
    else for (const inside of partsOf(part, faults)) left.push(inside);
  }
  return faults;
}

function faultOf({ value }: Part): string | undefined {
  const fault = typeof value === 'string' ? textLengthFault(value) : undefined;
  return fault === undefined ? undefined : `This text ${fault}`;
}

/** A key that is too long is reported where its map stands: a pointer with it would be as long. */
function* partsOf({ value, pointer }: Part, faults: ErrorDetail[]): Generator<Part> {
  if (value === null || typeof value !== 'object') return;
  for (const [key, inside] of Object.entries(value)) {
    const fault = keyLengthFault(key);
    if (fault === undefined) yield { value: inside, pointer: below(pointer, key) };
    else if (faults.length < FAULTS_MAX) faults.push({ pointer, message: `The key ${quote(key)} ${fault}` });
  }
}
