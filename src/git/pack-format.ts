// The sizes in the formats of packs and their indexes. See gitformat-pack.

/** The length of a pack's header, which holds the number of objects. */
export const PACK_HEADER_BYTES = 12;
/** The length of the SHA-1 with which a pack ends, and its index too. */
export const PACK_CHECKSUM_BYTES = 20;
/** The length of a number in an index. */
export const WORD_BYTES = 4;
/** The number of values of an id's first byte; an index has a number for each. */
export const FIRST_BYTES = 256;
