// Decodes the answer to a fetch while it arrives in pieces of any size. The bytes of the pack are passed on as they come,
// uncopied, also in the middle of a packet. See gitprotocol-pack, "Packfile Data".
import { LENGTH_DIGITS, packetLength } from './packet-line.ts';

/** A piece of the pack, empty where a packet of it begins, or the content of another packet, null for a flush. */
type AnswerPart = { readonly pack: Buffer } | { readonly packet: Buffer | null };

/** The band of the pack. A line of text never begins with a band number. */
const PACK_BAND = 1;
const NOTHING = Buffer.alloc(0);

/** Decodes one answer. */
export class FetchAnswerReader {
  /** The beginning of the current packet, unless it belongs to the pack. */
  #head: Buffer = NOTHING;
  /** How many bytes of the current packet belong to the pack and are missing. */
  #packLeft = 0;

  /** True if the last packet is complete. */
  get isAtEnd(): boolean {
    return this.#head.length === 0 && this.#packLeft === 0;
  }

  /** Returns the parts in a piece of the answer; those of the pack share its memory, others do not. Throws if it is malformed. */
  push(bytes: Uint8Array): readonly AnswerPart[] {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const parts: AnswerPart[] = [];
    for (let at = 0; at < all.length; ) {
      const isPack = this.#packLeft > 0;
      const end = at + (isPack ? this.#packLeft : headLength(this.#head) - this.#head.length);
      const piece = all.subarray(at, end);
      at += piece.length;
      if (isPack) {
        this.#packLeft -= piece.length;
        parts.push({ pack: piece });
      } else {
        this.#head = Buffer.concat([this.#head, piece]);
        const part = this.#complete();
        if (part !== undefined) parts.push(part);
      }
    }
    return parts;
  }

  /** Returns the current packet if it is complete, or is known to belong to the pack. */
  #complete(): AnswerPart | undefined {
    const head = this.#head;
    if (head.length < LENGTH_DIGITS) return undefined;
    const length = packetLength(head.toString('latin1', 0, LENGTH_DIGITS));
    const isPack = head[LENGTH_DIGITS] === PACK_BAND;
    if (!isPack && head.length < length) return undefined;
    this.#head = NOTHING;
    if (isPack) {
      this.#packLeft = length - head.length;
      return { pack: NOTHING };
    }
    return { packet: length === 0 ? null : head.subarray(LENGTH_DIGITS) };
  }
}

/** Returns how many bytes of a packet are read together: its length, then its band, then the rest. */
function headLength(head: Buffer): number {
  if (head.length < LENGTH_DIGITS) return LENGTH_DIGITS;
  if (head.length === LENGTH_DIGITS) return LENGTH_DIGITS + 1;
  return packetLength(head.toString('latin1', 0, LENGTH_DIGITS));
}
