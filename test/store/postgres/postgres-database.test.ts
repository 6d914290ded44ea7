// The tables in PostgreSQL, and what the operator reads where a database cannot be used. The last test makes a standby of the server.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseConnections, type RunStatement } from '../../../src/store/postgres/connection.ts';
import { migrate, requireSchema } from '../../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-adapter.ts';
import { explainFailure, isLost } from '../../../src/store/postgres/postgres-error.ts';
import { refusal } from '../../support/database-refusal.ts';
import { freePort } from '../../support/free-port.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { writeText } from '../../support/rows.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

const SECRET = 'se%cret';

function databaseIn(url: string): string {
  return new URL(url).pathname.slice(1);
}

describe('the tables', () => {
  it('are created once in an empty database by one of several processes', async () => {
    const url = await server.create('empty');
    const made = await Promise.all([migrate({ url }), migrate({ url }), migrate({ url })]);
    expect(made.flat()).toEqual(['0001_store']);
    const store = await openPostgresStore({ url });
    await store.commit([writeText('a', 'one')]);
    await store.close();
    expect(await migrate({ url })).toEqual([]);
    const [roles] = await server.run(`SELECT rolsuper FROM pg_roles WHERE rolname = 'treeline'`);
    expect(roles).toEqual({ rolsuper: false });
  });

  it('are created in an existing empty schema', async () => {
    const url = await server.create('empty');
    await server.run(`ALTER DATABASE ${databaseIn(url)} OWNER TO postgres`);
    await server.run('CREATE SCHEMA treeline AUTHORIZATION treeline', url);
    expect(await migrate({ url })).toEqual(['0001_store']);
  });

  it('are reported as missing before they are created', async () => {
    const url = await server.create('empty');
    expect(await refusal({ url })).toBe(
      `The database "${databaseIn(url)}" at 127.0.0.1:${server.port} has no tables of Treeline. ` +
        'Start Treeline as the owner of the database, which makes them.',
    );
  });

  it('are refused if a newer version changed them', async () => {
    const url = await server.create();
    await server.run(`INSERT INTO treeline.migrations (name) VALUES ('0099_more')`, url);
    const want = /was written by another version of Treeline: it has the migration "0099_more"/;
    expect(await refusal({ url })).toMatch(want);
    expect(await refusal({ url }, migrate)).toMatch(want);
  });

  it('need no right to create if they exist', async () => {
    const url = await server.create();
    await server.run(
      `ALTER DATABASE ${databaseIn(url)} OWNER TO postgres; ALTER SCHEMA treeline OWNER TO postgres`,
      url,
    );
    await server.run('GRANT USAGE ON SCHEMA treeline TO treeline', url);
    expect(await migrate({ url })).toEqual([]);
  });

  it('belong to the first installation permanently', async () => {
    const url = await server.create();
    await migrate({ url }, 'main');
    await migrate({ url }, 'main');
    await expect(migrate({ url }, 'south')).rejects.toThrow(
      'belongs to the installation "main", and this one is "south" (id in the settings). Give each installation a database of its own.',
    );
  });

  it('are not created in the schema of another program', async () => {
    const url = await server.create('empty');
    await server.run('CREATE SCHEMA treeline AUTHORIZATION treeline; CREATE TABLE treeline.trees (a int)', url);
    const want =
      'has a schema "treeline" of another program, with the table "trees". Give Treeline a database of its own.';
    expect(await refusal({ url }, migrate)).toContain(want);
    expect(await refusal({ url })).toContain(want);
  });
});

