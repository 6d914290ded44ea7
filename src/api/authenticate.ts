// Finds the registered client of a request: the certificate that TLS has verified is looked up in the registry at every
// request, and again wherever one has waited, so that a removed client is refused at once. See docs/rest.md,
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

/** The registry, and the judgement of certificates. */
export interface AuthenticateOptions {
  readonly reader: Reader;
  /** What proxies read whose client file does not say. Left out: everything. */
  readonly proxyReads?: ReadScope;
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts requests, and those that are refused for their certificate. Left out: nothing does. */
  readonly metrics?: Metrics | undefined;
  /** Remembers when clients were let in. Left out: nobody does. */
  readonly seen?: Pick<ClientsSeen, 'note'> | undefined;
  /** See tls/tls-material.ts. */
  readonly ambiguityOf: (certificate: X509Certificate) => string | undefined;
}

/**
 * Stands for the page of a management listener. Reads show it what they show every client but proxies; it has no right
 * of authorize.ts.
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

/** How a request was let pass. */
interface Admission {
  /** What judged it, and judges it again. */
  readonly options: AuthenticateOptions;
  readonly logOnce: LogOnceAMinute;
  /** Left out: it was not let pass. */
  client?: Client;
  /** Whether the leader has to record that the client was seen. */
  isSeenAnew?: boolean;
}

const admissions = new WeakMap<IncomingMessage, Admission>();

/** A step that a request passes, or ends at. */
export type RequestStep = (
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
) => void | Promise<void>;

/** Returns the step that lets requests of registered clients pass; `clientOf` then returns the client. */
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
 * Returns the registered client of a request. Throws ServiceError where its certificate admits no client, or is not
 * registered.
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
  throw new ServiceError('not_allowed', 'The page of a management listener may read, and nothing else');
}

/** Returns who sent a request that `authenticate` let pass, and whether it still may. */
export function callerOf(request: IncomingMessage): Caller {
  return { by: clientOf(request), refusal: (registry) => findRefusal(request, registry) };
}

/** Throws ServiceError where a request that was let pass is not allowed any more; see {@link findRefusal}. */
export function requireAllowed(request: IncomingMessage): void {
  const refusal = findRefusal(request);
  if (refusal !== undefined) throw refusal;
}

/**
 * Returns why a request that was let pass is not allowed any more: its certificate admits no client now, or its client
 * is not registered, or with another role or part of everything that it sees, on which all rights hang. Undefined while
 * it is, and for one that was not let pass.
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

/** What every role is answered alike has no client. */
function requireSameRights(client: Client, asked: Client | undefined): void {
  if (asked === undefined || haveSameRights(client, asked)) return;
  const { serial, role } = client;
  const message =
    role === asked.role
      ? `What the client ${serial} may see and do was changed meanwhile: ask again`
      : `The role of the client ${serial} was changed meanwhile, from ${asked.role} to ${role}: ask again`;
  throw new ServiceError('not_allowed', message);
}

/**
 * Says in the log that the client of a request that was let pass asked for more than its share, for the operator: who
 * it is, and how often.
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

/** Returns the client that sent a request which `authenticate` let pass. */
export function clientOf(request: IncomingMessage): Client {
  const client = findClient(request);
  invariant(client !== undefined, 'a route was reached without authentication');
  return client;
}

/** Returns the client of a request that was let in; undefined for one that was not. */
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
