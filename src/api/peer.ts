// The client of a request by its certificate: that of the TLS connection, or one that another replica has verified and
// forwarded. authenticate.ts decides whether that client is registered.

import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { canonicalFingerprint, canonicalSerial } from '../model/serial.ts';
import { ServiceError } from '../model/service-error.ts';

/** The fields of a certificate, read once per connection: parsing at every request would cost more than the answer. */
export interface Peer {
  readonly serial: string;
  readonly fingerprint: string;
  readonly begins: number;
  readonly expires: number;
  /** Undefined for the page of a management listener, which has none. */
  readonly certificate: X509Certificate | undefined;
  /** True if another replica verified the certificate and forwarded the request. */
  readonly isForwarded?: true;
}

/**
 * The header with the certificate of a forwarded client: DER in base64, empty for the page of a management listener.
 * Only the listener for replicas reads it.
 */
export const CLIENT_CERTIFICATE = 'x-treeline-client-certificate';

/** The peer of all pages of a process, which share the limits of one client. No certificate has its fingerprint. */
const PAGE: Peer = {
  serial: '',
  fingerprint: 'page',
  begins: 0,
  expires: Number.POSITIVE_INFINITY,
  certificate: undefined,
};

/** By connection, or by request on a connection that several clients share. */
const peers = new WeakMap<Duplex | IncomingMessage, Peer>();

/**
 * Returns the key of the client's share of limits. Not the serial: two authorities may issue the same serial to
 * different clients.
 */
export function fingerprintOf(request: IncomingMessage): string {
  return identifyPeer(request).fingerprint;
}

/** Returns the client of a request. Throws ServiceError `unauthorized` if it has no valid certificate. */
export function identifyPeer(request: IncomingMessage): Peer {
  const known = findPeer(request);
  if (known !== undefined) return known;
  const { socket } = request;
  // The handshake already refuses invalid certificates. Checked again, since every right depends on it.
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  const peer = certificate && readPeer(certificate);
  if (peer === undefined) throw new ServiceError('unauthorized', 'This needs a valid client certificate');
  peers.set(socket, peer);
  return peer;
}

/** Returns the client of a request if it is known already. */
export function findPeer(request: IncomingMessage): Peer | undefined {
  return peers.get(request) ?? peers.get(request.socket);
}

/** Returns the value of {@link CLIENT_CERTIFICATE} for a request. */
export function certificateToForward(request: IncomingMessage): string {
  return identifyPeer(request).certificate?.raw.toString('base64') ?? '';
}

/** Assigns a forwarded request to the client that it names. Throws ServiceError if it names none. */
export function presentForwarded(request: IncomingMessage): void {
  const sent = String(request.headers[CLIENT_CERTIFICATE]);
  const peer = sent === '' ? PAGE : readPeer(new X509Certificate(Buffer.from(sent, 'base64')));
  if (peer === undefined) throw new ServiceError('unauthorized', 'This needs a valid client certificate');
  peers.set(request, { ...peer, isForwarded: true });
}

/** Returns whether another replica forwarded the request. */
export function isForwarded(request: IncomingMessage): boolean {
  return peers.get(request)?.isForwarded === true;
}

/** Assigns a request of a management listener to its page, which may only read. */
export function presentPage(request: IncomingMessage): void {
  peers.set(request, PAGE);
}

/** Returns the fields of a certificate; undefined if its serial cannot name a client. */
function readPeer(certificate: X509Certificate): Peer | undefined {
  const { serialNumber, fingerprint256, validFromDate, validToDate } = certificate;
  const serial = canonicalSerial(serialNumber);
  const fingerprint = canonicalFingerprint(fingerprint256);
  if (serial === undefined || fingerprint === undefined) return undefined;
  return { serial, fingerprint, begins: validFromDate.getTime(), expires: validToDate.getTime(), certificate };
}
