// Checks the length of keys and texts. The limits are the same in every file, so later stages rely on them.
import { below } from '../model/entry.ts';
import type { Json } from '../model/json.ts';
import { keyLengthFault, textLengthFault } from '../model/keys.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';
import { type Fault, problemFrom } from './fault.ts';
import type { YamlDocument } from './yaml.ts';

interface LengthCheck {
  readonly problems: readonly Problem[];
  /** Tells whether a pointer leads through a key that is too long: what else is wrong with it is not said. */
  readonly isBeyond: (pointer: string) => boolean;
}

/** Returns an error for every key and every text of a document that is too long. */
export function checkLengths(file: string, { value, locate }: YamlDocument): LengthCheck {
  const found = value === undefined ? [] : faultsBelow('', value);
  const beyond = found.filter(({ fault }) => fault.part === 'key').map(({ at }) => at);
  return {
    problems: found.map(({ at, pointer, fault }) => {
      return problemFrom(fault, { ...locate(at, fault.part), file, pointer });
    }),
    isBeyond: (pointer) => beyond.some((at) => pointer.startsWith(at)),
  };
}

interface Placed {
  /** Where it stands. */
  readonly at: string;
  /** The name in the message: a key that is too long is not repeated there. */
  readonly pointer: string;
  readonly fault: Fault;
}

/** A file is not nested deeper than its parser allows. */
function faultsBelow(pointer: string, value: Json): readonly Placed[] {
  if (typeof value === 'string') {
    const fault = textFault(value);
    return fault === undefined ? [] : [{ at: pointer, pointer, fault }];
  }
  if (value === null || typeof value !== 'object') return [];
  const found: Placed[] = [];
  for (const [key, inside] of Object.entries(value)) {
    const at = below(pointer, key);
    const fault = keyFault(key);
    if (fault !== undefined) found.push({ at, pointer, fault });
    else for (const one of faultsBelow(at, inside)) found.push(one);
  }
  return found;
}

function keyFault(key: string): Fault | undefined {
  const fault = keyLengthFault(key);
  if (fault === undefined) return undefined;
  return { code: 'bad_key', message: `the key ${quote(key)} ${fault}`, hint: 'choose a shorter name', part: 'key' };
}

function textFault(text: string): Fault | undefined {
  const fault = textLengthFault(text);
  if (fault === undefined) return undefined;
  // Not quoted: it may be a secret.
  const hint = 'keep the text elsewhere, and write here where it is';
  return { code: 'value_too_large', message: `this text ${fault}`, hint };
}
