// The TLS files of a server in a directory, as an operator keeps them, with the authorities that sign them.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsPaths } from '../../src/api/tls/tls-files.ts';
import { type Credential, createAuthority, issueServerCertificate } from '../../src/base/development-pki.ts';
import { createCrl } from './create-crl.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Texts by the names of the files. */
export interface TlsTexts {
  readonly 'server.key': string;
  readonly 'server.crt': string;
  readonly 'ca.crt': string;
  readonly 'ca.crl': string;
}

export interface TlsSite {
  readonly directory: string;
  readonly paths: TlsPaths;
  readonly authority: Credential;
  /** What the files held at first. */
  readonly texts: TlsTexts;
  /** Makes another key and certificate for the server. */
  issueServer(days?: number): Promise<Pick<TlsTexts, 'server.key' | 'server.crt'>>;
  crl(options: { readonly revoked?: readonly Credential[]; readonly now?: number; readonly days?: number }): string;
}

/** Makes the files as they are on the day `now`, each of its own kind of validity; gone after the running test. */
export async function createTlsSite(now: number): Promise<TlsSite> {
  const directory = temporaryDirectory();
  const authority = await createAuthority({ commonName: 'Site authority', now });
  const site: Omit<TlsSite, 'texts'> = {
    directory,
    paths: {
      key: join(directory, 'server.key'),
      cert: join(directory, 'server.crt'),
      clientCa: join(directory, 'ca.crt'),
      crl: join(directory, 'ca.crl'),
    },
    authority,
    async issueServer(days = 365) {
      const { key, cert } = await issueServerCertificate(authority, { now, days });
      return { 'server.key': key, 'server.crt': cert };
    },
    crl: ({ revoked = [], ...validity }) =>
      createCrl(authority, { now, ...validity, revoked: revoked.map(({ serial }) => serial) }),
  };
  const texts: TlsTexts = { ...(await site.issueServer()), 'ca.crt': authority.cert, 'ca.crl': site.crl({}) };
  writeOver(directory, texts);
  return { ...site, texts };
}

/** Writes each file where it is: for a moment it is empty. */
export function writeOver(directory: string, texts: Partial<TlsTexts>): void {
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(directory, name), text);
}

/** Gives each new file the name of the old one: there is no moment without a whole file. */
export function replace(directory: string, texts: Partial<TlsTexts>): void {
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(directory, `${name}.new`), text);
    renameSync(join(directory, `${name}.new`), join(directory, name));
  }
}
