// `treeline client`: a file from a certificate, and registering, listing and removing with a controller.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Credential,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from '../../src/base/development-pki.ts';
import { parseEntry } from '../../src/catalog/parse-entry.ts';
import type { ClientSeen } from '../../src/service/answers.ts';
import { treeline } from '../support/command-here.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { CommandsHere } from './commands-here.ts';

let credential: Credential;
beforeAll(async () => {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'Authority', now });
  credential = await issueClientCertificate(authority, { commonName: 'deploy robot', now });
});

/** Returns the path of a file that holds the text. */
function fileWith(text: string): string {
  const path = join(temporaryDirectory(), 'client.crt');
  writeFileSync(path, text);
  return path;
}

function add(certificate: string, ...args: readonly string[]) {
  return treeline(['client', 'add', certificate, ...args]);
}

describe('client add without a controller', () => {
  it('prints a valid file from the certificate, and its path', async () => {
    const { serial, fingerprint, cert } = credential;
    const { code, stdout, stderr } = await add(fileWith(cert), '--role', 'automation-endpoint');
    expect({ code, stderr }).toEqual({ code: 0, stderr: `# save this as clients/${serial}.yaml, and commit it\n` });
    expect(stdout.split('\n')[0]).toBe('# yaml-language-server: $schema=../schemas/client.schema.json');
    const { object } = parseEntry(`clients/${serial}.yaml`, '', stdout);
    const names = { name: serial, type: 'client', description: 'deploy robot', role: 'automation-endpoint' };
    expect(object).toEqual({ ...names, fingerprint, serial, tenant: '' });
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'clients'));
    writeFileSync(join(folder, 'tree.yaml'), 'name: global\ntype: common\n');
    writeFileSync(join(folder, `clients/${serial}.yaml`), stdout.replace('automation-endpoint', 'administrator'));
    expect(await treeline(['validate', folder])).toMatchObject({ code: 0, stderr: '' });
  });

  it('accepts descriptions, a tenant, tags and limits, and quotes them', async () => {
    const words = ['--description', 'yes: "no" #1', '--tenant', '007', '--tag', 'lab', 'on'];
    const limits = ['--node', 'web-1', '--reads', 'site', '--writes', 'none'];
    const { stdout } = await add(fileWith(credential.cert), '--role', 'proxy', ...words, ...limits);
    expect(parseEntry(`clients/${credential.serial}.yaml`, '', stdout).object).toMatchObject({
      description: 'yes: "no" #1',
      tenant: '007',
      tags: ['lab', 'on'],
      node: 'web-1',
      reads: 'site',
      writes: 'none',
    });
  });

  it('warns about a certificate that cannot be used', async () => {
    const day = 24 * 60 * 60 * 1000;
    const authority = await createAuthority({ commonName: 'Authority', now: Date.now() - 5 * day });
    const old = await issueClientCertificate(authority, { commonName: 'old', now: Date.now() - 3 * day, days: 1 });
    const server = await issueServerCertificate(authority, { now: Date.now() });
    const advice =
      'and admits no client; have its authority issue another for clients \\("treeline client new"\\), and';
    for (const [{ cert }, words] of [
      [old, 'has expired at \\S+Z'],
      [server, 'is not for clients: its extended key usage lacks clientAuth'],
      [authority, 'is not for clients: it belongs to an authority \\("CA:TRUE"\\)'],
    ] as const) {
      const { stderr } = await add(fileWith(cert), '--role', 'proxy');
      expect(stderr).toMatch(new RegExp(`^# warning: \\S+client\\.crt ${words}, ${advice}`));
    }
  });

  it.each<[what: string, text: () => string, args: readonly string[], words: RegExp]>([
    [
      'a key',
      () => credential.key,
      ['--role', 'proxy'],
      /client\.crt contains no certificate in PEM or DER: give the /,
    ],
    ['an empty file', () => '', ['--role', 'proxy'], /contains no certificate/],
    ['an unknown role', () => credential.cert, ['--role', 'root'], /Allowed choices are administrator, /],
    ['no role', () => credential.cert, [], /'--role <role>' not specified/],
    [
      'half a connection',
      () => credential.cert,
      ['--role', 'proxy', '--server', 'https://localhost'],
      /and who asks: --cert, --key, --ca \(or TREELINE_CERT, TREELINE_KEY, TREELINE_CA\)/,
    ],
  ])('refuses %s', async (_what, text, args, words) => {
    const stderr = expect.stringMatching(words);
    expect(await add(fileWith(text()), ...args)).toEqual({ code: 3, stdout: '', stderr });
  });

  it('refuses a missing file', async () => {
    const stderr = 'treeline: /nowhere.crt cannot be read: it is not there\n';
    expect(await add('/nowhere.crt', '--role', 'proxy')).toEqual({ code: 3, stdout: '', stderr });
  });
});

describe('client commands with a controller', () => {
  const commands = new CommandsHere();

  it('register a client, and name the controller if the environment does', async () => {
    const { serial, fingerprint, cert } = credential;
    const args = ['client', 'add', fileWith(cert), '--role', 'proxy', '--tag', 'lab'];
    expect(await commands.lines(...args)).toEqual([expect.stringMatching(new RegExp(`: ${serial}$`))]);
    const sent = { serial, fingerprint, role: 'proxy', tags: ['lab'], description: 'deploy robot' };
    expect(commands.api.writer.asked.splice(0)).toEqual([['putClient', sent]]);
    const [, server = '', ...files] = commands.options();
    const env = { TREELINE_SERVER: server };
    const { stderr } = await treeline([...args, ...files], { env });
    expect(stderr).toBe(`# registered with ${server}, which TREELINE_SERVER names; --print prints the file instead\n`);
    const printed = await treeline([...args, '--print', ...files], { env });
    expect(printed.stdout).toMatch(/^# yaml-language-server: .*\ndescription: deploy robot\nrole: proxy\n/);
    expect(commands.api.writer.asked).toHaveLength(1);
  });

  it('list clients, and remove one', async () => {
    const client: ClientSeen = {
      serial: 'ABCD',
      role: 'proxy',
      description: 'a\nA110C0DE  administrator  b',
      tenant: '',
      tags: [],
      node: 'web-1',
      notAfter: null,
      lastSeen: null,
    };
    const seen: ClientSeen = {
      ...client,
      serial: 'EF',
      role: 'administrator',
      description: 'Ada',
      node: null,
      notAfter: '2027-11-20T10:13:57.000Z',
      lastSeen: '2026-11-20T10:13:57.000Z',
    };
    commands.answer('operator', { clients: () => [client, seen] });
    const first = 'ABCD  proxy  a\\u000aA110C0DE  administrator  b  (node web-1, not seen yet)';
    expect(await commands.lines('client', 'list')).toEqual([
      first,
      'EF  administrator  Ada  (certificate ends 2027-11-20, seen 2026-11-20T10:13:57.000Z)',
    ]);
    expect(await commands.lines('client', 'list', '--role', 'proxy')).toEqual([first]);
    expect(await commands.json('client', 'list', '--role', 'proxy')).toEqual([client]);
    expect(await commands.lines('client', 'remove', 'ab:cd')).toEqual(['Client ab:cd is marked for delete']);
  });
});
