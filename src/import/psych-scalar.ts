// Reads a plain scalar of YAML like Psych, the reader of Ruby and so of Puppet. Its rules are those of Psych's
// ScalarScanner.
import { isExact } from '../model/json.ts';

/** The value of a scalar, or the reason why no record can have it. */
type PsychScalar = { readonly value: null | boolean | number | string } | { readonly fault: string };

const WORDS: readonly (readonly [RegExp, null | boolean])[] = [
  [/^(?:~|null)$/i, null],
  [/^(?:yes|true|on)$/i, true],
  [/^(?:no|false|off)$/i, false],
];
/** A text for Psych, but for the words above. */
const TEXT = /^[^\d.:-]?[\p{L}_\s!@#$%^&*(){}<>|/\\~;=]+|\n/u;
const DATE = /^\d{4}-(?:1[012]|0\d|\d)-(?:[12]\d|3[01]|0\d|\d)$/;
const TIME = /^-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?$/;
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d){1,2}(?:\.[\d_]*)?$/;
const FLOAT = /^[-+]?(?:\d[\d_,]*)?\.\d*(?:[eE][-+]\d+)?$/;
const INTEGER = /^([-+]?)(?:0b([01_,]+)|0x([\da-fA-F_,]+)|0([0-7_,]+)|(0|[1-9](?:\d|,\d|_\d)*))$/;

/** Returns what Psych reads: `12:30` is 45000, since it takes two parts for hours and minutes in seconds. */
export function psychScalar(text: string): PsychScalar {
  if (text === '') return { value: null };
  if (TEXT.test(text)) return { value: text.length > 5 ? text : wordOf(text) };
  if (TIME.test(text) || DATE.test(text)) return { fault: 'it is a date without quotes, which Puppet refuses' };
  if (/^[-+]?\.inf$|^\.nan$/i.test(text)) return { fault: 'no record can keep this number' };
  if (/^:./.test(text)) return { fault: 'it is a symbol of Ruby: write a text' };
  const value = numberOf(text);
  if (value === undefined) return { value: text };
  return isExact(value) ? { value } : { fault: 'no record can keep this number' };
}

function wordOf(text: string): null | boolean | string {
  const found = WORDS.find(([pattern]) => pattern.test(text));
  return found === undefined ? text : found[1];
}

function numberOf(text: string): number | undefined {
  const plain = text.replaceAll(/[,_]/g, '');
  if (BASE_60.test(text)) {
    const parts = plain.split(':').map(Number);
    return parts.reduce((sum, part, index) => sum + part * 60 ** Math.abs(index - 2), 0);
  }
  if (FLOAT.test(text)) return /^[-+]?\.$/.test(text) ? undefined : Number(plain.replace(/\.(?=[eE]|$)/, ''));
  const [, sign, ...digits] = INTEGER.exec(text) ?? [];
  const at = digits.findIndex((one) => one !== undefined);
  const size = Number.parseInt((digits[at] ?? '').replaceAll(/[,_]/g, ''), [2, 16, 8, 10][at] ?? 10);
  if (at === -1 || Number.isNaN(size)) return undefined;
  return sign === '-' ? -size : size;
}
