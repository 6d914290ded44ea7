// Finds the registered client of a request. Looks up the certificate, which TLS has verified, in the registry at every
// request, and again after each wait of a request, so that a removed client is refused immediately. See docs/rest.md,
// authentication, and ARCHITECTURE.md, "Certificates and rights".
import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { invariant } from '../base/invariant.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import type { Metrics } from '../base/metrics.ts';
import { haveSameRights, withReads } from '../model/least-rights.ts';
import type { Client, ReadScope } from '../model/objects.ts';
import { canonicalFingerprint } from '../model/serial.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Caller, Registry } from '../service/caller.ts';
import type { ClientsSeen } from '../service/progress/clients-seen.ts';
import type { Reader } from '../service/read/reader.ts';
import { identifyPeer, type Peer } from './peer.ts';

/** The registry, and the checks of certificates. */
export interface AuthenticateOptions {
  readonly reader: Reader;
  /** What proxies without `reads` in their client file may read. Omitted: everything. */
  readonly proxyReads?: ReadScope;
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts requests, and refusals because of a certificate. Omitted: requests are not counted. */
  readonly metrics?: Metrics | undefined;
  /** Records when clients were last authenticated. Omitted: not recorded. */
  readonly seen?: Pick<ClientsSeen, 'note'> | undefined;
  /** See tls/tls-material.ts. */
  readonly ambiguityOf: (certificate: X509Certificate) => string | undefined;
}

/**
 * Represents the page of a management listener. Its reads return what every client except a proxy sees. It has none of
 * the rights in authorize.ts.
 */
export const PAGE_CLIENT: Client = {
  name: 'page',
  type: 'client',
  description: 'the page of a management listener',
  role: 'automation-endpoint',
  fingerprint: '',
  serial: '',
  tenant: '',
};

/** The result of authenticating a request. */
interface Admission {
  /** The options of the first check, for further checks. */
  readonly options: AuthenticateOptions;
  readonly logOnce: LogOnceAMinute;
  /** Omitted: the request was refused. */
  client?: Client;
  /** Whether the leader has to record that the client was seen. */
  isSeenAnew?: boolean;
}

const admissions = new WeakMap<IncomingMessage, Admission>();

/** A step of every request: passes the request on, or answers it. */
export type RequestStep = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void | Promise<void>;

/** Returns the step that passes requests of registered clients; `clientOf` then returns the client. */
export function authenticate(options: AuthenticateOptions) {
  const logOnce = logOnceAMinute(options.clock);
  return (request: IncomingMessage, _response: ServerResponse, next: () => void): void => {
    const admission: Admission = { options, logOnce };
    admissions.set(request, admission);
    const client = admitCounted(options, request);
    admission.client = client;
    admission.isSeenAnew = client !== PAGE_CLIENT && options.seen?.note(identifyPeer(request)) === true;
    next();
  };
}

function admitCounted(options: AuthenticateOptions, request: IncomingMessage): Client {
  try {
    return admit(options, request);
  } catch (error) {
    const isOfCertificate = error instanceof ServiceError && error.code !== 'not_ready';
    if (isOfCertificate) options.metrics?.count('treeline_refused_certificates_total', { reason: error.code });
    throw error;
  }
}

/**
 * Returns the registered client of a request. Throws ServiceError if its certificate is invalid or not registered.
 */
export function admit(options: AuthenticateOptions, request: IncomingMessage, registry?: Registry): Client {
  const { reader, clock } = options;
  const peer = identifyPeer(request);
  if (peer.certificate === undefined) return admitPage(request);
  const now = clock.now();
  if (peer.expires <= now) {
    const message = `The certificate with serial ${peer.serial} has expired: renew it and connect again`;
    throw new ServiceError('certificate_expired', message);
  }
  const client = registry === undefined ? reader.registered(peer.serial) : registry(peer.serial);
  if (client === undefined) throw unknownClient(reader, peer);
  checkFingerprint(client, peer, options);
  return withReads(client, options.proxyReads ?? 'all');
}

/** Returns whether the leader has to record that the client of a request was seen. */
export function isSeenAnew(request: IncomingMessage): boolean {
  return admissions.get(request)?.isSeenAnew === true;
}

function admitPage({ method }: IncomingMessage): Client {
  if (method === 'GET' || method === 'HEAD') return PAGE_CLIENT;
  throw new ServiceError('not_allowed', 'The page of a management listener may only read');
}

/** Returns the client of a request that `authenticate` passed, with the check of its current rights. */
export function callerOf(request: IncomingMessage): Caller {
  return { by: clientOf(request), refusal: (registry) => findRefusal(request, registry) };
}

/** Throws ServiceError if a request that was passed is no longer allowed; see {@link findRefusal}. */
export function requireAllowed(request: IncomingMessage): void {
  const refusal = findRefusal(request);
  if (refusal !== undefined) throw refusal;
}

/**
 * Returns why a request that was passed is no longer allowed: its certificate has become invalid, or its client is no
 * longer registered or has another role or other limits. Undefined if it is still allowed, or was not passed.
 */
export function findRefusal(request: IncomingMessage, registry?: Registry): ServiceError | undefined {
  const admission = admissions.get(request);
  if (admission === undefined) return undefined;
  try {
    requireSameRights(admit(admission.options, request, registry), admission.client);
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** `asked`: undefined for a request that every role may send. */
function requireSameRights(client: Client, asked: Client | undefined): void {
  if (asked === undefined || haveSameRights(client, asked)) return;
  const { serial, role } = client;
  const message =
    role === asked.role
      ? `The rights of the client ${serial} have changed: repeat the request`
      : `The role of the client ${serial} has changed from ${asked.role} to ${role}: repeat the request`;
  throw new ServiceError('not_allowed', message);
}

/**
 * Logs for the operator that the client of a request exceeded its share: which client, and how often.
 */
export function logOverShare(request: IncomingMessage, reason: string): void {
  const admission = admissions.get(request);
  if (admission === undefined) return;
  const { log, reader } = admission.options;
  const { serial } = identifyPeer(request);
  const client = reader.registered(serial)?.name ?? null;
  const repeats = admission.logOnce(`${serial} ${reason}`);
  if (repeats) log.warn({ client, serial, reason, ...repeats }, 'a client is over its share');
}

/** Returns the client of a request that `authenticate` passed. */
export function clientOf(request: IncomingMessage): Client {
  const client = findClient(request);
  invariant(client !== undefined, 'a route was reached without authentication');
  return client;
}

/** Returns the client of a request that was passed; undefined for other requests. */
export function findClient(request: IncomingMessage): Client | undefined {
  return admissions.get(request)?.client;
}

function unknownClient(reader: Reader, { serial, fingerprint }: Peer): ServiceError {
  // Before the first good commit no client is registered: `not_ready` comes first.
  reader.commit();
  return new ServiceError(
    'client_not_registered',
    `No client is registered with serial ${serial} and SHA-256 fingerprint ${fingerprint}: ` +
      `an administrator can register it with POST /clients or "treeline client add", or as clients/${serial}.yaml in ` +
      'the stacks repository',
  );
}

function checkFingerprint(
  { serial, fingerprint: registered }: Client,
  { fingerprint, certificate }: Peer,
  { ambiguityOf }: Pick<AuthenticateOptions, 'ambiguityOf'>,
): void {
  const ambiguity = registered === '' && certificate !== undefined ? ambiguityOf(certificate) : undefined;
  if (ambiguity !== undefined) {
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
