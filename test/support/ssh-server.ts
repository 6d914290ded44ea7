// A real ssh server on a loopback port, with keys of its own: for the tests of what goes over ssh.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const SSHD = ['/usr/sbin/sshd', ...(process.env.PATH ?? '').split(':').map((folder) => join(folder, 'sshd'))].find(
  (path) => existsSync(path),
);

/** False where sshd is missing. Debian's does not start without this folder, and only root can make it: .ci/run does. */
export const HAS_SSH_SERVER = SSHD !== undefined && existsSync('/run/sshd');

export type SshServer = Awaited<ReturnType<typeof startSshServer>>;

/** Returns a server that runs until the running test is over. */
export async function startSshServer() {
  const folder = temporaryDirectory();
  const [host, user, stranger] = ['host', 'user', 'stranger'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const file of [host, user, stranger]) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  }
  const port = await freePort();
  const settings = join(folder, 'sshd_config');
  writeFileSync(
    settings,
    [
      ...[`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${host}`, 'PidFile none'],
      ...[`AuthorizedKeysFile ${user}.pub`, 'StrictModes no', 'UsePAM no', 'PasswordAuthentication no'],
      // A home without a .bashrc, which bash would run for each command; and no key exchange that takes 50 ms to compute.
      ...[`SetEnv HOME=${folder}`, 'KexAlgorithms curve25519-sha256'],
    ].join('\n'),
  );
  const knownHosts = join(folder, 'known_hosts');
  writeFileSync(knownHosts, `[127.0.0.1]:${port} ${readFileSync(`${host}.pub`, 'utf8')}`);
  const server = spawn(SSHD ?? '', ['-D', '-e', '-f', settings], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(server, 'exit');
  /** Ends the server; connections that are open stay. */
  const stop = async (): Promise<void> => {
    server.kill();
    await ended;
  };
  onTestFinished(stop);
  let said = '';
  server.stderr.on('data', (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said, { timeout: 10_000 }).toContain('Server listening');
  // One key lets the user in who runs the test, the other nobody. A test may replace what knows the server's key.
  return { port, key: user, strangerKey: stranger, knownHosts, stop };
}
