// What the source needs of the repository that it follows, however that is reached; what carries Git's smart protocol.
// The source only ever reads; pushing is pusher.ts.

export interface Remote {
  /** How messages name it. Holds no password. */
  readonly name: string;

  /** Returns the branches' heads by name, without `refs/heads/`; empty where nothing was committed yet. */
  branches(signal: AbortSignal): Promise<ReadonlyMap<string, string>>;

  /**
   * Brings the branch's head, and everything reachable from it, into a new bare repository, and returns the head.
   * Verifies nothing: that is the caller's work. Throws SourceError where the remote fails; an answer that was cut off
   * may go unnoticed.
   */
  fetchInto(order: FetchOrder): Promise<string>;
}

export interface FetchOrder {
  /** Where the new repository is made. */
  readonly quarantine: string;
  readonly branch: string;
  /** What is reachable from it may be left out. */
  readonly have: Have | null;
  /** Ends the fetch at once, with its reason: connections are closed, processes killed. */
  readonly signal: AbortSignal;
}

/** A commit that is here already: its id, and its content as Git hashes it. */
export interface Have {
  readonly oid: string;
  readonly bytes: Uint8Array;
}

/** What carries one request of Git's smart HTTP protocol: HTTP itself, or something that behaves like it. */
export interface Transport {
  /** The remote's address, an `http(s)://` URL in any case; requests begin with it. */
  readonly url: string;
  readonly name: string;
  /** Answers with the whole body or throws SourceError; never with a part of it. */
  request(request: TransportRequest): Promise<TransportAnswer>;
}

export interface TransportRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  readonly body: Uint8Array;
  /** Ends the request at once, with its reason. */
  readonly signal: AbortSignal;
  /** Called before the first byte of the body may leave: until then, nothing has happened there. */
  readonly sending?: () => void;
}

export interface TransportAnswer {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: Record<string, string>;
  readonly body: readonly Uint8Array[];
}
