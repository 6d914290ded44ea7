// Defines the contract for the ways to a repository: each transports requests of Git's smart protocol. What is said in them
// is the same for all: smart-remote.ts and smart-pusher.ts.
import { SourceError } from '../source.ts';
import { FLUSH, packetLine } from './packet-line.ts';
import type { SentSecrets } from './sent-secrets.ts';

/** The maximum size of a buffered answer, in bytes: some hundred thousand names of branches. */
export const LIST_BYTES_MAX = 16 * 1024 * 1024;

/** The remote lets nobody push with these credentials. It has read nothing of the request. */
export class NotAllowedError extends SourceError {}

/** Transports one request of Git's smart HTTP protocol: HTTP itself, or an emulation of it over ssh or to a local path. */
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

  /**
   * Ends a connection that an advertisement has left open for the request that follows it. Never throws. Left out: none is left
   * open.
   */
  rest?(): Promise<void>;
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

/** What a request asks a repository for. */
interface AskedService {
  /** `git-upload-pack` or `git-receive-pack`. */
  readonly service: string;
  /** Asks for the advertisement of branches. */
  readonly isList: boolean;
}

const SERVICE = /^\/(info\/refs\?service=)?(git-(?:upload|receive)-pack)$/;

/** Returns what a request to a transport that is not HTTP asks for. `address`: the transport's. */
export function readRequest(address: string, { url }: TransportRequest): AskedService {
  const [, list, service] = SERVICE.exec(url.slice(address.length)) ?? [];
  if (service === undefined) throw new SourceError(`the repository has no answer to ${url}`);
  return { service, isList: list !== undefined };
}

/** Returns the answer of such a transport: what a service says, as smart HTTP has it. */
export function wrapAnswer({ service, isList }: AskedService, said: readonly Uint8Array[]): TransportAnswer {
  const headers = { 'content-type': `application/x-${service}-${isList ? 'advertisement' : 'result'}` };
  // Smart HTTP puts a name before an advertisement.
  const title = isList ? [packetLine(`# service=${service}\n`), Buffer.from(FLUSH)] : [];
  return { statusCode: 200, statusMessage: 'OK', headers, body: [...title, ...said] };
}
