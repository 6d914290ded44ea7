// Creates the TLS listener: it verifies client certificates and limits times and connections. It does not know clients
// or routes. See docs/rest.md, authentication and limits.
import type { X509Certificate } from 'node:crypto';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { AuditLog } from '../base/audit-log.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type ConnectionLimits, Connections, type OpenConnection } from '../base/connections.ts';
import { type ListenAddress, listenOn } from '../base/listen.ts';
import type { Logger } from '../base/log.ts';
import { logOnceAMinute } from '../base/log-once-a-minute.ts';
import type { Metrics } from '../base/metrics.ts';
import { endBrokenRequest } from './broken-request.ts';
import { clientTurns } from './client-turns.ts';
import { readPeer } from './peer.ts';
import { secureContextOptions, type TlsMaterial } from './tls/tls-material.ts';
import { issuedDirectly, readTrust, type Trust, vouchesFor } from './tls/trust.ts';

const HEADER_BYTES_MAX = 8 * 1024;
const CONNECTION_LIMITS = { max: 10_000, ofClient: 1_000 };
/** The interval of Node's check for slow requests; its own 30 s would extend the limits above by as much. */
const CHECK_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
/** Of the subject of a refused certificate that is logged. */
const SUBJECT_MAX = 200;

/** The time limit of each step. */
export interface TimeLimits {
  readonly handshakeMs: number;
  readonly headersMs: number;
  /** Headers and body together. */
  readonly requestMs: number;
  /** Without a byte in either direction: a client that stops reading, or an answer that never comes. */
  readonly stallMs: number;
  /** The time that `close` waits for answers under way. */
  readonly closeMs: number;
}

const TIME_LIMITS: TimeLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 30_000,
  stallMs: 120_000,
  closeMs: 10_000,
};

interface ListenerOptions extends ListenAddress {
  readonly tls: TlsMaterial;
  readonly handler: RequestListener;
  /** Named in the answers to requests that do not get to the handler; left out: they name none. */
  readonly replica?: string;
  /** Left out: refused certificates are in the log alone. */
  readonly audit?: AuditLog | undefined;
  readonly log: Logger;
  /** Counts refused certificates. Left out: nothing does. */
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock;
  readonly limits?: Partial<TimeLimits>;
  readonly connectionLimits?: ConnectionLimits;
}

/** A TLS listener that accepts connections. */
export interface Listener extends ListenAddress {
  /**
   * Serves with other certificates from now on, without failing a request: connections of before end with their next
   * answer. A client that would be refused now gets none. Throws for material that does not fit
   * together, and then the old one serves on.
   */
  reload(tls: TlsMaterial): void;
  /** Stops accepting, ends idle connections, waits for answers under way, and ends what is left after a while. */
  close(): Promise<void>;
}

/** Returns a listener that accepts connections. Throws where the address is taken or the material does not fit together. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const limits = { ...TIME_LIMITS, ...options.limits };
  let trust = readTrust(options.tls);
  const server = createServer({
    ...secureContextOptions(options.tls),
    // Clients that speak HTTP/1.0, such as curl -0, ask for it by its own name.
    ALPNProtocols: ['http/1.1', 'http/1.0'],
    requestCert: true,
    rejectUnauthorized: true,
    handshakeTimeout: limits.handshakeMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    // The handler refuses a request without Host itself: Node's own answer is no JSON.
    requireHostHeader: false,
  });
  server.timeout = limits.stallMs;
  const refused = logRefusals(server, options, () => trust);
  refuseAuthorities(server, refused);
  const handOn = (response: ServerResponse, connection: OpenConnection): void => {
    clientTurns.inTurn(connection.client ?? '', () => {
      if (response.destroyed) return;
      const { socket, isOld } = connection;
      // Not when it came: a reload may have been while it waited.
      if (!isOld || isLetIn(socket, trust)) options.handler(response.req, response);
      else socket.destroySoon();
    });
  };
  const connections = new Connections(server, options.connectionLimits ?? CONNECTION_LIMITS, handOn);
  server.on('clientError', (error, socket) => {
    const connection = connections.find(socket);
    // Node reports a failed handshake here too, and leaves ending it to us: there is no HTTP to answer with yet.
    if (connection === undefined) socket.destroy();
    else endBrokenRequest(error, socket, connection, options.replica);
  });
  const { address, port } = await listenOn(server, options, 'api.port');
  return {
    host: address,
    port,
    reload(tls) {
      const next = readTrust(tls);
      server.setSecureContext(secureContextOptions(tls));
      trust = next;
      connections.renewAll();
    },
    async close() {
      await close(server, connections, limits.closeMs);
    },
  };
}

/** Tells whether a connection would be accepted now. Dates are left out: each request looks at those of the client. */
function isLetIn(socket: Socket, trust: Trust): boolean {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return certificate !== undefined && vouchesFor(trust, certificate);
}

