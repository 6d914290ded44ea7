// Checks a listener's key, certificates and revocation lists before use: they must belong together and let clients in.
// It reads no files. See docs/operations.md, certificates.
import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { reasonOf } from '../../base/wording.ts';
import { periodFault, purposeFault } from './certificate-use.ts';
import { certificateFields } from './der.ts';
import { readCertificates, readRevocationLists } from './pem.ts';
import { secureContextOptions, type TlsMaterial } from './tls-material.ts';
import { combineTrust, type Trust } from './trust.ts';

/** One of the texts that a listener serves with. */
export type TlsPart = keyof TlsMaterial;

/** Something that is wrong with one of the texts. */
export interface TlsFault {
  readonly part: TlsPart;
  /** For the operator: what is wrong and what to do. The same as long as the texts are the same. */
  readonly message: string;
  /** False: the material can be served, but it would lock some clients out. */
  readonly isBroken: boolean;
}

/** Something that ends. */
export interface Expiry {
  readonly what: 'server certificate' | 'client authority' | 'revocation list';
  /** Of a certificate: the beginning of its SHA-256 fingerprint, which tells those with one name apart. */
  readonly digest?: string;
  readonly part: TlsPart;
  /** The subject of a certificate, the issuer of a list. */
  readonly name: string;
  /** Milliseconds since 1970, UTC. */
  readonly from: number;
  readonly until: number;
}

/** The result of checking the material of a listener. */
export interface CheckedTls {
  readonly faults: readonly TlsFault[];
  /** Of what could be read. Of several lists of one authority the one that holds longest. */
  readonly expiries: readonly Expiry[];
}

/** Returns what is wrong with `material` at the moment `now` (milliseconds since 1970), and when it ends. */
export function checkTls(material: TlsMaterial, now: number): CheckedTls {
  const faults: TlsFault[] = [];
  function read<Value>(part: TlsPart, text: string, reader: (text: string) => Value): Value | undefined {
    try {
      return reader(text);
    } catch (error) {
      faults.push(broken(part, reasonOf(error)));
      return undefined;
    }
  }
  const key = read('key', material.key, readKey);
  const chain = read('cert', material.cert, readCertificates) ?? [];
  const authorities = read('ca', material.ca, readCertificates) ?? [];
  const lists = material.crl === undefined ? undefined : read('crl', material.crl, readRevocationLists);
  const trust = combineTrust(authorities, lists);
  faults.push(...checkPair(key, chain), ...checkAuthorities(authorities));
  faults.push(...checkDates(chain[0], now), ...checkLists(trust, now));
  if (!faults.some(({ isBroken }) => isBroken)) faults.push(...tryOut(material));
  return { faults, expiries: listExpiries(chain, trust) };
}

function broken(part: TlsPart, message: string): TlsFault {
  return { part, message, isBroken: true };
}

function lockingOut(part: TlsPart, message: string): TlsFault {
  return { part, message, isBroken: false };
}

function readKey(text: string): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) throw new Error('it holds no private key in PEM');
  if (text.includes('ENCRYPTED')) {
    throw new Error('its key has a passphrase, and it cannot be typed in: write it without ("openssl pkey")');
  }
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new Error(`its key cannot be read (${reasonOf(error)})`);
  }
}

function checkPair(key: KeyObject | undefined, chain: readonly X509Certificate[]): TlsFault[] {
  if (key === undefined || chain.length === 0) return [];
  const position = chain.findIndex((certificate) => certificate.checkPrivateKey(key));
  const [first] = chain;
  const unfit = position === 0 && first !== undefined ? purposeFault(first, 'server') : undefined;
  if (unfit !== undefined) return [broken('cert', `it ${unfit}; name the server's own, with its key`)];
  if (position === 0) return [];
  const message =
    position === -1
      ? 'it does not belong to the private key: only one of the two has been replaced, or they were made apart'
      : `the certificate of the private key is its number ${position + 1}: the server's own has to come first`;
  return [broken('cert', message)];
}

/** OpenSSL admits no client by a certificate that may not sign others, although it is trusted. */
function checkAuthorities(certificates: readonly X509Certificate[]): TlsFault[] {
  const others = certificates.filter((each) => !each.ca && !certificateFields(each).isVersion1);
  const fault = others.length === certificates.length ? broken : lockingOut;
  return others.map((each) =>
    fault(
      'ca',
      `${nameOf(each)} is no authority (it has no "CA:TRUE"): no client is let in by it; name the one that signs clients`,
    ),
  );
}

function checkDates(certificate: X509Certificate | undefined, now: number): TlsFault[] {
  if (certificate === undefined) return [];
  const { validFromDate, validToDate } = certificate;
  const period = periodFault({ from: validFromDate.getTime(), until: validToDate.getTime() }, now);
  return period === undefined ? [] : [lockingOut('cert', `it ${period}, and clients would refuse to connect`)];
}

/** OpenSSL wants a list that holds now of every authority between a client and the root. */
function checkLists({ authorities, needsLists }: Trust, now: number): TlsFault[] {
  if (!needsLists) return [];
  return authorities.flatMap(({ certificate, lists }): TlsFault[] => {
    const name = nameOf(certificate);
    const periods = lists.map((list) => periodFault(list, now));
    if (periods.includes(undefined)) return [];
    const fault =
      lists.length === 0
        ? `it holds no list that the authority ${name} has signed`
        : `its list of the authority ${name} ${periods.at(-1)}`;
    return [lockingOut('crl', `${fault}, and every client of that authority would be locked out`)];
  });
}

/** Returns further faults that OpenSSL finds, such as a key that is too short. */
function tryOut(material: TlsMaterial): TlsFault[] {
  try {
    createSecureContext(secureContextOptions(material));
    return [];
  } catch (error) {
    return [broken('cert', `OpenSSL refuses it (${reasonOf(error)})`)];
  }
}

function listExpiries(chain: readonly X509Certificate[], { authorities }: Trust): Expiry[] {
  return [
    ...chain.map((certificate) => expiryOf(certificate, { what: 'server certificate', part: 'cert' })),
    ...authorities.flatMap(({ certificate, lists }) => [
      expiryOf(certificate, { what: 'client authority', part: 'ca' }),
      ...lists
        .toSorted((a, b) => b.until - a.until)
        .slice(0, 1)
        .map(({ from, until }): Expiry => {
          return { what: 'revocation list', part: 'crl', name: nameOf(certificate), from, until };
        }),
    ]),
  ];
}

function expiryOf(certificate: X509Certificate, kind: Pick<Expiry, 'what' | 'part'>): Expiry {
  const { validFromDate, validToDate } = certificate;
  const digest = certificate.fingerprint256.replaceAll(':', '').slice(0, 16);
  return { ...kind, digest, name: nameOf(certificate), from: validFromDate.getTime(), until: validToDate.getTime() };
}

/** On one line; Node writes one a field. */
function nameOf({ subject }: X509Certificate): string {
  return subject.replaceAll('\n', ', ');
}
