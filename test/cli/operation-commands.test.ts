// The commands for a controller that runs: what they ask of it, what they print, and how they fail. Most are run in this
// process against the interface alone; a few as people run them, against a whole controller.
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CommandFailure } from '../../src/cli/command-failure.ts';
import { addOperationCommands } from '../../src/cli/operation-commands.ts';
import { addStatusCommand } from '../../src/cli/status-command.ts';
import { createAuthority, issueClientCertificate, type KeyPair } from '../../src/development-pki.ts';
import type { Role } from '../../src/model/names.ts';
import type { Problem } from '../../src/model/problem.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { HeldItem } from '../../src/service/operator.ts';
import { heldIn, push, upAndDone } from '../scenario/scene.ts';
import { instanceText, OFFICE, SHOP } from '../scenario/stacks.ts';
import { treeline } from '../support/command-line.ts';
import { commandLineOptions } from '../support/server-options.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());
beforeEach(() => {
  api.operator.asked.length = 0;
});

interface How {
  readonly server?: string;
  readonly identity?: KeyPair;
  readonly ca?: string;
}

/** Returns the options that reach the interface, as who the role is. */
function options({ identity = api.identities.administrator, ca = api.server.ca, ...how }: How = {}): string[] {
  const folder = temporaryDirectory();
  const fileOf = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return [
    ...['--server', how.server ?? `https://127.0.0.1:${api.server.port}`, '--ca', fileOf('ca.crt', ca)],
    ...['--cert', fileOf('client.crt', identity.cert), '--key', fileOf('client.key', identity.key)],
  ];
}

function program(): Command {
  const command = new Command('treeline').exitOverride().configureOutput({ writeErr: () => undefined });
  addStatusCommand(command);
  addOperationCommands(command);
  return command;
}

/** Runs a command in this process, and returns what it prints. */
async function run(...args: readonly string[]): Promise<string> {
  const printed: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.push(String(text));
    return true;
  });
  try {
    await program().parseAsync(args, { from: 'user' });
  } finally {
    spy.mockRestore();
  }
  return printed.join('');
}

describe('what is asked by', () => {
  const UNTIL = '2026-11-20T18:00:00Z';

  it.each<[args: string, asked: readonly unknown[]]>([
    ['approve beef', ['approve', '', 'beef']],
    ['approve beef --reason meant', ['approve', 'meant', 'beef']],
    ['accept-history c0ffee', ['accept-history', '', 'c0ffee']],
    ['suspend', ['suspend', '', { instance: null, until: null }]],
    ['suspend shop', ['suspend', '', { instance: 'shop', until: null }]],
    [`suspend shop --until ${UNTIL} --reason sale`, ['suspend', 'sale', { instance: 'shop', until: UNTIL }]],
    ['resume', ['resume', '', null]],
    ['resume shop', ['resume', '', 'shop']],
    ['retry shop', ['retry', '', { instance: 'shop' }]],
    ['retry --resource shop-web-1', ['retry', '', { resource: 'shop-web-1' }]],
    ['retry --provider lab', ['retry', '', { provider: 'lab' }]],
    ['retry --all --reason again', ['retry', 'again', { all: true }]],
    ['adopt shop', ['adopt', '', { instance: 'shop' }]],
    ['adopt --resource shop-web-1', ['adopt', '', { resource: 'shop-web-1' }]],
    ['adopt --all', ['adopt', '', { all: true }]],
  ])('treeline %s', async (args, asked) => {
    expect(await run(...args.split(' '), ...options())).toBe('so it is\n');
    expect(api.operator.asked).toEqual([asked]);
  });
});

