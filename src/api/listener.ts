// Creates the TLS listener: it verifies client certificates and limits times and connections. It does not know clients
// or routes. See docs/rest.md, authentication and limits.
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { AuditLog } from '../base/audit-log.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type ListenAddress, listenOn } from '../base/listen.ts';
import type { Logger } from '../base/log.ts';
import { logOnceAMinute } from '../base/log-once-a-minute.ts';
import type { Metrics } from '../base/metrics.ts';
import { secureContextOptions, type TlsMaterial } from './tls/tls-material.ts';

const HEADER_BYTES_MAX = 8 * 1024;
const CONNECTIONS_MAX = 10_000;
/** The interval of Node's check for slow requests. Node's default of 30 s would extend the limits below by 30 s. */
const CHECK_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
/** The interval at which a closing listener ends idle connections. */
const CLOSE_IDLE_MS = 100;

/** The time limit of each step. */
export interface TimeLimits {
  readonly handshakeMs: number;
  readonly headersMs: number;
  /** Headers and body together. */
  readonly requestMs: number;
  /** Without a byte in either direction, for a client that stops reading or an answer that never comes. */
  readonly stallMs: number;
  /** How long `close` waits for running answers. */
  readonly closeMs: number;
}

/** The limits, except in tests. */
export const TIME_LIMITS: TimeLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 30_000,
  stallMs: 120_000,
  closeMs: 10_000,
};

interface ListenerOptions extends ListenAddress {
  readonly tls: TlsMaterial;
  readonly handler: RequestListener;
  /** Omitted: refused certificates are only logged. */
  readonly audit?: AuditLog | undefined;
  readonly log: Logger;
  /** Counts refused certificates. Omitted: not counted. */
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock;
  readonly limits?: Partial<TimeLimits>;
}

/** A TLS listener that accepts connections. */
export interface Listener extends ListenAddress {
  /**
   * Serves with new certificates from now on, without failing a request: older connections end after their next answer.
   * Throws for inconsistent material, and then keeps the old material.
   */
  reload(tls: TlsMaterial): void;
  /** Stops accepting, ends idle connections, waits for running answers, and ends the others after the time limit. */
  close(): Promise<void>;
}

/**
 * Returns a listener that accepts connections. Throws if the address is in use or the material is inconsistent.
 */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { tls, clock = systemClock } = options;
  const limits = { ...TIME_LIMITS, ...options.limits };
  const server = createLimited(limits, {
    ...secureContextOptions(tls),
    // HTTP/1.0 clients, such as curl -0, request that protocol name.
    ALPNProtocols: ['http/1.1', 'http/1.0'],
    rejectUnauthorized: true,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
  server.on('request', options.handler);
  const refused = logRefusals(server, options);
  refuseAuthorities(server, refused);
  const endOldConnections = followConnections(server, clock, limits.handshakeMs);
  const { address, port } = await listenOn(server, options, 'api.port');
  return {
    host: address,
    port,
    reload(next) {
      server.setSecureContext(secureContextOptions(next));
      endOldConnections();
    },
    async close() {
      endOldConnections();
      await closeGently(server, limits.closeMs);
    },
  };
}

/** Returns a server that requests certificates, with limits of time and connections. It does not listen yet. */
export function createLimited(limits: TimeLimits, options: ServerOptions): Server {
  const server = createServer({
    ...options,
    requestCert: true,
    handshakeTimeout: limits.handshakeMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  server.timeout = limits.stallMs;
  server.maxConnections = CONNECTIONS_MAX;
  return server;
}

/**
 * Returns a function that ends each existing connection after its next answer, or after the running one if its head is
 * not sent yet. Ending it earlier could lose a request that the client has just sent. A running handshake may still use
 * the old certificates, so connections of the next `handshakeMs` also get only one answer.
 */
function followConnections(server: Server, clock: Clock, handshakeMs: number): () => void {
  const begins = new WeakMap<Socket, number>();
  const underWay = new Set<ServerResponse>();
  let oldUntil = Number.NEGATIVE_INFINITY;
  server.on('secureConnection', (socket) => begins.set(socket, clock.monotonic()));
  server.prependListener('request', ({ socket }, response) => {
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    if ((begins.get(socket) ?? 0) < oldUntil) response.setHeader('Connection', 'close');
  });
  return () => {
    oldUntil = clock.monotonic() + handshakeMs;
    for (const response of underWay) if (!response.headersSent) response.setHeader('Connection', 'close');
  };
}

/** Logs that a connection is refused. */
type Refused = (socket: Socket, reason: string) => void;

/** Logs refusals, throttled because any host on the network can cause them. */
function logRefusals(server: Server, { audit, log, metrics, clock = systemClock }: ListenerOptions): Refused {
  const logOnce = logOnceAMinute(clock);
  function refused(socket: Socket, reason: string): void {
    const remote = remoteOf(socket);
    const repeats = logOnce(`${reason} ${remote}`);
    if (repeats) log.warn({ reason, remote, ...repeats }, 'connection refused');
    const isOfCertificate = ('authorizationError' in socket && socket.authorizationError) || /CERTIFICATE/.test(reason);
    if (isOfCertificate) metrics?.count('treeline_refused_certificates_total', { reason });
    if (isOfCertificate) audit?.record({ kind: 'certificate', decision: 'refused', reason, remote });
  }
  // Node caches the address on this read. It is not available after the connection has ended.
  server.on('connection', (socket: Socket) => void socket.remoteAddress);
  // Prepended, because the next handler ends the connection, which loses its address.
  server.prependListener('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    refused(socket, String(socket.authorizationError ?? error.code ?? error.message));
  });
  return refused;
}

/**
 * Returns the address of the other end. For a refused certificate, Node has already ended the connection.
 */
function remoteOf(socket: Socket & { readonly _parent?: Socket | null }): string | undefined {
  return socket.remoteAddress ?? socket._parent?.remoteAddress;
}

/**
 * Refuses certificates of authorities. OpenSSL accepts an authority without a key usage as a client, and its holder
 * could impersonate any client that is registered without a fingerprint.
 */
function refuseAuthorities(server: Server, refused: Refused): void {
  server.prependListener('secureConnection', (socket) => {
    if (socket.getPeerX509Certificate()?.ca !== true) return;
    refused(socket, 'CERTIFICATE_OF_AN_AUTHORITY');
    socket.destroy();
  });
}

/** Stops accepting, ends idle connections, waits for running answers, and ends the others after the time limit. */
export async function closeGently(server: Server, withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  const idle = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_MS);
  const end = setTimeout(() => server.closeAllConnections(), withinMs);
  await promise;
  clearInterval(idle);
  clearTimeout(end);
}
