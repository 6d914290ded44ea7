// Translates Node's error codes for HTTP connections and certificates into advice.
import { SourceError } from '../source.ts';

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
