// Decodes the bytes of a file: UTF-8 only, and up to the limit of a file.

import { invariant } from '../base/invariant.ts';
import type { Fault } from '../model/entry.ts';

/** The maximum size of a file of the layout. */
export const FILE_BYTES_MAX = 1024 * 1024;

/** Returns the text without a byte order mark, or what is wrong and the text before it. */
export function decodeText(
  bytes: Uint8Array,
): { readonly text: string } | { readonly fault: Fault; readonly before: string } {
  if (bytes.length > FILE_BYTES_MAX) return { fault: fileTooLarge(bytes.length), before: '' };
  const text = decodePrefix(bytes, bytes.length, false);
  if (text !== undefined) return { text };
  return notUtf8(bytes);
}

function notUtf8(bytes: Uint8Array): { readonly fault: Fault; readonly before: string } {
  const { length, isCut } = validPrefix(bytes);
  const before = decodePrefix(bytes, length, true);
  invariant(before !== undefined, 'what was found valid decodes');
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const byte = bytes[length]?.toString(16);
  const where = isCut ? 'the file ends inside a character' : `the byte 0x${byte} here is no UTF-8`;
  return {
    before,
    fault: {
      code: 'not_utf8',
      message: isUtf16 ? 'the file is UTF-16' : where,
      hint: 'save the file as UTF-8',
    },
  };
}

/** Returns how many bytes from the start are whole characters, and whether nothing but the end of the file cuts the next one. */
function validPrefix(bytes: Uint8Array): { readonly length: number; readonly isCut: boolean } {
  let low = 0;
  let high = bytes.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (decodePrefix(bytes, middle, true) === undefined) high = middle - 1;
    else low = middle;
  }
  // A byte may begin a character that the next one does not go on with: then it is the first of the two that is wrong.
  let length = low;
  while (length > 0 && decodePrefix(bytes, length, false) === undefined) length--;
  return { length, isCut: low === bytes.length };
}

function decodePrefix(bytes: Uint8Array, length: number, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length), { stream: isCut });
  } catch {
    return undefined;
  }
}

/** Returns the fault of a file of more than 1 MiB; `size` in bytes where it is known. */
export function fileTooLarge(size?: number): Fault {
  return {
    code: 'file_too_large',
    message: `the file is larger than 1 MiB${size === undefined ? '' : ` (${size} bytes)`}`,
    hint: 'split it, or keep what is no configuration elsewhere',
  };
}
