// Checks a listener's key, certificates and revocation lists before use: they must match and must not lock out clients.
// It reads no files. See docs/install.md, certificates.
import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { reasonOf } from '../../base/wording.ts';
import type { EndingCertificate } from '../../service/progress/clients-seen.ts';
import { periodFault, purposeFault } from './certificate-use.ts';
import {
  type RevocationList,
  readCertificates,
  readRevocationLists,
  secureContextOptions,
  type TlsMaterial,
} from './tls-material.ts';

/** The name of one text of a listener. */
export type TlsPart = keyof TlsMaterial;

/** A fault of one of the texts. */
export interface TlsFault {
  readonly part: TlsPart;
  /** The fault and the remedy, for the operator. Constant while the texts are unchanged. */
  readonly message: string;
  /** False if the material can be used but would lock out some clients. */
  readonly isBroken: boolean;
}

/** The result of checking the material of a listener. */
export interface CheckedTls {
  readonly faults: readonly TlsFault[];
  /**
   * The ends of everything that could be read. For several lists of one authority: of the list that is valid longest.
   */
  readonly ends: readonly EndingCertificate[];
}

/** Marks version 3. Version 1 has no extensions, so it cannot declare an authority. RFC 5280, 4.1.2.1. */
const VERSION = Buffer.from('a003020102', 'hex');
const VERSION_OFFSET_MAX = 16;
/** Longer than any real chain of authorities. */
const STEPS_MAX = 8;

/** Returns the faults of `material` at the time `now` (milliseconds since 1970), and when it expires. */
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
  if (lists !== undefined) faults.push(...checkLists(authorities.filter(isAuthority), lists, now));
  if (!faults.some(({ isBroken }) => isBroken)) faults.push(...tryOut(material));
  return { faults, ends: listEnds(chain, authorities, lists ?? []) };
}

function broken(part: TlsPart, message: string): TlsFault {
  return { part, message, isBroken: true };
}

function lockingOut(part: TlsPart, message: string): TlsFault {
  return { part, message, isBroken: false };
}

function readKey(text: string): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) throw new Error('it contains no private key in PEM');
  if (text.includes('ENCRYPTED')) {
    throw new Error('its key has a passphrase, which Treeline cannot enter: remove it ("openssl pkey")');
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
      ? 'it does not match the private key: perhaps only one of the two was replaced'
      : `the certificate of the private key is its number ${position + 1}: the server's own has to come first`;
  return [broken('cert', message)];
}

function isAuthority({ ca, raw }: X509Certificate): boolean {
  return ca || !raw.subarray(0, VERSION_OFFSET_MAX).includes(VERSION);
}

/** OpenSSL accepts clients only of authorities that lead to a root in the file. */
function checkAuthorities(certificates: readonly X509Certificate[]): TlsFault[] {
  const faults = certificates.flatMap((each) => {
    const name = nameOf(each.subject);
    if (!isAuthority(each)) {
      const message = `${name} is not an authority (it has no "CA:TRUE"), so it admits no client`;
      return [`${message}; use the one that signs clients`];
    }
    if (leadsToRoot(each, certificates)) return [];
    const issuer = `its issuer ${nameOf(each.issuer)} is not in this file`;
    return [
      `${name} is an intermediate authority, and ${issuer}, so it admits no client; add the authorities above it`,
    ];
  });
  const fault = faults.length === certificates.length ? broken : lockingOut;
  return faults.map((message) => fault('ca', message));
}

function leadsToRoot(certificate: X509Certificate, all: readonly X509Certificate[], stepsMax = STEPS_MAX): boolean {
  if (isRoot(certificate)) return true;
  const issuers = stepsMax === 0 ? [] : all.filter((other) => other !== certificate && certificate.checkIssued(other));
  return issuers.some((issuer) => leadsToRoot(issuer, all, stepsMax - 1));
}

function isRoot(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate);
}

function checkDates(certificate: X509Certificate | undefined, now: number): TlsFault[] {
  if (certificate === undefined) return [];
  const { validFromDate, validToDate } = certificate;
  const period = periodFault({ from: validFromDate.getTime(), until: validToDate.getTime() }, now);
  return period === undefined ? [] : [lockingOut('cert', `it ${period}, and clients would refuse to connect`)];
}

/**
 * OpenSSL needs a valid list of every authority between a client and the root. An expired list only locks out clients,
 * so the controller can still work. If the list of an intermediate or every list is missing, no client was ever
 * accepted, so the material is broken.
 */
function checkLists(
  authorities: readonly X509Certificate[],
  lists: readonly RevocationList[],
  now: number,
): TlsFault[] {
  const withList = authorities.filter((authority) => lists.some((list) => list.isOf(authority)));
  return authorities.flatMap((authority): TlsFault[] => {
    const name = nameOf(authority.subject);
    const periods = lists.filter((list) => list.isOf(authority)).map((list) => periodFault(list, now));
    if (periods.includes(undefined)) return [];
    const isMissing = periods.length === 0;
    const fault = isMissing
      ? `it contains no list of the authority ${name}`
      : `its list of the authority ${name} ${periods.at(-1)}`;
    const isBroken = isMissing && (!isRoot(authority) || withList.length === 0);
    return [{ part: 'crl', message: `${fault}, and every client of that authority would be locked out`, isBroken }];
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

const RENEWAL = 'put a newer one into the files of api.tls; they are read again automatically';

function listEnds(
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  lists: readonly RevocationList[],
): EndingCertificate[] {
  return [
    ...chain.map((certificate) => endOf(certificate, 'server', 'server certificate')),
    ...authorities.flatMap((authority) => {
      // Certificates with the same name differ by their digest.
      const id = `ca:${authority.fingerprint256.replaceAll(':', '').slice(0, 16)}`;
      const last = lists.filter((list) => list.isOf(authority)).sort((a, b) => b.until - a.until)[0];
      const name = `the revocation list of ${nameOf(authority.subject)}`;
      const crl = last && { id: 'crl', name, begins: last.from, ends: last.until, action: RENEWAL };
      return [endOf(authority, id, 'client authority'), ...(crl === undefined ? [] : [crl])];
    }),
  ];
}

function endOf({ validFromDate, validToDate, subject }: X509Certificate, id: string, what: string): EndingCertificate {
  const dates = { begins: validFromDate.getTime(), ends: validToDate.getTime() };
  return { id, name: `the ${what} of ${nameOf(subject)}`, ...dates, action: RENEWAL };
}

/** Returns the name on one line; Node writes one line for each field. */
function nameOf(name: string): string {
  return name.replaceAll('\n', ', ');
}
