// `treeline proxy`, as an operator meets it: the words for a controller that cannot be asked, and the end with its input.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { treeline } from '../support/command-here.ts';
import { BUNDLED, plainEnvironment } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TIMEOUT_MS = 60_000;

/** Returns the settings of a proxy whose certificate is valid from `now`. */
async function proxySettings(server: string, now = Date.now()): Promise<string> {
  const folder = temporaryDirectory();
  const authority = await createAuthority({ now, commonName: 'test' });
  const { key, cert } = await issueClientCertificate(authority, { now, commonName: 'proxy' });
  writeFileSync(join(folder, 'proxy.key'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'proxy.crt'), cert);
  writeFileSync(join(folder, 'ca.crt'), authority.cert);
  const config = join(folder, 'proxy.yaml');
  writeFileSync(
    config,
    `server: ${server}\ntls: { cert: proxy.crt, key: proxy.key, ca: ca.crt }\nproviders: [{ name: lab, command: [/bin/true] }]\n`,
  );
  return config;
}

async function startProxy(server: string) {
  const config = await proxySettings(server);
  const child = spawn(process.execPath, [BUNDLED, 'proxy', '--config', config, '--stop-with-input'], {
    env: plainEnvironment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    async logged(message: string): Promise<{ readonly reason?: string }> {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`it never logged: ${message}`);
        const line = JSON.parse(value) as { readonly msg: string; readonly reason?: string };
        if (line.msg === message) return line;
      }
    },
  };
}

it('treeline proxy --check refuses a certificate that no controller accepts', async () => {
  const YEARS_MS = 5 * 365 * 24 * 3_600_000;
  expect(await treeline(['proxy', '--config', await proxySettings('https://127.0.0.1:1'), '--check'])).toMatchObject({
    code: 0,
    stderr: '',
  });
  const config = await proxySettings('https://127.0.0.1:1', Date.now() - YEARS_MS);
  const { code, stderr } = await treeline(['proxy', '--config', config, '--check']);
  expect(code).toBe(3);
  expect(stderr).toMatch(/proxy\.crt has expired.*have its authority issue another for clients/);
});

it(
  'treeline proxy --check names why the controller cannot be reached, and the remedy',
  async () => {
    const nobody = await startProxy('https://127.0.0.1:1');
    expect((await nobody.logged('the controller does not answer; it is asked again')).reason).toMatch(
      /^nothing listens there \(.*\): start the controller \(.*\), or check the address$/,
    );
  },
  TIMEOUT_MS,
);

it(
  'treeline proxy stops with its input if it is configured so',
  async () => {
    const { child, logged } = await startProxy('https://127.0.0.1:1');
    await logged('proxy started');
    const ended = once(child, 'exit');
    child.stdin.end();
    await logged('stopped');
    expect(await ended).toEqual([0, null]);
  },
  TIMEOUT_MS,
);
