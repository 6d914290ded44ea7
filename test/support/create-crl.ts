// Issues certificate revocation lists with the openssl command, as the authority of a test's site does.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Lists are backdated like certificates. */
const CLOCK_SKEW_MS = 5 * 60 * 1000;

interface CrlOptions {
  /** Milliseconds since 1970, UTC. */
  readonly now: number;
  readonly days?: number;
  /** Serials in hexadecimal. */
  readonly revoked: readonly string[];
}

/** Returns a revocation list as PEM. */
export function createCrl(
  authority: { readonly key: string; readonly cert: string },
  { now, days = 365, revoked }: CrlOptions,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'treeline-crl-'));
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
  const time = stampOf(now).slice(2);
  write('index.txt', revoked.map((serial) => `R\t${time}\t${time}\t${serial}\tunknown\t/CN=x\n`).join(''));
  write('number', '01\n');
  write('cert.pem', authority.cert);
  write('key.pem', authority.key);
  const files = 'database = index.txt\ncrlnumber = number\ncertificate = cert.pem\nprivate_key = key.pem\n';
  write(
    'config',
    `[ca]\ndefault_ca = a\n[a]\n${files}default_md = sha256\ncrl_extensions = x\n[x]\nauthorityKeyIdentifier = keyid\n`,
  );
  const dates = ['-crl_lastupdate', stampOf(now - CLOCK_SKEW_MS), '-crl_nextupdate', stampOf(now + days * DAY_MS)];
  execFileSync('openssl', ['ca', '-config', 'config', '-gencrl', ...dates, '-out', 'list.crl'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const list = readFileSync(join(folder, 'list.crl'), 'utf8');
  rmSync(folder, { recursive: true });
  return list;
}

/** Returns a time of milliseconds since 1970 as openssl writes it. */
export function stampOf(time: number): string {
  return new Date(time).toISOString().replace(/[-:T]|\.\d+/g, '');
}
