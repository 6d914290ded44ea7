// contrib/providers/ssh against a real sshd on loopback. Skipped where there is none, or where it cannot start.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { remoteCommand } from '../../contrib/providers/ssh/remote-command.mjs';
import { itInFull } from '../support/count-runs.ts';
import { HAS_SSH_SERVER, type SshServer, startSshServer } from '../support/ssh-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type ProviderProgram, providerProgram } from './provider-program.ts';

const PATIENCE = { timeout: 15_000, interval: 50 };
const HERE = { address: '127.0.0.1', role: 'web' };

/** Scripts that keep a machine's state in a file, as an operator's would in /etc. */
const SCRIPTS = {
  check: '[ -e "$STATE" ] || exit 113\ncat "$STATE"\n',
  create:
    'cat >/dev/null; printf \'{ "role": "web", "cores": 2, "disks": ["a", "b"] }\' > "$STATE"; echo \'{ "id": 7 }\'\n',
  update: '[ -e "$STATE" ] || exit 113\ncat > "$STATE.call"\n',
  delete: '[ -e "$STATE" ] || exit 113\nrm "$STATE"\n',
};

interface Rig extends ProviderProgram {
  readonly folder: string;
  /** What a file that the scripts use holds; undefined where it is not there. */
  read(name: string): string | undefined;
}

/** Returns the provider for that server. In the scripts, `$STATE` is the path of the file `state` of the folder. */
function createRig(
  server: Pick<SshServer, 'port' | 'key' | 'knownHosts'>,
  scripts: Partial<typeof SCRIPTS> = {},
  environment: Readonly<Record<string, string>> = {},
): Rig {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'scripts'));
  for (const [name, text] of Object.entries({ ...SCRIPTS, ...scripts })) {
    writeFileSync(join(folder, 'scripts', `${name}.sh`), `STATE='${join(folder, 'state')}'\n${text}`);
  }
  const program = providerProgram('ssh/ssh.mjs', {
    TREELINE_SSH_SCRIPTS: join(folder, 'scripts'),
    TREELINE_SSH_USER: userInfo().username,
    TREELINE_SSH_PORT: String(server.port),
    TREELINE_SSH_KEY: server.key,
    TREELINE_SSH_KNOWN_HOSTS: server.knownHosts,
    TREELINE_SSH_CONNECT_SECONDS: '3',
    ...environment,
  });
  const read = (name: string): string | undefined =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined;
  return { ...program, folder, read };
}

