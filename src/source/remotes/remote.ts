// What the source needs of the repository that it follows, however that is reached; what carries Git's smart protocol.
// The source only ever reads; pushing is pusher.ts.
import type { Lender } from '../../git/bare-repository.ts';
import type { SentSecrets } from './sent-secrets.ts';

/** The largest answer that is taken as a whole, in bytes: some hundred thousand names of branches. */
export const LIST_BYTES_MAX = 16 * 1024 * 1024;

export interface Remote {
  /** How messages name it. Holds no password. */
  readonly name: string;
  /** What was sent to be let in: whoever makes a message of what it answered has to strip that. */
  readonly secrets: SentSecrets;

  /** Asks for the branches. Throws SourceError where the remote fails. */
  branches(signal: AbortSignal): Promise<Branches>;
}

/** What a remote said of its branches, and the way to fetch one of them. */
export interface Branches {
  /** By name, without `refs/heads/`; empty where nothing was committed yet. */
  readonly heads: ReadonlyMap<string, string>;

  /**
   * Brings the branch's head, and everything reachable from it, into a new bare repository, and returns the head. Every
   * object that came is right, and what it refers to is there or in the lender; whether the head is among them is for the
   * caller to see. Throws SourceError where the remote fails, or what it sent is not whole.
   */
  fetchInto(order: FetchOrder): Promise<string>;
}

export interface FetchOrder {
  /** Where the new repository is made. */
  readonly quarantine: string;
  readonly branch: string;
  /** What is reachable from its commit may be left out. */
  readonly lender: Lender | null;
  /** Ends the fetch at once, with its reason: connections are closed, processes killed. */
  readonly signal: AbortSignal;
}

/** What carries one request of Git's smart HTTP protocol: HTTP itself, or something that behaves like it. */
export interface Transport {
  /** The remote's address, an `http(s)://` URL in any case; requests begin with it. */
  readonly url: string;
  readonly name: string;
  /** What was sent to be let in, and must not be shown to anybody wherever it comes back. Errors of it are stripped. */
  readonly secrets: SentSecrets;
  /** Answers with the whole body or throws SourceError; never with a part of it. */
  request(request: TransportRequest): Promise<TransportAnswer>;

  /**
   * Returns what `work` makes of the body of the answer, which it reads as it comes. The body ends only where the answer
   * is whole: what fails on the way is thrown to whoever reads it, and to the caller.
   */
  stream<Value>(request: TransportRequest, work: (body: AsyncIterable<Uint8Array>) => Promise<Value>): Promise<Value>;
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
