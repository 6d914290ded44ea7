// Certificates for those who have no authority: what is made, who may read it, and that nothing is written over.
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { treeline } from '../support/command-here.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function modesIn(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );
}

function certificateIn(folder: string, name: string): X509Certificate {
  return new X509Certificate(readFileSync(join(folder, `${name}.crt`)));
}

describe('treeline pki init', () => {
  it('makes an authority and a server certificate, with keys for their owner only', async () => {
    const cwd = temporaryDirectory();
    const { code, stdout, stderr } = await treeline(['pki', 'init'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^pki\/ca\.crt .*\npki\/server\.crt .*localhost, 127\.0\.0\.1, ::1\n$/);
    const pki = join(cwd, 'pki');
    expect((statSync(pki).mode & 0o777).toString(8)).toBe('700');
    expect(modesIn(pki)).toMatchObject({ 'ca.key': '600', 'server.key': '600' });
    const server = certificateIn(pki, 'server');
    expect(server.checkIssued(certificateIn(pki, 'ca'))).toBe(true);
    expect(server.subjectAltName).toContain('DNS:localhost, IP Address:127.0.0.1');
  });

  it('makes the certificate for the hosts that are named', async () => {
    const cwd = temporaryDirectory();
    await treeline(['pki', 'init', 'keys', '--host', 'treeline.example', '10.1.2.3'], { cwd });
    expect(certificateIn(join(cwd, 'keys'), 'server').subjectAltName).toBe('DNS:treeline.example, IP Address:10.1.2.3');
  });

  it.each(['not a host', 'https://x', '-x', 'x..y'])('refuses the host %j and makes nothing', async (host) => {
    const cwd = temporaryDirectory();
    const ended = await treeline(['pki', 'init', `--host=${host}`], { cwd });
    expect(ended).toMatchObject({ code: 3, stderr: `treeline: "${host}" is no name or address of a host\n` });
    expect(existsSync(join(cwd, 'pki'))).toBe(false);
  });

  it('writes nothing over', async () => {
    const cwd = temporaryDirectory();
    await treeline(['pki', 'init'], { cwd });
    const before = readFileSync(join(cwd, 'pki/ca.key'), 'utf8');
    const again = await treeline(['pki', 'init'], { cwd });
    expect(again).toMatchObject({ code: 3, stdout: '' });
    expect(again.stderr).toMatch(/^treeline: .*pki\/server\.key is there already, and is not written over: .*\n$/);
    expect(readFileSync(join(cwd, 'pki/ca.key'), 'utf8')).toBe(before);
  });
});

it('a server certificate that was moved away is made again by the authority that is there', async () => {
  const cwd = temporaryDirectory();
  await treeline(['pki', 'init'], { cwd });
  const pki = join(cwd, 'pki');
  const [authority, server] = [certificateIn(pki, 'ca'), certificateIn(pki, 'server')];
  for (const name of ['server.key', 'server.crt']) rmSync(join(pki, name));
  const ended = await treeline(['pki', 'init'], { cwd });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('the authority that was there already') });
  expect(certificateIn(pki, 'ca').serialNumber).toBe(authority.serialNumber);
  expect(certificateIn(pki, 'server').serialNumber).not.toBe(server.serialNumber);
  expect(certificateIn(pki, 'server').checkIssued(authority)).toBe(true);
});

it('an authority of which only half is there is not replaced', async () => {
  const cwd = temporaryDirectory();
  await treeline(['pki', 'init'], { cwd });
  for (const name of ['server.key', 'server.crt', 'ca.crt']) rmSync(join(cwd, 'pki', name));
  const ended = await treeline(['pki', 'init'], { cwd });
  expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining('ca.key is there already') });
});

describe('treeline client new', () => {
  let made = '';

  beforeAll(async () => {
    made = await mkdtemp(join(tmpdir(), 'treeline-'));
    await treeline(['pki', 'init'], { cwd: made });
  });
  afterAll(() => rmSync(made, { recursive: true, force: true }));

  /** Returns a folder with an authority of its own: a copy, as to make one takes a while. */
  async function withAuthority(): Promise<string> {
    const cwd = temporaryDirectory();
    await cp(made, cwd, { recursive: true });
    return cwd;
  }

  it("makes a key and a certificate, and writes the client's file into a repository", async () => {
    const cwd = await withAuthority();
    await mkdir(join(cwd, 'my stacks'));
    const options = ['--role', 'administrator', '--repository', 'my stacks', '--description', 'Ada Lovelace'];
    const { code, stdout, stderr } = await treeline(['client', 'new', 'ada', ...options], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const certificate = certificateIn(join(cwd, 'pki'), 'ada');
    const path = `clients/${certificate.serialNumber}.yaml`;
    expect(stdout).toContain(`my stacks/${path}  registers it as administrator: commit it\n`);
    expect(readFileSync(join(cwd, 'my stacks', path), 'utf8').split('\n')).toEqual([
      '# yaml-language-server: $schema=../schemas/client.schema.json',
      'description: Ada Lovelace',
      'role: administrator',
      expect.stringMatching(`^serial: "?${certificate.serialNumber}"?$`),
      `fingerprint: ${certificate.fingerprint256}`,
      '',
    ]);
    expect(certificate.subject).toBe('CN=ada');
    expect(modesIn(join(cwd, 'pki'))).toMatchObject({ 'ada.key': '600' });
  });

  it('prints the file where no repository is named', async () => {
    const cwd = await withAuthority();
    const { code, stdout, stderr } = await treeline(['client', 'new', 'probe', '--role', 'proxy', '--tag', 'lab'], {
      cwd,
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^# pki\/probe\.crt is made; save this as clients\/[0-9A-F]+\.yaml in the stacks repository/,
    );
    expect(stdout).toMatch(/^description: probe\nrole: proxy\n/m);
    expect(stdout).toMatch(/^tags: *\n? *[-[] *lab/m);
  });

  it.each([
    ['a name that is a path', ['../x', '--role', 'proxy'], /"\.\.\/x" cannot name files/],
    ['the name of the authority', ['ca', '--role', 'proxy'], /ca\.key is there already/],
    [
      'a repository that is not there',
      ['x', '--role', 'proxy', '--repository', 'no-such'],
      /there is no folder .*no-such/,
    ],
    [
      'an authority that is not there',
      ['x', '--role', 'proxy', '--pki', 'none'],
      /no authority in .*: "treeline pki init"/,
    ],
    ['a role that is not known', ['x', '--role', 'king'], /king/],
  ])('refuses %s and makes nothing', async (_, args, words) => {
    const cwd = await withAuthority();
    const before = readdirSync(join(cwd, 'pki'));
    const ended = await treeline(['client', 'new', ...args], { cwd });
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toMatch(words);
    expect(readdirSync(join(cwd, 'pki'))).toEqual(before);
  });
});