describe.skipIf(!HAS_SSH_SERVER)('with a real sshd (skipped where it, or its folder /run/sshd, is missing)', () => {
  it('runs a script for each operation, and returns its answer', async () => {
    const { call, read } = createRig(await startSshServer());
    expect(await call('check', 'web-1', { properties: HERE })).toMatchObject({ outcome: 'absent' });
    const created = await call('create', 'web-1', { properties: HERE });
    expect(created).toMatchObject({ outcome: 'done', outputs: { id: '7' }, observed: {} });
    expect(await call('check', 'web-1', { properties: HERE })).toMatchObject({
      outcome: 'done',
      observed: { role: 'web', cores: '2', disks: ['a', 'b'] },
    });
    const record = { motd: 'It\'s "quoted" $(reboot) `x` \\n ü\nnew line' };
    expect(await call('update', 'web-1', { properties: HERE, record })).toMatchObject({ outcome: 'done' });
    expect(JSON.parse(read('state.call') ?? '')).toMatchObject({ operation: 'update', resource: 'web-1', record });
    expect(await call('delete', 'web-1', { properties: HERE })).toMatchObject({ outcome: 'done' });
    for (const operation of ['delete', 'update']) {
      expect(await call(operation, 'web-1', { properties: HERE })).toMatchObject({ outcome: 'absent' });
    }
  });

  itInFull('never answers "absent" for an unreachable machine', async () => {
    const server = await startSshServer();
    await server.stop();
    const refused = createRig(server);
    for (const operation of ['check', 'delete']) {
      expect(await refused.call(operation, 'web-1', { properties: HERE })).toMatchObject({
        outcome: 'retryable',
        message: expect.stringMatching(/^ssh: .*Connection refused/),
      });
    }
    const unknown = { ...HERE, address: 'no-such-host.invalid' };
    expect(await refused.call('check', 'web-1', { properties: unknown })).toMatchObject({ outcome: 'retryable' });
    // A host that takes the connection and says nothing.
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket)).listen(server.port, '127.0.0.1');
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    expect(await refused.call('check', 'web-1', { properties: HERE })).toMatchObject({ outcome: 'retryable' });
  });

  it('fails for an unknown or changed host key, and for a refused key', async () => {
    const server = await startSshServer();
    const unknown = join(temporaryDirectory(), 'known_hosts');
    writeFileSync(unknown, '');
    const refusal = async (change: Partial<SshServer>): Promise<unknown> =>
      await createRig({ ...server, ...change }).call('check', 'web-1', { properties: HERE });
    const failed = (message: RegExp): object => ({ outcome: 'failed', message: expect.stringMatching(message) });
    expect(await refusal({ knownHosts: unknown })).toMatchObject(failed(/Host key verification failed/));
    expect(await refusal({ key: server.strangerKey })).toMatchObject(failed(/Permission denied \(publickey/));
    writeFileSync(unknown, `[127.0.0.1]:${server.port} ${readFileSync(`${server.strangerKey}.pub`, 'utf8')}`);
    expect(await refusal({ knownHosts: unknown })).toMatchObject(failed(/Host key verification failed/));
  });

  itInFull('ends a script at the deadline, with its children', async () => {
    const create = '(while :; do echo x >> "$STATE"; sleep 0.1; done) & trap "" TERM; sleep 60; sleep 60\n';
    const { call, read } = createRig(await startSshServer(), { create });
    const deadline = new Date(Date.now() + 4_000).toISOString();
    // It ignores its end, and is killed 5 s later.
    expect(await call('create', 'web-1', { properties: HERE, deadline })).toMatchObject({
      outcome: 'lost',
      message: expect.stringContaining('the create script of web-1 did not end in time'),
    });
    await expectSilence(read);
  });

  it('ends a script when its connection ends', async () => {
    const create = 'echo begin > "$STATE"; while :; do echo x >> "$STATE"; sleep 0.1; done\n';
    const { start, read } = createRig(await startSshServer(), { create });
    const { process: program, answer } = start('create', 'web-1', { properties: HERE });
    await expect.poll(() => read('state'), PATIENCE).toContain('x');
    process.kill(-(program.pid ?? 0), 'SIGKILL');
    await answer;
    await expectSilence(read);
  });

  /** Resolves once nothing writes to the file any more. */
  async function expectSilence(read: Rig['read']): Promise<void> {
    const isSilent = async (): Promise<boolean> => {
      const before = read('state');
      await sleep(400);
      return read('state') === before;
    };
    await expect.poll(isSilent, PATIENCE).toBe(true);
  }
});