describe('a message about the database', () => {
  it('explains a refused connection', async () => {
    const port = await freePort();
    const message = await refusal({
      url: `postgres://treeline:${encodeURIComponent(SECRET)}@127.0.0.1:${port}/treeline`,
    });
    expect(message).toBe(
      `The database "treeline" at 127.0.0.1:${port} has failed: connect ECONNREFUSED 127.0.0.1:${port}. Check host and ` +
        'port in the URL, that PostgreSQL runs there, its log, and the firewalls between. Treeline continues automatically.',
    );
  });

  it('explains an unknown host', async () => {
    const message = await refusal({
      url: 'postgres://treeline:se%25cret@no-such-host.invalid/treeline?sslmode=disable',
    });
    expect(message).toMatch(
      /^The database "treeline" at no-such-host\.invalid:5432 has failed: getaddrinfo \w+ no-such-host\.invalid/,
    );
  });

  it('explains a wrong or missing password, and a user without login', async () => {
    await server.run('CREATE ROLE outsider NOLOGIN');
    expect(await refusal({ url: server.urlOf('made', 'treeline', SECRET) })).toContain(
      'refuses the password of "treeline"',
    );
    expect(await refusal({ url: server.urlOf('made', 'treeline', '') })).toContain('needs a user with its password');
    expect(await refusal({ url: server.urlOf('made', 'outsider', SECRET) })).toContain(
      'refuses the password of "outsider"',
    );
  });

  it('explains a missing database', async () => {
    const message = await refusal({ url: server.urlOf('nowhere') });
    expect(message).toContain(
      `The database "nowhere" at 127.0.0.1:${server.port} is not there. Make it: CREATE DATABASE`,
    );
  });

  it('explains missing rights on the tables', async () => {
    const url = await server.create('empty');
    await server.run(`ALTER DATABASE ${databaseIn(url)} OWNER TO postgres`);
    expect(await refusal({ url }, migrate)).toMatch(/does not let "treeline" do this: permission denied for database/);
    const other = await server.create();
    await server.run('ALTER TABLE treeline.rows OWNER TO postgres; ', other);
    expect(await refusal({ url: other })).toContain('permission denied for table rows');
    await server.run(
      'ALTER TABLE treeline.rows OWNER TO treeline; ALTER TABLE treeline.lease OWNER TO postgres; GRANT SELECT ON treeline.lease TO treeline',
      other,
    );
    expect(await refusal({ url: other }, migrate)).toContain(
      'does not let "treeline" read and write the table treeline.lease. GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN',
    );
  });

  it('explains too many connections', async () => {
    await server.run('ALTER ROLE treeline CONNECTION LIMIT 0');
    const message = await refusal({ url: server.urlOf('made') });
    await server.run('ALTER ROLE treeline CONNECTION LIMIT -1');
    expect(message).toContain('has too many connections. Raise max_connections');
  });

  it('explains a server without TLS', async () => {
    const message = await refusal({ url: `${server.urlOf('made')}?sslmode=verify-full` });
    expect(message).toContain('has no TLS. Set ssl = on at the server');
  });

  it('explains an encoding without all characters', async () => {
    await server.run(`CREATE DATABASE latin OWNER treeline ENCODING 'LATIN1' TEMPLATE template0`);
    expect(await refusal({ url: server.urlOf('latin') }, migrate)).toContain('has the encoding LATIN1');
  });

  it.each([
    ['mysql://a:se%25cret@b/c', 'is none: it must be postgres://'],
    ['postgres://a:se%25cret@b/c?options=x', 'has other parameters than sslmode and host: it must be postgres://'],
    ['postgres://a:se%25cret@b/c?sslmode=prefer', 'has another sslmode than verify-full and disable'],
    ['postgres://:se%25cret@b/c', 'names no host, user or database'],
    ['postgres://a:se%cret@b/c', 'has a % that begins no character'],
  ])('explains a wrong URL: %s', async (url, want) => {
    expect(await refusal({ url }, async (options) => new DatabaseConnections(options))).toContain(want);
  });

  it('explains an old version', async () => {
    const run: RunStatement = async () => [[130_011, '13.11', false, 'UTF8']];
    const address = { host: 'db.example', port: 5432, database: 'treeline', user: 'treeline' };
    await expect(requireSchema(run, address)).rejects.toThrow(
      'The database "treeline" at db.example:5432 is on PostgreSQL 13.11, which is too old. Use version 14 or newer.',
    );
  });

  it.each([
    ['XX000', 'has failed: it broke (XX000)'],
    ['25006', 'can only be read: it is a standby, or its transactions are read-only'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'shows a certificate that is not trusted: it broke'],
  ])('explains the error %s of the server', (code, want) => {
    const address = { host: '::1', port: 5432, database: 'treeline', user: 'treeline' };
    const { message } = explainFailure(Object.assign(new Error('it broke'), { code }), address);
    expect(message).toContain(`The database "treeline" at [::1]:5432 ${want}`);
  });

  it('explains an error of several addresses by the first', () => {
    const refused = new Error('connect ECONNREFUSED ::1:5432');
    const error = Object.assign(new AggregateError([refused]), { code: 'ECONNREFUSED' });
    const address = { host: 'localhost', port: 5432, database: 'treeline', user: 'treeline' };
    expect(explainFailure(error, address).message).toContain(`has failed: ${refused.message}. `);
  });

  it.each([
    ['ECONNRESET', true],
    ['57P01', true],
    ['08006', true],
    ['25P03', true],
    [undefined, true],
    ['53100', false],
    ['40001', false],
  ])('counts a commit as lost with %s: %s', (code, want) => {
    expect(isLost(Object.assign(new Error('x'), { code }))).toBe(want);
  });

  it('explains a standby', async () => {
    const url = await server.create();
    const store = await openPostgresStore({ url, limits: { pauseMs: 20 } });
    await server.stop();
    await server.startStandby();
    await expect(store.commit([writeText('a', 'one')])).rejects.toThrow(/can only be read: it is a standby/);
    await store.refresh();
    await store.close();
    expect(await refusal({ url })).toContain(
      'can only be read: it is a standby. Write the host of the primary into the URL.',
    );
  });
});
