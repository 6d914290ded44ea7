// TLS to a real PostgreSQL, with certificates of openssl: what is connected to, and what the operator reads where it is not.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseConnections } from '../../../src/store/postgres/connection.ts';
import { readDatabaseSettings } from '../../../src/store/postgres/database-url.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { refusal } from '../../support/database-refusal.ts';
import { createOpensslPki, type Issued, type OpensslPki } from '../../support/openssl-pki.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';

const CA = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
const PATIENCE = { timeout: 10_000, interval: 20 };

let server: PostgresServer;
let directory: string;
let pki: OpensslPki;
let authority: Issued;
let other: Issued;

beforeAll(async () => {
  server = await startPostgresServer();
  directory = mkdtempSync(join(tmpdir(), 'treeline-'));
  pki = createOpensslPki(directory);
  authority = pki.issue('authority', { extensions: CA });
  other = pki.issue('other', { extensions: CA, subject: '/CN=other' });
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await server.remove();
});

const named = (name: string): readonly string[] => [`subjectAltName=DNS:${name}`, 'extendedKeyUsage=serverAuth'];

/** Has the server show a certificate from now on. The files become its own: it runs as another user where the tests run as root. */
async function show({ cert, key }: Issued): Promise<void> {
  for (const [file, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ]) {
    const base64 = Buffer.from(text ?? '').toString('base64');
    await server.run(`COPY (SELECT '${base64}') TO PROGRAM 'umask 077; base64 -d > ${file}'`);
  }
  await server.run('ALTER SYSTEM SET ssl = on');
  await server.run('SELECT pg_reload_conf()');
  await expect.poll(async () => (await server.run('SHOW ssl'))[0], PATIENCE).toEqual({ ssl: 'on' });
}

/** The URL of a database by the name of the host, which its certificate has to have. */
async function urlByName(): Promise<string> {
  return (await server.create()).replace('@127.0.0.1:', '@localhost:');
}

describe('a PostgreSQL server with TLS', () => {
  it('is accepted if its certificate is from caFile and has its name', async () => {
    await show(pki.issue('good', { by: authority, extensions: named('localhost') }));
    const url = await urlByName();
    expect(await migrate({ url, ca: authority.own })).toEqual([]);
    const connections = new DatabaseConnections({ url, ca: authority.own });
    const encrypted = connections.read((run) => run('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'));
    expect(await encrypted).toEqual([[true]]);
    await connections.close();
  });

  it.each([
    ['another authority', () => ({ ca: other.own }), ''],
    ['no caFile', () => ({}), '?sslmode=verify-full'],
  ])('is refused with %s', async (_case, ca, query) => {
    const url = `${await urlByName()}${query}`;
    const message = await refusal({ url, ...ca() });
    expect(message).toMatch(
      new RegExp(
        `^The database "t\\d+" at localhost:${server.port} shows a certificate that is not trusted: [a-z ]+\\. Give the`,
      ),
    );
    expect(await refusal({ url, ...ca() }, migrate)).toBe(message);
  });

  it('is refused if its certificate has another name or has expired', async () => {
    const url = await urlByName();
    await show(pki.issue('elsewhere', { by: authority, extensions: named('db.example') }));
    expect(await refusal({ url, ca: authority.own })).toContain(
      "Host: localhost. is not in the cert's altnames: DNS:db.example",
    );
    await show(pki.issue('late', { by: authority, extensions: named('localhost'), from: -9, until: -1 }));
    expect(await refusal({ url, ca: authority.own })).toContain('is not trusted: certificate has expired');
  });
});

it('caFile must exist', async () => {
  const url = await urlByName();
  const read = (name: string) =>
    readDatabaseSettings({ url: { kind: 'settings', url, file: '' }, caFile: join(directory, name), poolSize: 4 });
  writeFileSync(join(directory, 'right.pem'), authority.own);
  expect(await read('right.pem')).toMatchObject({ url, ca: authority.own });
  await expect(read('missing.pem')).rejects.toThrow(`store.caFile ${join(directory, 'missing.pem')} cannot be read`);
});

it('a server that requires TLS is reported', async () => {
  const url = await server.create();
  const [file] = await server.run('SHOW hba_file');
  await server.run(`COPY (SELECT 'hostssl all treeline all scram-sha-256') TO PROGRAM 'cat > hba-of-test'`);
  await server.run(
    `COPY (SELECT 'host all postgres all scram-sha-256') TO PROGRAM 'cat >> hba-of-test; cp hba-of-test ${file?.hba_file}'`,
  );
  await server.run('SELECT pg_reload_conf()');
  await expect.poll(() => refusal({ url }).catch(() => ''), PATIENCE).toContain('no encryption');
  expect(await refusal({ url })).toContain('for TLS add ?sslmode=verify-full to the URL');
});
