// `treeline pki init` and `treeline client new`: what they make, who may read it, and that nothing is written over.
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { treeline } from '../support/command-here.ts';
import { prepareOnce } from '../support/prepared-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function modeOf(...path: readonly string[]): string {
  return (statSync(join(...path)).mode & 0o777).toString(8);
}

function certificateIn(cwd: string, name: string): X509Certificate {
  return new X509Certificate(readFileSync(join(cwd, 'pki', `${name}.crt`)));
}

const copyAuthority = prepareOnce((cwd) => treeline(['pki', 'init'], { cwd }));

/** Returns a folder with an authority of its own. */
async function withAuthority(): Promise<string> {
  const cwd = temporaryDirectory();
  await copyAuthority(cwd);
  return cwd;
}

describe('treeline pki init', () => {
  it('creates an authority and a server certificate, with keys for their owner only', async () => {
    const cwd = temporaryDirectory();
    const { code, stdout, stderr } = await treeline(['pki', 'init'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^pki\/ca\.crt .*\npki\/server\.crt .*localhost, 127\.0\.0\.1, ::1\n$/);
    expect(['pki', 'pki/ca.key', 'pki/server.key'].map((path) => modeOf(cwd, path))).toEqual(['700', '600', '600']);
    const server = certificateIn(cwd, 'server');
    expect(server.checkIssued(certificateIn(cwd, 'ca'))).toBe(true);
    expect(server.subjectAltName).toContain('DNS:localhost, IP Address:127.0.0.1');
  });

  it('creates the certificate for the named hosts', async () => {
    const cwd = temporaryDirectory();
    await treeline(['pki', 'init', '--host', 'treeline.example', '10.1.2.3'], { cwd });
    expect(certificateIn(cwd, 'server').subjectAltName).toBe('DNS:treeline.example, IP Address:10.1.2.3');
  });

  it.each([
    ...['not a host', 'https://x', '-x', 'x..y'].map((host) => [
      ...[[`--host=${host}`], `treeline: "${host}" is not a host name or address\n`, []],
    ]),
    [[], 'server.key exists already and is not overwritten: ', []],
    [[], 'ca.key exists already', ['server.key', 'server.crt', 'ca.crt']],
  ] as [string[], string, string[]][])('%j is refused: %s', async (args, words, removed) => {
    const cwd = await withAuthority();
    for (const name of removed) rmSync(join(cwd, 'pki', name));
    const before = readFileSync(join(cwd, 'pki/ca.key'), 'utf8');
    const ended = await treeline(['pki', 'init', ...args], { cwd });
    expect(ended).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining(words) });
    expect(readFileSync(join(cwd, 'pki/ca.key'), 'utf8')).toBe(before);
  });

  it('creates a missing server certificate again with the existing authority', async () => {
    const cwd = await withAuthority();
    const [authority, server] = [certificateIn(cwd, 'ca'), certificateIn(cwd, 'server')];
    for (const name of ['server.key', 'server.crt']) rmSync(join(cwd, 'pki', name));
    const ended = await treeline(['pki', 'init'], { cwd });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('the authority that was there already') });
    expect(certificateIn(cwd, 'ca').serialNumber).toBe(authority.serialNumber);
    expect(certificateIn(cwd, 'server').serialNumber).not.toBe(server.serialNumber);
    expect(certificateIn(cwd, 'server').checkIssued(authority)).toBe(true);
  });
});

describe('treeline client new', () => {
  it('creates a key and a certificate, and writes the client file into a repository', async () => {
    const cwd = await withAuthority();
    await mkdir(join(cwd, 'my stacks'));
    const options = ['--role', 'administrator', '--repository', 'my stacks', '--description', 'Ada Lovelace'];
    const { code, stdout, stderr } = await treeline(['client', 'new', 'ada', ...options], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { serialNumber, fingerprint256, subject } = certificateIn(cwd, 'ada');
    const path = `clients/${serialNumber}.yaml`;
    expect(stdout).toContain(`my stacks/${path}  registers it as administrator: commit it\n`);
    expect(readFileSync(join(cwd, 'my stacks', path), 'utf8').split('\n')).toEqual([
      '# yaml-language-server: $schema=../schemas/client.schema.json',
      'description: Ada Lovelace',
      'role: administrator',
      expect.stringMatching(`^serial: "?${serialNumber}"?$`),
      `fingerprint: ${fingerprint256}`,
      '',
    ]);
    expect(subject).toBe('CN=ada');
    expect(modeOf(cwd, 'pki/ada.key')).toBe('600');
  });

  it('prints the file if no repository is named', async () => {
    const cwd = await withAuthority();
    const ended = await treeline(['client', 'new', 'probe', '--role', 'proxy', '--tag', 'lab'], { cwd });
    expect(ended).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^description: probe\nrole: proxy\n[\s\S]*^tags: *\n? *[-[] *lab/m),
      stderr: expect.stringMatching(
        /^# pki\/probe\.crt is made; save this as clients\/[0-9A-F]+\.yaml in the stacks repository/,
      ),
    });
  });

  it.each([
    ['a name that is a path', ['../x'], /"\.\.\/x" cannot name files/],
    ['the name of the authority', ['ca'], /ca\.key exists already/],
    ['a missing repository', ['x', '--repository', 'no-such'], /there is no folder .*no-such/],
    ['a missing authority', ['x', '--pki', 'none'], /no authority in .*: "treeline pki init"/],
    ['an unknown role', ['x', '--role', 'king'], /king/],
  ])('refuses %s and creates nothing', async (_, args, words) => {
    const cwd = await withAuthority();
    const before = readdirSync(join(cwd, 'pki'));
    const ended = await treeline(['client', 'new', '--role', 'proxy', ...args], { cwd });
    expect(ended).toMatchObject({ code: 3, stdout: '', stderr: expect.stringMatching(words) });
    expect(readdirSync(join(cwd, 'pki'))).toEqual(before);
  });
});
