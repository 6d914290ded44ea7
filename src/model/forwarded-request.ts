// Defines what one replica asks of the leader for a client, and what the leader answers, as it travels between them.

/** A request of a client that this replica has authenticated and let in. */
export interface ForwardedRequest {
  /** A UUID: the id that the answer carries. No other request has it. */
  readonly id: string;
  /**
   * The client's certificate, then the authorities that it has sent along, as PEM. The TLS of the asking replica has
   * verified them.
   */
  readonly certificates: readonly string[];
  readonly method: string;
  /** The path with its query. */
  readonly target: string;
  /** By name, in lower case: those that the interface knows. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came, perhaps packed; null where there is none. */
  readonly body: Uint8Array | null;
}

/** The answer to a forwarded request, as the leader would send it itself. */
export interface ForwardedAnswer {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
}
