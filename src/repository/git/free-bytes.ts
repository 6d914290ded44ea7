// Frees the memory of large buffers before the garbage collector would: it counts them late, so that a stream of a few
// megabytes a second else holds all that came between two collections.

/**
 * Frees the memory of bytes that are not read any more; they are empty from then on. Bytes that share their memory with
 * others, as small ones do, are left to the garbage collector.
 */
export function freeBytes({ buffer, length }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}
