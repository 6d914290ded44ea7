// Checks a listener's key, certificates and revocation lists before use: they must belong together and let clients in.
// It reads no files. See docs/install.md, certificates.
import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { reasonOf } from '../../base/wording.ts';
import { periodFault, purposeFault } from './certificate-use.ts';
import {
  type RevocationList,
  readCertificates,
  readRevocationLists,
  secureContextOptions,
  type TlsMaterial,
} from './tls-material.ts';

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

/** A certificate or list that expires. */
export interface Expiry {
  readonly what: 'server certificate' | 'client authority' | 'revocation list';
  /** Of a certificate: the beginning of its SHA-256 fingerprint, which distinguishes certificates of one name. */
  readonly digest?: string;
  readonly part: TlsPart;
  /** The subject of a certificate; of a list, its setting and its number in the file. */
  readonly name: string;
  /** Milliseconds since 1970, UTC. */
  readonly from: number;
  readonly until: number;
}

/** The result of checking the material of a listener. */
export interface CheckedTls {
  readonly faults: readonly TlsFault[];
  /** Of everything that could be read. */
  readonly expiries: readonly Expiry[];
}

/** Returns what is wrong with `material` at the time `now` (milliseconds since 1970), and when it expires. */
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
  faults.push(...checkPair(key, chain), ...checkAuthorities(authorities));
  faults.push(...checkDates(chain[0], now));
  faults.push(...checkLists(lists ?? [], now));
  if (!faults.some(({ isBroken }) => isBroken)) faults.push(...tryOut(material));
  return { faults, expiries: listExpiries(chain, authorities, lists ?? []) };
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

function checkPair(key: KeyObject | undefined, [first]: readonly X509Certificate[]): TlsFault[] {
  if (key === undefined || first === undefined) return [];
  if (!first.checkPrivateKey(key)) {
    const advice = 'both have to be replaced, and in a chain the own certificate comes first';
    return [broken('cert', `it does not belong to the private key: ${advice}`)];
  }
  const unfit = purposeFault(first, 'server');
  return unfit === undefined ? [] : [broken('cert', `it ${unfit}; name the server's own, with its key`)];
}

/** OpenSSL admits clients only by certificates that may sign others. */
function checkAuthorities(certificates: readonly X509Certificate[]): TlsFault[] {
  const others = certificates.filter(({ ca }) => !ca);
  const fault = others.length === certificates.length ? broken : lockingOut;
  return others.map(({ subject }) => {
    const message = `${nameOf(subject)} is no authority (it has no "CA:TRUE"): no client is let in by it`;
    return fault('ca', `${message}; name the one that signs clients`);
  });
}

function checkDates(certificate: X509Certificate | undefined, now: number): TlsFault[] {
  if (certificate === undefined) return [];
  const { validFromDate, validToDate } = certificate;
  const period = periodFault({ from: validFromDate.getTime(), until: validToDate.getTime() }, now);
  return period === undefined ? [] : [lockingOut('cert', `it ${period}, and clients would refuse to connect`)];
}

/** A list that has expired only locks clients out: the controller does its work without them. */
function checkLists(lists: readonly RevocationList[], now: number): TlsFault[] {
  return lists.flatMap((list, index) => {
    const period = periodFault(list, now);
    if (period === undefined) return [];
    return [lockingOut('crl', `its list number ${index + 1} ${period}, and clients of its authority are locked out`)];
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

function listExpiries(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  lists: readonly RevocationList[],
): Expiry[] {
  return [
    ...chain.map((certificate) => expiryOf(certificate, { what: 'server certificate', part: 'cert' })),
    ...authorities.map((authority) => expiryOf(authority, { what: 'client authority', part: 'ca' })),
    ...lists.map(({ from, until }, index): Expiry => {
      return { what: 'revocation list', part: 'crl', name: `api.tls.crl (number ${index + 1})`, from, until };
    }),
  ];
}

function expiryOf(certificate: X509Certificate, { what, part }: Pick<Expiry, 'what' | 'part'>): Expiry {
  const { validFromDate, validToDate, fingerprint256, subject } = certificate;
  const digest = fingerprint256.replaceAll(':', '').slice(0, 16);
  return { what, part, digest, name: nameOf(subject), from: validFromDate.getTime(), until: validToDate.getTime() };
}

/** On one line; Node writes one a field. */
function nameOf(name: string): string {
  return name.replaceAll('\n', ', ');
}
