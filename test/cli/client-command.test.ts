// `treeline client`: a file from a certificate, and registering and listing with a controller that runs.
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type Credential,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from '../../src/base/development-pki.ts';
import { parseEntry } from '../../src/catalog/parse-entry.ts';
import { addClientCommand } from '../../src/cli/client-command.ts';
import { isValidEntry } from '../../src/model/entry.ts';
import { treeline } from '../support/command-here.ts';
import { runController } from '../support/running-controller.ts';
import { commandLineOptions } from '../support/server-options.ts';
import { createSite } from '../support/site.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/one.yaml': 'resources: { a: { type: Platform::Server, properties: {} } }\n',
  'stacks/instances/shop.yaml': 'stackTemplate: one\n',
};

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

/** Runs a command in this process, and returns what it prints. */
async function run(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    }),
  );
  const program = new Command('treeline').exitOverride().configureOutput({ writeErr: () => undefined });
  addClientCommand(program);
  try {
    await program.parseAsync(['client', ...args], { from: 'user' });
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return printed;
}

describe('client add, without a server', () => {
  it('prints a file that holds what the certificate says, and where to save it', async () => {
    const { serial, fingerprint, cert } = credential;
    const { stdout, stderr } = await run('add', fileWith(cert), '--role', 'automation-endpoint');
    expect(stderr).toBe(`# save this as clients/${serial}.yaml, and commit it\n`);
    expect(stdout.split('\n')[0]).toBe('# yaml-language-server: $schema=../schemas/client.schema.json');
    const entry = parseEntry(`clients/${serial}.yaml`, '', stdout);
    expect(isValidEntry(entry)).toBe(true);
    expect(entry.object).toEqual({
      name: serial,
      type: 'client',
      description: 'deploy robot',
      role: 'automation-endpoint',
      fingerprint,
      serial,
      tenant: '',
    });
  });

  it('takes words, a tenant and tags, however they have to be quoted', async () => {
    const more = ['--description', 'yes: "no" #1', '--tenant', '007', '--tag', 'lab', 'on'];
    const { stdout } = await run('add', fileWith(credential.cert), '--role', 'proxy', ...more);
    expect(parseEntry(`clients/${credential.serial}.yaml`, '', stdout).object).toMatchObject({
      description: 'yes: "no" #1',
      tenant: '007',
      tags: ['lab', 'on'],
    });
  });

  it('takes what gives the client less than its role has', async () => {
    const less = ['--node', 'web-1', '--reads', 'site', '--writes', 'none'];
    const { stdout } = await run('add', fileWith(credential.cert), '--role', 'proxy', ...less);
    const { object } = parseEntry(`clients/${credential.serial}.yaml`, '', stdout);
    expect(object).toMatchObject({ node: 'web-1', reads: 'site', writes: 'none' });
  });

  it('prints what treeline validate finds nothing wrong with', async () => {
    const { stdout } = await run('add', fileWith(credential.cert), '--role', 'administrator');
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'clients'));
    writeFileSync(join(folder, 'tree.yaml'), FILES['tree.yaml']);
    writeFileSync(join(folder, `clients/${credential.serial}.yaml`), stdout);
    expect(await treeline(['validate', folder])).toMatchObject({ code: 0, stderr: '' });
  });

  it('warns of a certificate that lets nobody in', async () => {
    const day = 24 * 60 * 60 * 1000;
    const authority = await createAuthority({ commonName: 'Authority', now: Date.now() - 5 * day });
    const expired = await issueClientCertificate(authority, { commonName: 'old', now: Date.now() - 3 * day, days: 1 });
    const server = await issueServerCertificate(authority, { now: Date.now() });
    const told = async ({ cert }: Credential): Promise<readonly string[]> =>
      (await run('add', fileWith(cert), '--role', 'proxy')).stderr.split('\n');
    const advice =
      'and admits no client; have its authority issue another for clients ("treeline client new"), and register that';
    expect(await told(expired)).toEqual([
      expect.stringMatching(
        /^# warning: \S+client\.crt has expired at \S+Z, and admits no client; have its authority /,
      ),
      `# save this as clients/${expired.serial}.yaml, and commit it`,
      '',
    ]);
    expect((await told(server))[0]).toMatch(
      /client\.crt was not made for clients: its extended key usage lacks clientAuth, /,
    );
    expect((await told(authority))[0]).toContain(
      `was not made for clients: it is the one of an authority ("CA:TRUE"), ${advice}`,
    );
  });

  it.each([
    ['a key', () => credential.key],
    ['nothing', () => ''],
    ['another text', () => 'hello'],
  ])('refuses a file that holds %s', async (_what, text) => {
    await expect(run('add', fileWith(text()), '--role', 'proxy')).rejects.toThrow(
      /client\.crt holds no certificate, in PEM or DER: give the client's certificate, not its key$/,
    );
  });

  it('refuses a file that is not there, an unknown role, and none', async () => {
    await expect(run('add', '/nowhere.crt', '--role', 'proxy')).rejects.toThrow(
      /^\/nowhere\.crt cannot be read: it is not there$/,
    );
    const certificate = fileWith(credential.cert);
    await expect(run('add', certificate, '--role', 'root')).rejects.toThrow(/Allowed choices are administrator, /);
    await expect(run('add', certificate)).rejects.toThrow(/'--role <role>' not specified/);
    await expect(run('add', certificate, '--role', 'proxy', '--server', 'https://localhost')).rejects.toThrow(
      'say which controller, and who asks: --cert, --key, --ca (or TREELINE_CERT, TREELINE_KEY, TREELINE_CA)',
    );
  });
});