interface SignedNames {
  readonly subject?: string;
  readonly serial?: string | undefined;
}

/** Logs that a connection is refused. */
type Refused = (socket: Socket, reason: string) => void;

/** Any host on the network can cause refusals, so the lines are throttled. */
function logRefusals(
  server: Server,
  { audit, log, metrics, clock = systemClock }: ListenerOptions,
  trust: () => Trust,
): Refused {
  const logOnce = logOnceAMinute(clock);
  const presented = keepPresented(server);
  function refused(socket: Socket, reason: string): void {
    const remote = remoteOf(socket);
    const { subject, serial } = signedNames(presented.get(socket), trust());
    const repeats = logOnce(`${reason} ${remote} ${serial}`);
    if (repeats) log.warn({ reason, remote, subject, serial, ...repeats }, 'connection refused');
    const isOfCertificate = ('authorizationError' in socket && socket.authorizationError) || /CERTIFICATE/.test(reason);
    if (isOfCertificate) metrics?.count('treeline_refused_certificates_total', { reason });
    if (isOfCertificate) audit?.record({ kind: 'certificate', decision: 'refused', serial, reason, remote });
  }
  // First of all listeners, since the next one ends the connection, and then its address is gone.
  server.prependListener('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    refused(socket, String(socket.authorizationError ?? error.code ?? error.message));
  });
  return refused;
}

/**
 * Returns the certificates of connections whose handshake is about to be judged: Node ends one that it refuses before it tells, and then its
 * certificate is gone. `keylog` is the one event that hands out the socket before; the keys in it are left alone. Decides nothing.
 */
function keepPresented(server: Server): WeakMap<Socket, X509Certificate | undefined> {
  const presented = new WeakMap<Socket, X509Certificate | undefined>();
  server.on('keylog', (_line, socket) => {
    if (presented.has(socket)) return;
    presented.set(socket, undefined);
    socket.prependOnceListener('secure', () => presented.set(socket, socket.getPeerX509Certificate()));
  });
  return presented;
}

/**
 * Returns whose a refused certificate is, where one of the operator's own authorities has signed it: anybody writes into others what he likes,
 * and who signs with an authority that he sends along is not judged here.
 */
function signedNames(certificate: X509Certificate | undefined, trust: Trust): SignedNames {
  if (certificate === undefined || !issuedDirectly(trust, certificate)) return {};
  // Node's types do not say it: undefined where it is empty.
  const { subject: written = '' } = certificate as { readonly subject?: string };
  const subject = written.replaceAll('\n', ', ').replaceAll(/\p{C}/gu, ' ').slice(0, SUBJECT_MAX);
  return { subject, serial: readPeer(certificate)?.serial };
}

/**
 * Returns the address of the other end. Node ends a connection before it tells that its certificate was not accepted; then
 * only the plain socket below, whose address was looked at before, still knows it.
 */
function remoteOf(socket: Socket & { readonly _parent?: Socket | null }): string | undefined {
  return socket.remoteAddress ?? socket._parent?.remoteAddress;
}

/**
 * Refuses certificates that may sign others: an authority is no client. OpenSSL lets one in that has no key usage, and
 * its holder could become any client that is registered without a fingerprint.
 */
function refuseAuthorities(server: Server, refused: Refused): void {
  server.prependListener('secureConnection', (socket) => {
    if (socket.getPeerX509Certificate()?.ca !== true) return;
    refused(socket, 'CERTIFICATE_OF_AN_AUTHORITY');
    socket.destroy();
  });
}

async function close(server: Server, connections: Connections, withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  connections.endAll();
  const timer = setTimeout(() => connections.destroyAll(), withinMs);
  await promise;
  clearTimeout(timer);
}
