// The connections of a listener: keeps their number within limits without locking clients out, hands on the requests of each one after
// the other, and ends connections without cutting off an answer. See docs/operations.md, connections.
//
// The facts about a request are kept with its connection, never in a collection of all requests: a Map or Set copies itself
// when entries come and go, and its old copies keep the requests that they held in memory until the next full garbage
// collection.
import type { Server as HttpServer, ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** How many requests may wait on one connection behind the one that is answered. */
const AHEAD_MAX = 100;

/** How many connections a listener holds. */
export interface ConnectionLimits {
  readonly max: number;
  /** Of one client certificate. Left out: as many as of all. */
  readonly ofClient?: number;
}

/**
 * Takes over a request whose turn it is on its connection. Node delivers all that a client sends ahead at once; the next one waits until the
 * one before is answered.
 */
export type HandOn = (response: ServerResponse, connection: OpenConnection) => void;

/** One connection, and the requests on it that are not answered yet. */
export class OpenConnection {
  /** With TLS, the encrypted socket once its handshake is done. */
  socket: Socket;
  /** The fingerprint of the certificate; undefined before the handshake is done, and without TLS. */
  client: string | undefined;
  /** True without TLS. */
  isHandshakeDone = false;
  /** Orders the idle connections: the number of answers of all connections when this one became idle. */
  idleSince = 0;
  /** True where it began before the last reload. */
  isOld = false;
  /** The last request that began, answered or not. */
  last: ServerResponse | undefined;
  /** The first one is being answered, oldest first. Several where the client did not wait for the first. */
  readonly unanswered: ServerResponse[] = [];
  #isRetired = false;
  readonly #handOn: HandOn | undefined;
  readonly #onAnswered: () => void;

  /** Without `handOn` the listeners of the server get each request as it comes. */
  constructor(socket: Socket, handOn: HandOn | undefined, countAnswer: () => number) {
    this.socket = socket;
    this.#handOn = handOn;
    this.#onAnswered = () => {
      this.unanswered.shift();
      this.idleSince = countAnswer();
      this.#handOnNext();
    };
  }

  /** True if the only request that is not answered has not arrived as a whole: those before the last one have. */
  get isIncomplete(): boolean {
    return this.unanswered.length === 1 && this.last?.req.complete === false;
  }

  /** Takes a request, unless the connection ends with an earlier answer: the client would never learn the result of another one. */
  begin(response: ServerResponse): void {
    if (this.#handOn !== undefined && this.last?.getHeader('Connection') === 'close') return;
    this.last = response;
    if (this.#handOn !== undefined && (this.isOld || this.#isRetired || asksToUpgrade(response))) announceEnd(response);
    response.on('close', this.#onAnswered);
    const ahead = this.unanswered.push(response) - 1;
    if (ahead === 0) this.#handOn?.(response, this);
    else if (ahead > AHEAD_MAX) this.socket.destroy();
  }

  #handOnNext(): void {
    if (this.#isRetired) this.socket.destroySoon();
    const [next] = this.unanswered;
    // The connection may have ended with the answer before.
    if (next !== undefined && this.socket.writable) this.#handOn?.(next, this);
  }

  /** Tells the client with every answer under way, where that is still possible, that no other follows. */
  announceEnd(): void {
    this.unanswered.forEach(announceEnd);
  }

  /** Ends the connection with its next answer, or the one under way. */
  endWithAnswer(): void {
    this.#isRetired = true;
    this.announceEnd();
  }

  /** Ends the connection once the answers under way are sent; at once where there are none. */
  retire(): void {
    this.endWithAnswer();
    if (this.unanswered.length === 0) this.socket.destroySoon();
  }
}

/** Node stays with HTTP/1.1 then, and loses what came in one piece with the request: no other answer may follow. */
function asksToUpgrade({ req }: ServerResponse): boolean {
  return req.headers.upgrade !== undefined;
}

function announceEnd(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

/** The open connections of a server, those included whose handshake is under way. */
export class Connections {
  readonly #server: HttpServer | HttpsServer;
  readonly #limits: ConnectionLimits;
  readonly #handOn: HandOn | undefined;
  /** By the addresses of both ends, the oldest first: the encrypted and the plain socket have these in common. */
  readonly #open = new Map<string, OpenConnection>();
  readonly #bySocket = new WeakMap<Duplex, OpenConnection>();
  #answers = 0;

  /**
   * Keeps at most `max` connections of a server that does not listen yet, and at most `ofClient` of each client. For a new one beyond
   * them it closes the oldest that never sent a request; else the one that has been idle longest; else the oldest whose request is
   * incomplete; of the same client, where that has too many. If every such connection waits for an answer, it closes the new one.
   */
  constructor(server: HttpServer | HttpsServer, limits: ConnectionLimits, handOn?: HandOn) {
    this.#server = server;
    this.#limits = limits;
    this.#handOn = handOn;
    server.on('connection', (socket: Socket) => this.#accept(socket));
    server.on('secureConnection', (socket: TLSSocket) => this.#finishHandshake(socket));
    const begin = (response: ServerResponse): void => this.find(response.req.socket)?.begin(response);
    server.prependListener('request', (_request, response) => begin(response));
    // Node answers an unknown Expect by itself, and not in JSON, unless this event is handled.
    server.prependListener('checkExpectation', (_request, response) => begin(response));
  }

  /** Returns a connection whose handshake is done; undefined also once it is closed. */
  find(socket: Duplex): OpenConnection | undefined {
    const open = this.#bySocket.get(socket);
    return open?.isHandshakeDone === true && !socket.closed ? open : undefined;
  }

  /**
   * Lets every connection there is now, also those whose handshake is under way, have one more answer, which tells that it
   * is the last; or the one under way, where that can still tell. So no client is cut off that has a request on its way.
   */
  renewAll(): void {
    for (const open of this.#open.values()) {
      open.isOld = true;
      open.announceEnd();
    }
  }

  /** Ends every connection: with the answer that is under way, else at once. */
  endAll(): void {
    for (const open of this.#open.values()) {
      if (open.isHandshakeDone) open.endWithAnswer();
      else open.socket.destroy();
    }
    this.#server.closeIdleConnections();
  }

  /** Ends every connection there is now, whatever happens on it. */
  destroyAll(): void {
    // Node counts handshakes among no HTTP connections.
    for (const { isHandshakeDone, socket } of this.#open.values()) if (!isHandshakeDone) socket.destroy();
    this.#server.closeAllConnections();
  }

  #accept(socket: Socket): void {
    if (this.#open.size >= this.#limits.max && !this.#closeOne(this.#open)) socket.destroy();
    else this.#add(socket);
  }

  #add(socket: Socket): OpenConnection {
    const name = nameOf(socket);
    const open = new OpenConnection(socket, this.#handOn, () => ++this.#answers);
    open.isHandshakeDone = !(this.#server instanceof HttpsServer);
    this.#open.set(name, open);
    this.#bySocket.set(socket, open);
    socket.once('close', () => {
      if (this.#open.get(name) === open) this.#open.delete(name);
    });
    return open;
  }

  #finishHandshake(socket: TLSSocket): void {
    const name = nameOf(socket);
    const known = this.#open.get(name);
    const open = known ?? this.#add(socket);
    // Nobody knows with what its handshake began.
    if (known === undefined) open.isOld = true;
    open.socket = socket;
    open.isHandshakeDone = true;
    open.client = socket.getPeerX509Certificate()?.fingerprint256;
    this.#bySocket.set(socket, open);
    this.#limitClient(open, name);
  }

  #limitClient(open: OpenConnection, name: string): void {
    const { max, ofClient = max } = this.#limits;
    if (this.#open.size <= ofClient) return;
    const own = new Map([...this.#open].filter(([, { client }]) => client === open.client));
    if (own.size <= ofClient) return;
    own.delete(name);
    if (!this.#closeOne(own)) open.socket.destroy();
  }

  /** Closes and forgets one of the candidates; returns false where each of them waits for an answer. */
  #closeOne(candidates: ReadonlyMap<string, OpenConnection>): boolean {
    const name =
      firstOf(candidates, ({ last }) => last === undefined) ??
      longestIdleOf(candidates) ??
      firstOf(candidates, ({ isIncomplete }) => isIncomplete);
    if (name === undefined) return false;
    this.#open.get(name)?.socket.destroy();
    return this.#open.delete(name);
  }
}

type Candidates = ReadonlyMap<string, OpenConnection>;

function firstOf(connections: Candidates, isWanted: (open: OpenConnection) => boolean): string | undefined {
  for (const [name, open] of connections) if (isWanted(open)) return name;
  return undefined;
}

function longestIdleOf(connections: Candidates): string | undefined {
  let longest: readonly [name: string, idleSince: number] | undefined;
  for (const [name, { unanswered, idleSince }] of connections) {
    if (unanswered.length === 0 && (longest === undefined || idleSince < longest[1])) longest = [name, idleSince];
  }
  return longest?.[0];
}

function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
