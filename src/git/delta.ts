// Git's deltas: an object written as copies from another one and new bytes. See gitformat-pack, "Deltified representation".

/** When a copy's size is left out, it is this. */
const COPY_SIZE_DEFAULT = 0x10000;
const FEW_BYTES = 16;

/** Returns the size of the object that a delta makes. Throws RangeError where the delta is cut off. */
export function sizeAfterDelta(delta: Buffer): number {
  return readSize(delta, readSize(delta, 0).next).value;
}

/**
 * Returns the object that `delta` makes of `base`. Throws where the delta does not fit. The caller has seen that the object is
 * not too large. A delta may have a command for each byte, so no command sets memory aside.
 */
export function applyDelta(base: Buffer, delta: Buffer): Buffer {
  const from = readSize(delta, 0);
  const to = readSize(delta, from.next);
  if (from.value !== base.length) throw new Error('a delta belongs to another base');
  const object = Buffer.allocUnsafe(to.value);
  let made = 0;
  let at = to.next;
  while (at < delta.length) {
    const command = delta.readUInt8(at++);
    if (command === 0) throw new Error('a delta holds the reserved command 0');
    const isCopy = (command & 0x80) !== 0;
    const copy = isCopy ? readCopy(delta, at, command) : { offset: at, size: command, next: at + command };
    const source = isCopy ? base : delta;
    if (copy.offset + copy.size > source.length) throw otherSize();
    if (made + copy.size > object.length) throw otherSize();
    made += copyBytes(source, copy, { object, made });
    at = copy.next;
  }
  if (made !== object.length) throw otherSize();
  return object;
}

function otherSize(): Error {
  return new Error('a delta makes an object of another size than it says');
}

/** Byte by byte where there are few: a call for each takes longer. */
function copyBytes(
  source: Buffer,
  { offset, size }: { readonly offset: number; readonly size: number },
  { object, made }: { readonly object: Buffer; readonly made: number },
): number {
  if (size > FEW_BYTES) return source.copy(object, made, offset, offset + size);
  for (let i = 0; i < size; i++) object[made + i] = source[offset + i] ?? 0;
  return size;
}

/** Bits 0 to 3 of the command say which bytes of the offset follow, bits 4 to 6 which of the size. */
function readCopy(delta: Buffer, start: number, command: number): { offset: number; size: number; next: number } {
  let next = start;
  let offset = 0;
  let size = 0;
  for (let bit = 0; bit < 4; bit++) if (command & (1 << bit)) offset += delta.readUInt8(next++) * 2 ** (8 * bit);
  for (let bit = 0; bit < 3; bit++) if (command & (0x10 << bit)) size += delta.readUInt8(next++) * 2 ** (8 * bit);
  return { offset, size: size === 0 ? COPY_SIZE_DEFAULT : size, next };
}

/** Seven bits a byte, lowest first; the highest bit says that another byte follows. */
function readSize(delta: Buffer, start: number): { readonly value: number; readonly next: number } {
  let value = 0;
  let next = start;
  for (let scale = 1; ; scale *= 128) {
    const byte = delta.readUInt8(next++);
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, next };
  }
}
