// Checks whether an HTTP answer is Git's, and gives the operator advice if it is not, or if none comes: Node's error codes for
// connections and certificates.

import type { RepositoryAccess } from '../../model/settings.ts';
import { SourceError } from '../source.ts';
import { placesOf } from './http-access.ts';
import type { HttpHead } from './http-exchange.ts';

interface HttpAnswer extends HttpHead {
  /** The whole body, or its beginning if it is no advertisement. */
  readonly body: readonly Buffer[];
}

interface ExpectedAnswer {
  /** The repository's URL as messages show it. */
  readonly name: string;
  readonly access: RepositoryAccess;
  readonly contentType: string;
}

const PACKET_LINE = /^[0-9a-f]{4}/;
const FLUSH = '0000';
const DUMB_LINE = /^[0-9a-f]{40}\t/;
/** Git's refusal in an answer with HTTP status 200. */
const REFUSAL = /^(?:00[0-9a-f]{2}# service=git-[a-z]+-pack\n0000)?[0-9a-f]{4}ERR ([^\n]*)/;
/** This many bytes of a body show whether it is Git's. */
export const BEGINNING_BYTES = 1024;
const ADVERTISEMENT = /-advertisement$/;
const PUSHING = /-receive-pack-/;

/** An answer with an error status. */
export class HttpStatusError extends SourceError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Throws SourceError if the answer is not a complete one of Git's smart protocol. Its content may still be invalid. */
export function checkAnswer(answer: HttpAnswer, expected: ExpectedAnswer): void {
  const { name } = expected;
  if (answer.status !== 200) throw new HttpStatusError(`"${name}" ${statusAdvice(answer, expected)}`, answer.status);
  const contentType = (answer.headers['content-type'] ?? '').replace(/;.*/, '').trim().toLowerCase();
  const bytes = answer.body.reduce((sum, chunk) => sum + chunk.length, 0);
  const beginning = Buffer.concat(answer.body, Math.min(bytes, BEGINNING_BYTES)).toString('latin1');
  if (contentType !== expected.contentType) {
    throw new SourceError(`"${name}" ${foreignAdvice(contentType, beginning)}`);
  }
  const refusal = REFUSAL.exec(beginning)?.[1];
  if (refusal !== undefined) throw new SourceError(`"${name}" refuses: ${refusal}`);
  if (!PACKET_LINE.test(beginning)) {
    const found = bytes === 0 ? 'nothing' : 'something that is not Git';
    throw new SourceError(`"${name}" sends ${found} where Git's answer belongs: see the log of the server`);
  }
  if (ADVERTISEMENT.test(contentType) && !Buffer.concat(answer.body).toString('latin1').endsWith(FLUSH)) {
    throw new SourceError(`the list of branches that "${name}" sent is cut off: it is asked again later`);
  }
}

function statusAdvice({ status, statusMessage }: HttpAnswer, { access, contentType }: ExpectedAnswer): string {
  const places = placesOf(access);
  const named = `(${status}${statusMessage === '' ? '' : ` ${statusMessage}`})`;
  const done = PUSHING.test(contentType) ? 'pushed to' : 'read';
  switch (status) {
    case 401:
      return places === undefined
        ? `asks for a user name and a password ${named}: write them into files, and name these as repository.usernameFile and repository.passwordFile`
        : `does not accept the user name and password ${named}: check ${places}`;
    case 403:
      return places === undefined
        ? `may not be ${done} without a password ${named}: set repository.passwordFile`
        : `may not be ${done} by this user ${named}: allow it there, or check ${places}`;
    case 404:
    case 410:
      return places === undefined
        ? `is not there, or not to be seen without a password ${named}: check repository.url, or set repository.passwordFile`
        : `is not there, or not to be seen by this user ${named}: check repository.url, and what the user in ${places} may read`;
    case 407:
      return `is behind a proxy that asks for a password ${named}: write it into HTTP_PROXY, as http://user:password@proxy:port`;
    case 413:
      return `takes no push of this size ${named}: raise the limit of the server or proxy`;
    case 429:
      return `has had enough requests for now ${named}: raise repository.pollSeconds`;
    default:
      return status >= 500
        ? `fails ${named}: it is asked again later; if it stays so, see the log of the server or proxy`
        : `does not answer as Git does ${named}: check repository.url`;
  }
}

/** Returns the advice for an answer of another content type. */
function foreignAdvice(contentType: string, beginning: string): string {
  if (/html/.test(contentType) || /^\s*<(!doctype|html)/i.test(beginning)) {
    return 'answers with a web page, perhaps to sign in on, and not with Git: check repository.url and the password';
  }
  if (DUMB_LINE.test(beginning)) {
    return 'is served as plain files (the "dumb" protocol): serve it through "git http-backend", or over ssh';
  }
  return `answers with ${contentType === '' ? 'something unnamed' : `"${contentType.slice(0, 100)}"`} and not with Git: check repository.url`;
}

interface ConnectionTarget {
  /** The repository's URL as messages show it. */
  readonly name: string;
  readonly caFile: string | null;
}

const LATER = 'it is asked again later';
const BROKE_OFF = `the connection broke off: ${LATER}; if it stays so, see the log of the server or proxy`;
const NO_HTTP = 'what answers there does not speak HTTP: check scheme and port in repository.url';
const NO_TLS = 'what answers there does not speak TLS: check scheme and port in repository.url';
const NO_WAY = 'there is no way to the host: check the network of this machine';

const ADVICE: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name service does not know the host: check repository.url, and HTTPS_PROXY where a proxy is needed',
  EAI_AGAIN: 'the name service does not answer: check the network of this machine',
  ECONNREFUSED: 'nothing listens there: check host and port, and whether the server runs',
  ECONNRESET: BROKE_OFF,
  ECONNABORTED: BROKE_OFF,
  EPIPE: BROKE_OFF,
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  ETIMEDOUT: `the host does not answer: ${LATER}`,
  CERT_HAS_EXPIRED: 'the certificate of the server has expired: it has to be renewed there',
  CERT_NOT_YET_VALID: 'the certificate of the server is not valid yet: check the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate belongs to another host: write the name that stands in it',
  ERR_PROXY_TUNNEL:
    'the proxy does not let this through: check HTTPS_PROXY, and name the host in NO_PROXY if it is reached directly',
  ERR_PROXY_INVALID_CONFIG: 'the proxy is not written as a URL: check HTTP_PROXY and HTTPS_PROXY',
  EPROTO: NO_TLS,
};

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
]);

/** Returns Node's error as a message for the operator; a SourceError unchanged. */
export function connectionFailure(error: unknown, attempt: ConnectionTarget): SourceError {
  if (error instanceof SourceError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = error instanceof Error && error.message !== '' ? error.message : code;
  return new SourceError(`"${attempt.name}" cannot be reached (${reason}): ${adviceFor(code, error, attempt)}`, {
    cause: error,
  });
}

function adviceFor(code: string, error: unknown, { caFile }: ConnectionTarget): string {
  if (UNTRUSTED.has(code)) {
    return caFile === null
      ? 'no authority that is trusted here signed its certificate: name the file of its authority as repository.caFile'
      : `no authority in ${caFile} signed its certificate: repository.caFile has to hold the right one`;
  }
  if (code === 'ERR_PROXY_TUNNEL' && isStatus(error, 407)) {
    return 'the proxy asks for a password: write it into HTTPS_PROXY, as http://user:password@proxy:port';
  }
  if (code.startsWith('HPE_')) return NO_HTTP;
  if (code.startsWith('ERR_SSL_')) return NO_TLS;
  return Object.hasOwn(ADVICE, code) ? (ADVICE[code] ?? LATER) : LATER;
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'statusCode' in error && error.statusCode === status;
}
