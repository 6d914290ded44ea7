// Defines the facts about a commit that a client writes through the interface.

/** The client that wrote a commit, and the object. */
export interface Writing {
  /** Serial. */
  readonly client: string;
  /** `<type>/<name>`. */
  readonly address: string;
}

/** Writings by the id of their commit. */
export type Writings = ReadonlyMap<string, Writing>;
