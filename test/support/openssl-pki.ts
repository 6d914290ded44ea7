// Certificates of every kind, made by the openssl command: also those that no sensible authority issues.
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCrl, stampOf } from './create-crl.ts';

/** What proves who somebody is, and what they may sign others with. */
export interface Issued {
  readonly name: string;
  /** PEM. */
  readonly key: string;
  /** PEM: its certificate, then those that it sends along. */
  readonly cert: string;
  /** PEM: its certificate alone. */
  readonly own: string;
  readonly serial: string;
  readonly fingerprint: string;
}

export interface Wish {
  /** Who signs it; left out: itself. */
  readonly by?: Issued;
  /** Lines of openssl's extension sections; none make a certificate of version 1 or without extensions. */
  readonly extensions?: readonly string[];
  /** Days from now; a negative one is in the past. */
  readonly from?: number;
  readonly until?: number;
  /** Hexadecimal. */
  readonly serial?: string;
  readonly subject?: string;
  /** Certificates that are sent along. */
  readonly along?: readonly Issued[];
}

const DAY_MS = 24 * 60 * 60 * 1000;

export type OpensslPki = ReturnType<typeof createOpensslPki>;

/** Returns a maker of certificates that keeps its files in a directory. */
export function createOpensslPki(directory: string) {
  const run = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const read = (file: string): string => readFileSync(join(directory, file), 'utf8');
  let made = 0;

  /** The directory of an authority's records, as `openssl ca` wants them. */
  function recordsOf({ name, own, key }: Pick<Issued, 'name' | 'own' | 'key'>): string {
    const folder = `${name}.records`;
    if (existsSync(join(directory, folder))) return folder;
    mkdirSync(join(directory, folder));
    const write = (file: string, text: string): void => writeFileSync(join(directory, folder, file), text);
    write('index.txt', '');
    write('index.txt.attr', 'unique_subject = no\n');
    write('cert.pem', own);
    write('key.pem', key);
    write(
      'config',
      `[ca]\ndefault_ca = a\n[a]\ndatabase = ${folder}/index.txt\nserial = ${folder}/serial\n` +
        `new_certs_dir = ${folder}\ncertificate = ${folder}/cert.pem\nprivate_key = ${folder}/key.pem\ndefault_md = sha256\n` +
        'policy = p\nunique_subject = no\ncopy_extensions = none\n[p]\ncommonName = optional\n',
    );
    return folder;
  }

  return {
    issue(name: string, wish: Wish): Issued {
      const { by, extensions = [], from = -1, until = 30, along = [], subject = `/CN=${name}` } = wish;
      made += 1;
      const file = `${made}`;
      const { serial = (0xa000 + made).toString(16).padStart(4, '0') } = wish;
      writeFileSync(join(directory, `${file}.key`), newKey());
      run('req', '-new', '-key', `${file}.key`, '-subj', subject, '-out', `${file}.csr`);
      const issuer = by ?? { name: `self-${file}`, own: '', key: read(`${file}.key`) };
      const folder = recordsOf(issuer);
      writeFileSync(join(directory, folder, 'serial'), `${serial}\n`);
      writeFileSync(join(directory, `${file}.ext`), `[e]\n${extensions.join('\n')}\n`);
      run(
        ...['ca', '-batch', '-notext', '-config', `${folder}/config`, '-in', `${file}.csr`, '-out', `${file}.crt`],
        ...['-startdate', stampOf(Date.now() + from * DAY_MS), '-enddate', stampOf(Date.now() + until * DAY_MS)],
        ...(by === undefined ? ['-selfsign', '-keyfile', `${file}.key`] : []),
        ...(extensions.length === 0 ? [] : ['-extfile', `${file}.ext`, '-extensions', 'e']),
      );
      const own = read(`${file}.crt`);
      const { serialNumber, fingerprint256 } = new X509Certificate(own);
      const cert = [own, ...along.map((one) => one.own)].join('');
      return { name, key: read(`${file}.key`), cert, own, serial: serialNumber, fingerprint: fingerprint256 };
    },
    /** Returns a revocation list, PEM. */
    revocationList(by: Issued, { revoked = [], until = 30 }: { revoked?: readonly Issued[]; until?: number }): string {
      const now = Date.now() - 2 * DAY_MS;
      const serials = revoked.map(({ serial }) => serial);
      return createCrl({ key: by.key, cert: by.own }, { now, days: until + 2, revoked: serials });
    },
  };
}

/** Returns what `openssl genpkey` would write, without a process. */
function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
}