/** Returns the address of a server that listens until the test is over. */
async function addressOf(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('treeline held', () => {
  const HELD: readonly HeldItem[] = [
    {
      kind: 'deletes',
      digest: 'beef',
      instance: 'shop',
      reason: '7 servers would be deleted',
      since: '2026-11-20T10:13:56.000Z',
      resources: ['shop-web-1', 'shop-web-2'],
    },
    {
      ...{ kind: 'history', digest: 'history-c0ffee', instance: null, resources: [] },
      ...{ reason: 'the history was rewritten', since: '2026-11-20T10:13:57.000Z' },
    },
  ];

  it('prints what waits, and how to approve it', async () => {
    expect(await run('held', ...options())).toBe('nothing is held\n');
    const { held } = api.operator;
    onTestFinished(() => {
      api.operator.held = held;
    });
    api.operator.held = () => HELD;
    expect((await run('held', ...options())).split('\n')).toEqual([
      'shop: deletes, since 2026-11-20T10:13:56.000Z',
      '    7 servers would be deleted',
      '    servers: shop-web-1, shop-web-2',
      '    approve with: treeline approve beef',
      'commit: history, since 2026-11-20T10:13:57.000Z',
      '    the history was rewritten',
      '    approve with: treeline approve history-c0ffee',
      '',
    ]);
    expect(JSON.parse(await run('held', '--format', 'json', ...options()))).toEqual({ held: HELD });
  });
});

describe('treeline problems', () => {
  it('prints the commit, and each problem as treeline validate does', async () => {
    const { problems } = api.operator;
    onTestFinished(() => {
      api.operator.problems = problems;
    });
    expect(await run('problems', ...options())).toBe(`commit ${'c'.repeat(40)}\n`);
    const problem: Problem = {
      ...{ code: 'unknown_template', severity: 'error', file: 'stacks/instances/shop.yaml', line: 2, column: 16 },
      ...{ pointer: '/stackTemplate', message: 'there is no stack template "shopp"', hint: 'did you mean "shop"?' },
      instances: ['shop'],
    };
    api.operator.problems = () => ({ commit: 'c0ffee', problems: [problem] });
    expect((await run('problems', ...options())).split('\n')).toEqual([
      'commit c0ffee',
      'stacks/instances/shop.yaml:2:16: error: there is no stack template "shopp" [unknown_template]',
      '    hint: did you mean "shop"?',
      '    stops: shop',
      '',
    ]);
    const json = await run('problems', '--format', 'json', ...options());
    expect(JSON.parse(json)).toEqual({ commit: 'c0ffee', problems: [problem] });
  });
});

describe('treeline status', () => {
  it('prints every instance, or the servers of one', async () => {
    expect(await run('status', ...options())).toBe('shop: In progress\n');
    expect(await run('status', 'shop', ...options())).toBe('web  shop-web: done\n');
    expect(JSON.parse(await run('status', '--format', 'json', ...options()))).toEqual([
      { name: 'shop', status: 'In progress' },
    ]);
    expect(JSON.parse(await run('status', 'shop', '--format', 'json', ...options()))).toEqual({
      web: { 'shop-web': { state: 'done' } },
      workers: {},
    });
  });
});

describe('a command fails', () => {
  async function failure(...args: readonly string[]): Promise<string> {
    const error: unknown = await run(...args).catch((thrown: unknown) => thrown);
    if (error instanceof CommandFailure) return error.message;
    throw new Error(`it did not fail as a command does: ${error}`);
  }

  it.each<[role: Role, args: readonly string[], words: string]>([
    ['proxy', ['approve', 'beef'], 'The role proxy may not operate; that is for administrator'],
    ['automation-endpoint', ['suspend'], 'The role automation-endpoint may not operate; that is for administrator'],
    ['proxy', ['retry', '--all'], 'The role proxy may not retry; that is for administrator and automation-endpoint'],
  ])('as %s: %j', async (role, args, words) => {
    expect(await failure(...args, ...options({ identity: api.identities[role] }))).toBe(
      `/operations/${args[0]} answered 403: ${words}`,
    );
    expect(api.operator.asked).toEqual([]);
  });

  it.each<[name: string, args: readonly string[], message: string]>([
    [
      'for an instance that is not there',
      ['status', 'no/such'],
      '/stacks/instances/no%2Fsuch/status/full answered 404: There is no "no/such"',
    ],
    [
      'for a time that is none',
      ['suspend', '--until', 'noon'],
      '/operations/suspend answered 400: "until" has to be a time such as 2026-11-20T10:13:56Z',
    ],
    ['with two targets', ['retry', 'shop', '--all'], 'name exactly one of: an instance, --resource, --provider, --all'],
    ['with no target', ['retry'], 'name exactly one of: an instance, --resource, --provider, --all'],
    ['with no target to adopt', ['adopt'], 'name exactly one of: an instance, --resource, --all'],
  ])('%s', async (_name, args, message) => {
    expect(await failure(...args, ...options())).toBe(message);
    expect(api.operator.asked).toEqual([]);
  });

  it('in the words of the controller', async () => {
    const { approve } = api.operator;
    onTestFinished(() => {
      api.operator.approve = approve;
    });
    api.operator.approve = () => Promise.reject(new ServiceError('not_found', 'Nothing is held under the digest "x"'));
    expect(await failure('approve', 'x', ...options())).toBe(
      '/operations/approve answered 404: Nothing is held under the digest "x"',
    );
  });

  it('where nobody is registered under its certificate', async () => {
    const stranger = await issueClientCertificate(api.authority, { commonName: 'stranger', now: Date.now() });
    expect(await failure('held', ...options({ identity: stranger }))).toMatch(
      /^\/operations\/held answered 403: No client is registered with serial /,
    );
  });

  it('where the controller has a certificate of somebody else', async () => {
    const { cert } = await createAuthority({ commonName: 'Somebody else', now: Date.now() });
    expect(await failure('held', ...options({ ca: cert }))).toMatch(
      /^https:\/\/127\.0\.0\.1:\d+ cannot be asked: .*; check --server, --ca, and that the certificate is one that the server lets in$/,
    );
  });

  it('where its own certificate is of somebody else', async () => {
    const stranger = await createAuthority({ commonName: 'Somebody else', now: Date.now() });
    expect(await failure('held', ...options({ identity: stranger }))).toMatch(/cannot be asked: .*lets in$/);
  });

  it('where nobody answers', async () => {
    expect(await failure('held', ...options({ server: 'https://127.0.0.1:1' }))).toMatch(
      /^https:\/\/127\.0\.0\.1:1 cannot be asked: .*ECONNREFUSED.*; check --server/,
    );
  });

  it.each(['http://127.0.0.1:8443', 'treeline', 'ftp://treeline', ''])('for the address "%s"', async (server) => {
    expect(await failure('held', ...options({ server }))).toBe(
      `--server has to be an https:// address, not "${server}"`,
    );
  });

  it('for a file that is not there, and for one that holds no certificate', async () => {
    const given = options();
    expect(await failure('held', ...given, '--cert', 'no-such.crt')).toMatch(/^no-such\.crt cannot be read: ENOENT/);
    const wrong = join(temporaryDirectory(), 'wrong.crt');
    writeFileSync(wrong, 'hello');
    expect(await failure('held', ...given, '--cert', wrong)).toMatch(
      /wrong\.crt, .* cannot be used: .*; each is a PEM file$/,
    );
  });

  it('for a key that is not that of the certificate', async () => {
    const { key } = api.identities.proxy;
    const { cert } = api.identities.administrator;
    expect(await failure('held', ...options({ identity: { key, cert } }))).toMatch(/cannot be used: .*mismatch/);
  });

  it('where the answer breaks off', async () => {
    const server = createServer({ key: api.tls.key, cert: api.tls.cert }, (_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('{', () => response.destroy());
    });
    expect(await failure('held', ...options({ server: await addressOf(server) }))).toMatch(/cannot be asked: aborted;/);
  });

  it('where something else answers', async () => {
    const server = createServer({ key: api.tls.key, cert: api.tls.cert }, (_request, response) => {
      response.end('<html>It works!</html>');
    });
    expect(await failure('held', ...options({ server: await addressOf(server) }))).toBe(
      '/operations/held answered 200: <html>It works!</html>',
    );
  });
});

describe('as people run them', () => {
  it('they take where the controller is from the environment, and end with 3 where they fail', async () => {
    const scene = await upAndDone();
    await push(scene, { [SHOP]: instanceText('shop', 1), [OFFICE]: 'stackTemplate: wbe\n' });
    const given = commandLineOptions(scene.site, scene.running);
    const [, server = '', , cert = '', , key = '', , ca = ''] = given;
    const env = { TREELINE_SERVER: server, TREELINE_CERT: cert, TREELINE_KEY: key, TREELINE_CA: ca };
    const [held, problems, status, servers] = await Promise.all([
      treeline(['held'], { env }),
      treeline(['problems'], { env }),
      treeline(['status'], { env }),
      treeline(['status', 'office', '--format', 'json'], { env }),
    ]);
    const [item] = await heldIn(scene);
    expect(held).toEqual({
      code: 0,
      stdout: [
        `shop: deletes, since ${item?.since}`,
        `    ${item?.reason}`,
        '    servers: shop-web-2, shop-web-3, shop-web-4',
        `    approve with: treeline approve ${item?.digest}`,
        '',
      ].join('\n'),
      stderr: '',
    });
    expect(problems.stdout).toContain('stacks/instances/office.yaml:1:16: error: there is no stack template "wbe"');
    expect(status).toEqual({ code: 0, stdout: 'office: Invalid\nshop: Awaiting approval\n', stderr: '' });
    expect(JSON.parse(servers.stdout)).toEqual({
      db: { 'office-db': { state: 'done' } },
      web: { 'office-web-1': { state: 'done' } },
    });
    const [suspended, resumed, refused, absent] = [
      await treeline(['suspend', 'office', '--reason', 'moving'], { env }),
      await treeline(['resume', 'office'], { env }),
      ...(await Promise.all([
        treeline(['retry', '--all'], { env }),
        treeline(['approve', 'beef', ...given, '--server', 'https://127.0.0.1:1'], { env }),
      ])),
    ];
    expect(suspended).toEqual({ code: 0, stdout: 'office is suspended until somebody resumes it\n', stderr: '' });
    expect(resumed).toEqual({ code: 0, stdout: 'office is resumed\n', stderr: '' });
    expect(refused).toEqual({
      code: 3,
      stdout: '',
      stderr:
        'treeline: /operations/retry answered 409: No server there has failed, so there is nothing to try again\n',
    });
    expect(absent).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/^treeline: https:.*ECONNREFUSED/),
    });
  });

  it('they say what is missing, and have help', async () => {
    const [missing, help] = await Promise.all([treeline(['held']), treeline(['suspend', '--help'])]);
    expect(missing).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('--server') });
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const words of ['suspend [options] [instance]', '--until <time>', '--reason <words>', 'TREELINE_SERVER']) {
      expect(help.stdout).toContain(words);
    }
  });
});

it.each(program().commands.map((command) => [command.name(), command] as const))('%s has help', (name, command) => {
  const help = command.helpInformation();
  expect(help).toMatch(new RegExp(`^Usage: treeline ${name} `));
  for (const option of ['--server', '--cert', '--key', '--ca', '--help']) expect(help).toContain(option);
  expect(command.description()).toMatch(/^[a-z].*[^.]$/);
});
