// The client at the other end of a connection, as its certificate names it: of a TLS connection, or of a request that
// another replica has forwarded. Whether that client is registered is for authenticate.ts to say.

import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { keepNewest } from '../base/lists.ts';
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

/** A certificate that is parsed takes about 10 KiB; the others are parsed again. */
const FORWARDED_MAX = 1_000;

/** Its fingerprint is that of no certificate. All pages of a process have the share of one client. */
const PAGE: Peer = {
  serial: '',
  fingerprint: 'page',
  begins: 0,
  expires: Number.POSITIVE_INFINITY,
  certificate: undefined,
};

const peers = new WeakMap<Duplex, Peer>();
/** By their certificates, as PEM. */
const forwardedPeers = new Map<string, Peer>();

/**
 * Returns whose share a request takes that was admitted: two authorities may give the same serial to different clients.
 */
export function fingerprintOf({ socket }: IncomingMessage): string {
  return identifyPeer(socket).fingerprint;
}

/** Returns what the certificate of a connection says. Throws ServiceError `unauthorized` where it has no valid one. */
export function identifyPeer(socket: Socket): Peer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  // The handshake refuses who has no valid certificate. Looked at again, since everything else rests on it.
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  const peer = certificate && readPeer(certificate);
  if (peer === undefined) throw new ServiceError('unauthorized', 'This needs a valid client certificate');
  peers.set(socket, peer);
  return peer;
}

/** Returns what was read of the certificate of a connection already; undefined where nothing was. */
export function findPeer({ socket }: IncomingMessage): Peer | undefined {
  return peers.get(socket);
}

/** Returns the certificate of a client that TLS has verified, as PEM; none for the page of a management listener. */
export function certificatesOf({ socket }: IncomingMessage): readonly string[] {
  const { certificate } = identifyPeer(socket);
  return certificate === undefined ? [] : [certificate.toString()];
}

/**
 * Makes a connection within this process one of the client with these certificates, which another replica has verified.
 * Throws where they name no client.
 */
export function presentCertificates(connection: Duplex, certificates: readonly string[]): void {
  const key = certificates.join('');
  const peer = forwardedPeers.get(key) ?? readForwarded(certificates);
  if (peer === undefined) throw new ServiceError('unauthorized', 'This needs a valid client certificate');
  keepNewest(forwardedPeers, [key, peer], FORWARDED_MAX);
  peers.set(connection, peer);
}

/** Returns whether a request came from another replica, and not from the client itself. */
export function isForwarded({ socket }: IncomingMessage): boolean {
  return peers.get(socket)?.isForwarded === true;
}

/** Makes a connection of a management listener one of its page, which may read and nothing else. */
export function presentPage(connection: Duplex): void {
  peers.set(connection, PAGE);
}

function readForwarded([certificate]: readonly string[]): Peer | undefined {
  const peer = certificate === undefined ? PAGE : readPeer(new X509Certificate(certificate));
  return peer && { ...peer, isForwarded: true };
}

/** Returns what a certificate says; undefined where it has no serial that names a client. */
function readPeer(certificate: X509Certificate): Peer | undefined {
  const { serialNumber, fingerprint256, validFromDate, validToDate } = certificate;
  const serial = canonicalSerial(serialNumber);
  const fingerprint = canonicalFingerprint(fingerprint256);
  if (serial === undefined || fingerprint === undefined) return undefined;
  return { serial, fingerprint, begins: validFromDate.getTime(), expires: validToDate.getTime(), certificate };
}