describe('the ssh provider on this machine', () => {
  /** A line to this very machine: its process can be killed, and the machine's side goes on, as behind a cut line. */
  const LINE = `#!/bin/sh
for command; do :; done
echo $$ > "$LINE_PID"
exec 4<&0
setsid sh -c "$command" <&4 4<&- &
exec 4<&-
wait $!
`;

  function rigWithLine(scripts: Partial<typeof SCRIPTS>) {
    const home = temporaryDirectory();
    const bin = join(home, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'ssh'), LINE, { mode: 0o755 });
    const pid = join(bin, 'pid');
    const environment = { PATH: `${bin}:/usr/bin:/bin`, HOME: home, LINE_PID: pid };
    const rig = createRig({ port: 1, key: '/dev/null', knownHosts: '/dev/null' }, scripts, environment);
    return { ...rig, bin, cut: () => process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL') };
  }

  it.each<[string, string, 'check' | 'create' | 'update' | 'delete', string, RegExp]>([
    ['113, absent', 'exit 113', 'check', 'absent', /^$/],
    [
      '113 of a create, which cannot be absent',
      'exit 113',
      'create',
      'retryable',
      /create script of web-1 ended with 113/,
    ],
    ['114, replace', 'echo "another disk" >&2; exit 114', 'update', 'replace', /another disk/],
    ['115, failed', 'echo "no licence" >&2; exit 115', 'create', 'failed', /ended with 115: no licence/],
    ['1, try again', 'echo "apt is locked" >&2; exit 1', 'update', 'retryable', /ended with 1: apt is locked/],
    ['0 and no JSON', 'echo hello', 'create', 'retryable', /did not print a JSON object: "hello"/],
    ['an output without end', 'yes', 'check', 'failed', /printed more than 1048576 bytes/],
  ])('answers exit code %s', async (_, script, operation, outcome, message) => {
    const { call } = rigWithLine({ [operation]: `${script}\n` });
    const answer = await call(operation, 'web-1', { properties: HERE });
    expect(answer).toMatchObject({ outcome, message: expect.stringMatching(message) });
  });

  it('answers "lost" for an unknown end, and starts no second script', async () => {
    // It does not heed its end, as one that waits for a broken disk.
    const create = 'trap "" TERM; echo begin >> "$STATE"; sleep 2; echo end >> "$STATE"\n';
    const { call, start, cut, read } = rigWithLine({ create, check: 'echo "{}"; exec sleep 5\n' });
    const first = start('create', 'web-1', { properties: HERE });
    await expect.poll(() => read('state'), PATIENCE).toBe('begin\n');
    cut();
    const lost = 'the create script of web-1 ran when the connection was lost. ';
    expect(await call('create', 'web-1', { properties: HERE })).toMatchObject({ outcome: 'done' });
    expect(await first.answer).toMatchObject({ outcome: 'lost', message: lost });
    expect(read('state')).toBe('begin\nend\nbegin\nend\n');
  });

  it('names why its wait ended, and does not delay other servers', async () => {
    const create = 'trap "" TERM; echo begin >> "$STATE"; sleep 20\n';
    const { call, start, cut, read } = rigWithLine({ create, update: 'exit 0\n' });
    const first = start('create', 'web-1', { properties: HERE });
    await expect.poll(() => read('state'), PATIENCE).toBe('begin\n');
    cut();
    const deadline = new Date(Date.now() + 4_000).toISOString();
    expect(await call('update', 'web-1', { properties: HERE, deadline })).toMatchObject({
      outcome: 'retryable',
      message: expect.stringMatching(/^the update script of web-1 was not started, because an earlier/),
    });
    const later = new Date(Date.now() + 4_000).toISOString();
    expect(await call('update', 'web-2', { properties: HERE, deadline: later })).toMatchObject({ outcome: 'done' });
    await first.answer;
  });

  it('answers nothing for a check whose connection breaks', async () => {
    const { start, cut, read } = rigWithLine({ check: 'echo begin >> "$STATE"; sleep 20\n' });
    const check = start('check', 'web-1', { properties: HERE });
    await expect.poll(() => read('state'), PATIENCE).toBe('begin\n');
    cut();
    expect(await check.answer).toMatchObject({ outcome: 'retryable' });
  });

  it('leaves no lock with a daemon of a script', async () => {
    const { call } = rigWithLine({ update: 'setsid -f sleep 3 >/dev/null 2>&1 </dev/null\n' });
    for (let times = 0; times < 2; times += 1) {
      const deadline = new Date(Date.now() + 4_000).toISOString();
      expect(await call('update', 'web-1', { properties: HERE, deadline })).toMatchObject({ outcome: 'done' });
    }
  });

  it('reports that a machine lacks flock', async () => {
    const { call, bin } = rigWithLine({});
    writeFileSync(join(bin, 'ssh'), '#!/bin/sh\nfor command; do :; done\nPATH=$HOME; export PATH; eval "$command"\n');
    symlinkSync('/bin/sh', join(bin, '../sh'));
    expect(await call('update', 'web-1', { properties: HERE })).toMatchObject({
      outcome: 'failed',
      message: 'flock is missing on the machine: install util-linux',
    });
  });
});

describe('the ssh provider without a server', () => {
  const nowhere = { port: 1, key: '/dev/null', knownHosts: '/dev/null' };

  it.each<[string, string]>([
    ['an option', '-oProxyCommand=reboot'],
    ['a command', 'host;reboot'],
    ['nothing', ''],
  ])('refuses an address that is %s', async (_, address) => {
    const answer = await createRig(nowhere).call('create', 'web-1', { properties: { address } });
    expect(answer).toMatchObject({
      outcome: 'failed',
      message: `the property address of web-1 is not a host: "${address}"`,
    });
  });

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['a user', { TREELINE_SSH_USER: '' }, /TREELINE_SSH_USER is not set/],
    ['a key', { TREELINE_SSH_KEY: '/no/such/key' }, /TREELINE_SSH_KEY is "\/no\/such\/key": it has to be/],
    ['scripts', { TREELINE_SSH_SCRIPTS: '/nowhere' }, /there is no script \/nowhere\/check.sh/],
    ['an address', { TREELINE_SSH_ADDRESS_PROPERTY: 'ip' }, /the property ip of web-1 is not a host: missing/],
  ])('says that %s is missing', async (_, environment, message) => {
    const answer = await createRig(nowhere, {}, environment).call('check', 'web-1', { properties: HERE });
    expect(answer).toMatchObject({ outcome: 'failed', message: expect.stringMatching(message) });
  });

  it('quotes any script', () => {
    expect(remoteCommand("echo 'a'", { name: 'web-1', seconds: 5 })).toMatch(/ treeline 'echo '\\''a'\\''' 'web-1'$/);
  });
});
