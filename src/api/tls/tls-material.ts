// Defines the key, certificates and lists of a listener as texts, and the options for OpenSSL.
import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { certificateBlocks, revocationListBlocks } from './pem.ts';

/** Texts in PEM. `ca` and `crl` may hold several. */
export interface TlsMaterial {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
  /** With it, clients of an authority without a list in it are refused. */
  readonly crl?: string | undefined;
}

/**
 * Returns the settings of a listener: OpenSSL checks chain, dates, purpose (clientAuth) and, where there is a list,
 * revocation. No connection is renegotiated: the certificate of the first handshake is what its requests are judged by. Throws where `ca` or `crl` hold nothing: Node would take an empty text for the wish to trust its public
 * authorities, and to revoke none.
 */
export function secureContextOptions({ key, cert, ca, crl }: TlsMaterial): SecureContextOptions {
  const lists = crl === undefined ? {} : { crl: [...revocationListBlocks(crl)] };
  return {
    key,
    cert,
    ca: [...certificateBlocks(ca)],
    ...lists,
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}
