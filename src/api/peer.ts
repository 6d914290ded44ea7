// The client of a request, as its certificate names it: that of the TLS connection, or the one that another replica has
// verified and sent along. authenticate.ts decides whether that client is registered.

import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { canonicalFingerprint, canonicalSerial } from '../model/serial.ts';
import { ServiceError } from '../model/service-error.ts';

/** The fields of a certificate, read once a connection: parsing at every request costs more than the answer. */
export interface Peer {
  readonly serial: string;
  readonly fingerprint: string;
  readonly begins: number;
  readonly expires: number;
  /** Undefined: the page of a management listener, which reads without one. */
  readonly certificate: X509Certificate | undefined;
  /** True: another replica has verified the certificate, and has forwarded the request. */
  readonly isForwarded?: true;
}

/**
 * The certificate of the client whose request a replica forwards: DER in base64, empty for the page of a management
 * listener. Only the listener for replicas reads it.
 */
export const CLIENT_CERTIFICATE = 'x-treeline-client-certificate';

/** Its fingerprint is that of no certificate. All pages of a process have the share of one client. */
const PAGE: Peer = {
  serial: '',
  fingerprint: 'page',
  begins: 0,
  expires: Number.POSITIVE_INFINITY,
  certificate: undefined,
};

/** Of a connection, or of one request on a connection that several clients share. */
const peers = new WeakMap<Duplex | IncomingMessage, Peer>();

/**
 * Returns whose share a request takes that was admitted: two authorities may give the same serial to different clients.
 */
export function fingerprintOf(request: IncomingMessage): string {
  return identifyPeer(request).fingerprint;
}

/** Returns the client of a request. Throws ServiceError `unauthorized` if it has no valid certificate. */
export function identifyPeer(request: IncomingMessage): Peer {
  const known = findPeer(request);
  if (known !== undefined) return known;
  const { socket } = request;
  // The handshake refuses a client without a valid certificate. This is checked again, since everything depends on it.
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

/** Makes a request of another replica one of the client that it names. Throws ServiceError if it names none. */
export function presentForwarded(request: IncomingMessage): void {
  const sent = String(request.headers[CLIENT_CERTIFICATE]);
  const peer = sent === '' ? PAGE : readPeer(new X509Certificate(Buffer.from(sent, 'base64')));
  if (peer === undefined) throw new ServiceError('unauthorized', 'This needs a valid client certificate');
  peers.set(request, { ...peer, isForwarded: true });
}

/** Returns whether a request came from another replica, and not from the client itself. */
export function isForwarded(request: IncomingMessage): boolean {
  return peers.get(request)?.isForwarded === true;
}

/** Makes a request of a management listener one of its page, which may read and nothing else. */
export function presentPage(request: IncomingMessage): void {
  peers.set(request, PAGE);
}

/** Returns what a certificate says; undefined if it has no serial that names a client. */
function readPeer(certificate: X509Certificate): Peer | undefined {
  const { serialNumber, fingerprint256, validFromDate, validToDate } = certificate;
  const serial = canonicalSerial(serialNumber);
  const fingerprint = canonicalFingerprint(fingerprint256);
  if (serial === undefined || fingerprint === undefined) return undefined;
  return { serial, fingerprint, begins: validFromDate.getTime(), expires: validToDate.getTime(), certificate };
}
