// Defines the contract for reading the followed repository over any transport, and the transport of Git's smart
// protocol. For pushing see pusher.ts.
import type { Lender } from '../../git/bare-repository.ts';
import type { SentSecrets } from './sent-secrets.ts';

/** The maximum size of a buffered answer, in bytes: some hundred thousand names of branches. */
export const LIST_BYTES_MAX = 16 * 1024 * 1024;

/** A repository that can be fetched from. */
export interface Remote {
  /** The name of the repository in messages. Holds no password. */
  readonly name: string;
  /** The credentials that were sent: messages that quote its answers have to strip them. */
  readonly secrets: SentSecrets;

  /**
   * Returns the branches as they are now, or only the one that is looked for, where it is there. Throws SourceError if the
   * remote fails.
   */
  branches(request: BranchRequest): Promise<Branches>;
}

/** A request for the branches of a remote. */
export interface BranchRequest {
  /** The branch that is looked for. */
  readonly branch: string;
  /** Aborts the request, with its reason. */
  readonly signal: AbortSignal;
}

/** The advertised branches of a remote, and a method to fetch one of them. */
export interface Branches {
  /** By name, without `refs/heads/`; empty for an empty repository. Without the branch that was looked for, it has all. */
  readonly heads: ReadonlyMap<string, string>;

  /**
   * Fetches the branch's head, and all objects reachable from it, into a new bare repository, and returns the head.
   * Every received object is valid, and the objects that it refers to are there or in the lender; the caller has to
   * check that the head is among them. Throws SourceError if the remote fails, or its answer is incomplete.
   */
  fetchInto(order: FetchOrder): Promise<string>;
}

/** The branch to fetch, and the repository to fetch it into. */
export interface FetchOrder {
  /** The path of the new repository. */
  readonly quarantine: string;
  readonly branch: string;
  /** Objects reachable from its commit may be omitted. */
  readonly lender: Lender | null;
  /** Verifies at a lower priority, since this process has other work meanwhile. */
  readonly givesWay: boolean;
  /** Aborts the fetch at once, with its reason: connections are closed, processes killed. */
  readonly signal: AbortSignal;
}

/** Transports one request of Git's smart HTTP protocol: HTTP itself, or an emulation of it. */
export interface Transport {
  /** The remote's address, always an `http(s)://` URL and the prefix of requests. */
  readonly url: string;
  readonly name: string;
  /** The credentials that were sent, which must not appear in any message. Errors thrown here are stripped of them. */
  readonly secrets: SentSecrets;
  /** Returns the whole body or throws SourceError; never returns a part of it. */
  request(request: TransportRequest): Promise<TransportAnswer>;

  /**
   * Returns the head of a branch without a request; undefined where only the remote's Git can tell. Left out: always. Throws
   * SourceError where the repository is gone.
   */
  readHead?(branch: string): Promise<string | undefined>;

  /**
   * Returns the result of `work`, which reads the body of the answer as it arrives, and may free the memory of its
   * pieces. The body ends only if the answer is complete: failures on the way are thrown to the reader and to the caller.
   */
  stream<Value>(request: TransportRequest, work: (body: AsyncIterable<Uint8Array>) => Promise<Value>): Promise<Value>;
}

/** One request to a remote. */
export interface TransportRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  readonly body: Uint8Array;
  /** Aborts the request at once, with its reason. */
  readonly signal: AbortSignal;
  /** Called before the first byte of the body may be sent: until then, the remote has changed nothing. */
  readonly sending?: () => void;
}

/** The answer of a remote. */
export interface TransportAnswer {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: Record<string, string>;
  readonly body: readonly Uint8Array[];
}