describe('with a controller', () => {
  it('registers, changes and lists clients, for administrators', async () => {
    const site = await createSite(FILES);
    const controller = await runController(site);
    const commit = await site.repository.head();
    await controller.untilDone(commit, 'shop');
    const options = commandLineOptions(site, controller);
    const certificateOf = (who: string): string => join(site.folder, 'pki', `${who}.crt`);
    const serialOf = (who: string): string => new X509Certificate(readFileSync(certificateOf(who))).serialNumber;
    const proxy = serialOf('proxy');

    const asProxy = commandLineOptions(site, controller, 'proxy');
    await expect(run('list', ...asProxy)).rejects.toThrow(
      `/clients answered 403: No client is registered with serial ${proxy} and SHA-256 fingerprint`,
    );
    expect(await run('add', certificateOf('proxy'), '--role', 'proxy', '--tag', 'lab', ...options)).toEqual({
      stdout: `Created: ${proxy}\n`,
      stderr: '',
    });
    expect(await site.repository.git('show', `main:clients/${proxy}.yaml`)).toContain('role: proxy\nfingerprint: ');
    const head = await site.repository.git('rev-parse', 'main');
    const [, server = ''] = options;
    vi.stubEnv('TREELINE_SERVER', server);
    onTestFinished(() => void vi.unstubAllEnvs());
    const printed = await run('add', certificateOf('proxy'), '--role', 'proxy', '--print', ...options.slice(2));
    expect(printed.stdout).toMatch(/^# yaml-language-server: .*\ndescription: demo proxy\nrole: proxy\n/);
    expect(await site.repository.git('rev-parse', 'main')).toBe(head);
    expect(await run('add', certificateOf('proxy'), '--role', 'proxy', ...options.slice(2))).toEqual({
      stdout: expect.stringMatching(new RegExp(`: ${proxy}\\n$`)),
      stderr: `# registered with ${server}, which TREELINE_SERVER names; --print prints the file instead\n`,
    });
    vi.unstubAllEnvs();
    const own = new X509Certificate(readFileSync(certificateOf('proxy')));
    const ends = own.validToDate.toISOString().slice(0, 10);
    const seen = `(certificate ends ${ends}, seen `;
    const { stdout: listed } = await run('list', ...asProxy);
    expect(listed).toMatch(/^[0-9A-F]+ {2}proxy {2}demo proxy {2}\(certificate ends \S+, seen \S+Z\)\n$/);
    expect(listed).toContain(`${proxy}  proxy  demo proxy  ${seen}`);
    await expect(run('add', certificateOf('proxy'), '--role', 'administrator', ...asProxy)).rejects.toThrow(
      '/clients answered 403: The role proxy may not write clients; that is for administrator',
    );

    await site.repository.commit({
      'clients/ABCD.yaml': 'role: proxy\ndescription: "a\\nA110C0DE  administrator  b"\nnode: web-1\n',
    });
    await vi.waitFor(async () => {
      const { stdout } = await run('list', ...options);
      expect(stdout).toContain('ABCD  proxy  a\\u000aA110C0DE  administrator  b  (node web-1, not seen yet)\n');
    }, 10_000);
    await site.repository.commit({ 'clients/ABCD.yaml': null });
    await vi.waitFor(async () => expect((await run('list', ...options)).stdout).not.toContain('ABCD'), 10_000);

    const { stdout } = await run('list', '--format', 'json', '--role', 'proxy', ...options);
    expect(JSON.parse(stdout)).toEqual([expect.objectContaining({ serial: proxy, role: 'proxy', tags: ['lab'] })]);
    const all = [
      `${proxy}  proxy  demo proxy  ${seen}`,
      `${serialOf('administrator')}  administrator    ${seen}`,
    ].sort();
    const lines = (await run('list', ...options)).stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.replace(/seen [^)]*\)$/, 'seen '))).toEqual(all);

    await expect(run('add', certificateOf('administrator'), '--role', 'proxy', ...options)).rejects.toThrow(
      /answered 409: no administrator would be left; the client .* stays one; register another administrator first$/,
    );
  });
});
