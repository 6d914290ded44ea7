// PgBouncer in transaction mode before a server of tests, where the machine has it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';

const PROGRAM = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path));
const TRIES = 100;

/** Why tests with PgBouncer are skipped; undefined where they run. */
export const WITHOUT_PGBOUNCER =
  PROGRAM === undefined
    ? 'skipped: there is no pgbouncer on this machine (Debian: apt-get install pgbouncer)'
    : undefined;

/** Starts it before the server of a URL, and returns the URL of the same database behind it. It does not outlive the running test. */
export async function startPgbouncer(url: string): Promise<string> {
  if (PROGRAM === undefined) throw new Error(WITHOUT_PGBOUNCER);
  const folder = mkdtempSync(join(tmpdir(), 'treeline-pgbouncer-'));
  // It gives root up.
  chmodSync(folder, 0o755);
  const { port: target, username, password } = new URL(url);
  const port = await freePort();
  writeFileSync(join(folder, 'users'), `"${username}" "${decodeURIComponent(password)}"\n`);
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${target}`,
    '[pgbouncer]',
    ...['pool_mode = transaction', 'default_pool_size = 5', 'auth_type = scram-sha-256', `auth_file = ${folder}/users`],
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir ='],
    ...(process.getuid?.() === 0 ? ['user = postgres'] : []),
  ];
  writeFileSync(join(folder, 'settings'), `${settings.join('\n')}\n`);
  const child = spawn(PROGRAM, [join(folder, 'settings')], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  });
  for (let tries = 0; !(await isListening(port)); tries++) {
    if (child.exitCode !== null || tries === TRIES) throw new Error('pgbouncer does not start');
    await setTimeout(50);
  }
  const pooled = new URL(url);
  pooled.port = String(port);
  return pooled.href;
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isThere = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return await isThere.finally(() => socket.destroy());
}
