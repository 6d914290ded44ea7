// Decodes the bytes of a file: UTF-8 only, and up to the limit of a file.

import type { Fault } from '../model/entry.ts';

/** The maximum size of a file of the layout. */
export const FILE_BYTES_MAX = 1024 * 1024;

/** Returns the text without a byte order mark, or what is wrong. */
export function decodeText(bytes: Uint8Array): { readonly text: string } | { readonly fault: Fault } {
  if (bytes.length > FILE_BYTES_MAX) return { fault: fileTooLarge(bytes.length) };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { fault: { code: 'not_utf8', message: 'the file is not UTF-8', hint: 'save the file as UTF-8' } };
  }
}

/** Returns the fault of a file of more than 1 MiB; `size` in bytes, if known. */
export function fileTooLarge(size?: number): Fault {
  return {
    code: 'file_too_large',
    message: `the file is larger than 1 MiB${size === undefined ? '' : ` (${size} bytes)`}`,
    hint: 'split it, or keep data that is not configuration elsewhere',
  };
}
