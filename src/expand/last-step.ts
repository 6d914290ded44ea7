// The end of a pointer, for messages that name a value by its key.

/** Returns the last key of an RFC 6901 pointer, as it is written in the file. */
export function lastStep(pointer: string): string {
  return pointer
    .slice(pointer.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
}
