// Finds the registered client of a request: the certificate that TLS has verified is looked up in the registry at every
// request, so that a removed client is refused at once. See docs/rest.md, authentication.
import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import type { Clock } from '../clock.ts';
import { invariant } from '../model/invariant.ts';
import type { Client } from '../model/objects.ts';
import { canonicalFingerprint } from '../model/serial.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Reader } from '../service/reader.ts';
import { type Failure, sendError } from './errors.ts';
import { type Peer, peerOf } from './peer.ts';

/** The registry, and the judgement of certificates. */
export interface AuthenticateOptions {
  readonly reader: Reader;
  readonly clock: Clock;
  /** Judges a certificate by the TLS material in force. */
  readonly judge: (certificate: X509Certificate) => CertificateJudgement;
}

/** The judgement of the operator's authorities and revocation lists on a certificate that TLS has verified. */
export interface CertificateJudgement {
  /**
   * Why its serial alone does not tell who it is, as the end of a sentence about the record of the client; undefined where
   * it does. Two authorities may give the same serial to different clients.
   */
  readonly ambiguity: string | undefined;
  /** Until when revocation lists say whether it is revoked, milliseconds since 1970. */
  readonly listsUntil: number;
}

const clients = new WeakMap<IncomingMessage, Client>();

/** Returns a handler that lets requests of registered clients pass; `clientOf` then tells which. */
export function authenticate(options: AuthenticateOptions): RequestHandler {
  return (request, response, next) => {
    const client = admit(options, request);
    if ('code' in client) {
      response.setHeader('Connection', 'close');
      sendError(response, client);
      return;
    }
    clients.set(request, client);
    next();
  };
}

/**
 * Returns the registered client of a request, or the failure with which its connection ends. Throws ServiceError for one
 * that is not registered.
 */
export function admit({ reader, clock, judge }: AuthenticateOptions, { socket }: IncomingMessage): Client | Failure {
  const peer = peerOf(socket);
  const now = clock.now();
  if (peer.expires <= now) {
    const message = `The certificate with serial ${peer.serial} has expired: renew it and connect again`;
    return { code: 'certificate_expired', message };
  }
  const { listsUntil, ambiguity } = judge(peer.certificate);
  if (listsUntil <= now) {
    const message =
      'The revocation list of the authority that this certificate comes from has expired, so nobody knows whether it was ' +
      'revoked: the operator has to renew the list';
    return { code: 'revocation_list_expired', message };
  }
  const client = reader.registered(peer.serial) ?? refuseUnknown(reader, peer);
  checkFingerprint(client, peer, ambiguity);
  return client;
}

/** Returns the client that sent a request which `authenticate` let pass. */
export function clientOf(request: IncomingMessage): Client {
  const client = clients.get(request);
  invariant(client !== undefined, 'a route was reached without authentication');
  return client;
}

function refuseUnknown(reader: Reader, { serial, fingerprint }: Peer): never {
  // Before the first good commit no client is registered: `not_ready` comes first.
  reader.commit();
  throw new ServiceError(
    'client_not_registered',
    `No client is registered with serial ${serial} and SHA-256 fingerprint ${fingerprint}: ` +
      `an administrator can register it with POST /clients or "treeline client add", or as clients/${serial}.yaml in ` +
      'the stacks repository',
  );
}

function checkFingerprint(
  { serial, fingerprint: registered }: Client,
  { fingerprint }: Peer,
  ambiguity: string | undefined,
): void {
  if (registered === '' && ambiguity !== undefined) {
    throw new ServiceError(
      'fingerprint_mismatch',
      `The client ${serial} is registered without a fingerprint, and ${ambiguity}: ` +
        `an administrator has to add it; the SHA-256 fingerprint of this certificate is ${fingerprint}`,
    );
  }
  if (registered !== '' && registered !== fingerprint && canonicalFingerprint(registered) !== fingerprint) {
    throw new ServiceError(
      'fingerprint_mismatch',
      `The client ${serial} is registered with another fingerprint; that of this certificate is ${fingerprint} (SHA-256)`,
    );
  }
}
