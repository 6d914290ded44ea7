// The other end of a connection, as its certificate names it. Whether that client is registered is for authenticate.ts to say.
import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { canonicalFingerprint, canonicalSerial } from '../model/serial.ts';
import { ServiceError } from '../model/service-error.ts';

/** The fields of a certificate, read once a connection: parsing at every request costs more than the answer. */
export interface Peer {
  readonly serial: string;
  readonly fingerprint: string;
  readonly expires: number;
  readonly certificate: X509Certificate;
}

const peers = new WeakMap<Socket, Peer>();

/** Returns whose share a request takes that was admitted: two authorities may give the same serial to different clients. */
export function fingerprintOf({ socket }: IncomingMessage): string {
  return peerOf(socket).fingerprint;
}

/** Returns what the certificate of a connection says. Throws ServiceError `unauthorized` where it has no valid one. */
export function peerOf(socket: Socket): Peer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  // The handshake refuses who has no valid certificate. Looked at again, since everything else rests on it.
  const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  const peer = certificate && readPeer(certificate);
  if (peer === undefined) throw new ServiceError('unauthorized', 'This needs a valid client certificate');
  peers.set(socket, peer);
  return peer;
}

function readPeer(certificate: X509Certificate): Peer | undefined {
  const { serialNumber, fingerprint256, validToDate } = certificate;
  // A negative serial is printed with a minus sign, which the canonical spelling would drop.
  const serial = serialNumber.startsWith('-') ? undefined : canonicalSerial(serialNumber);
  const fingerprint = canonicalFingerprint(fingerprint256);
  if (serial === undefined || fingerprint === undefined) return undefined;
  return { serial, fingerprint, expires: validToDate.getTime(), certificate };
}
