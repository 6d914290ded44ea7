// `treeline proxy`, as an operator meets it: the words for a controller that cannot be asked, and the end with its input.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { BUNDLED, plainEnvironment } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TIMEOUT_MS = 60_000;

async function startProxy(server: string) {
  const folder = temporaryDirectory();
  const now = Date.now();
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

it(
  'says why the controller cannot be asked, and what to do',
  async () => {
    const nobody = await startProxy('https://127.0.0.1:1');
    expect((await nobody.logged('the controller does not answer; it is asked again')).reason).toMatch(
      /^nothing listens there \(.*\): start the controller \(.*\), or check the address$/,
    );
  },
  TIMEOUT_MS,
);

it(
  'stops when its input ends, where it is told so',
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
