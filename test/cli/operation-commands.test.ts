// The commands that post to /operations/ or list from it: what they ask, what they print, and how they fail.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAuthority, issueClientCertificate, type KeyPair } from '../../src/base/development-pki.ts';
import type { Role } from '../../src/model/names.ts';
import type { Problem } from '../../src/model/problem.ts';
import type { HeldItem } from '../../src/service/answers.ts';
import { treeline } from '../support/command-here.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { COMMIT } from '../support/sample-reader.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { CommandsHere, type How } from './commands-here.ts';

const commands = new CommandsHere();

const UNTIL = '2026-11-20T18:00:00Z';

it.each<[args: string, asked: readonly unknown[]]>([
  ['approve beef', ['approve', '', 'beef']],
  ['approve beef --reason meant', ['approve', 'meant', 'beef']],
  ['accept-history c0ffee', ['accept-history', '', 'c0ffee']],
  ['suspend --all', ['suspend', '', { instance: null, until: null }]],
  ['suspend shop', ['suspend', '', { instance: 'shop', until: null }]],
  [`suspend shop --until ${UNTIL} --reason sale`, ['suspend', 'sale', { instance: 'shop', until: UNTIL }]],
  ['suspend shop --until 2h', ['suspend', '', { instance: 'shop', until: expect.stringMatching(/^20\d\d-.*Z$/) }]],
  ['resume --all', ['resume', '', null]],
  ['resume shop', ['resume', '', 'shop']],
  ['retry shop', ['retry', '', { instance: 'shop' }]],
  ['retry --resource shop-web-1', ['retry', '', { resource: 'shop-web-1' }]],
  ['retry --provider lab', ['retry', '', { provider: 'lab' }]],
  ['retry --all --reason again', ['retry', 'again', { all: true }]],
  ['adopt shop', ['adopt', '', { instance: 'shop' }]],
  ['adopt --resource shop-web-1', ['adopt', '', { resource: 'shop-web-1' }]],
  ['adopt --all', ['adopt', '', { all: true }]],
  ['check shop', ['check', '', { instance: 'shop' }]],
  ['check --resource shop-web-1', ['check', '', { resource: 'shop-web-1' }]],
  ['retain shop-web-1 --reason sold', ['retain', 'sold', 'shop-web-1']],
  ['replace shop-web-1', ['replace', '', 'shop-web-1']],
  [`acknowledge shop --until ${UNTIL}`, ['acknowledge', '', { instance: 'shop', until: UNTIL }]],
  ['acknowledge shop --end', ['acknowledge', '', { instance: 'shop', until: null }]],
  [
    'acknowledge shop --until 90m --reason disks',
    ['acknowledge', 'disks', { instance: 'shop', until: expect.stringMatching(/^20\d\d-.*Z$/) }],
  ],
])('treeline %s sends its request', async (args, asked) => {
  expect(await commands.lines(...args.split(' '))).toEqual(['so it is']);
  expect(commands.api.operator.asked).toEqual([asked]);
});

describe('treeline held', () => {
  const AUTHOR = { author: 'A\u001b[2J Person' };
  const HISTORY = {
    ...({ kind: 'history', digest: 'history-c0ffee', instance: null, resources: [], commit: null } as const),
    ...AUTHOR,
  };
  const HELD: readonly HeldItem[] = [
    {
      kind: 'deletes',
      digest: 'beef',
      instance: 'shop',
      resources: ['shop-web-1', 'shop-web-2'],
      reason: '7 servers would be deleted',
      since: '2026-11-20T10:13:56.000Z',
      commit: COMMIT,
      ...AUTHOR,
    },
    { ...HISTORY, reason: 'the history was rewritten', since: '2026-11-20T10:13:57.000Z' },
    { ...HISTORY, check: 'set it back', reason: 'the layout was not moved', since: '2026-11-20T10:13:58.000Z' },
  ];

  it('prints what is held, and how to approve it', async () => {
    expect(await commands.lines('held')).toEqual(['nothing is held']);
    commands.answer('operator', { held: () => HELD });
    expect(await commands.lines('held')).toEqual([
      'shop: deletes, since 2026-11-20T10:13:56.000Z',
      '    7 servers would be deleted',
      `    commit: ${COMMIT}, by A\\u001b[2J Person`,
      '    servers: shop-web-1, shop-web-2',
      '    release with: treeline approve beef',
      'commit: history, since 2026-11-20T10:13:57.000Z',
      '    the history was rewritten',
      '    release with: treeline accept-history c0ffee',
      'commit: history, since 2026-11-20T10:13:58.000Z',
      '    the layout was not moved',
      '    release with: set it back; if it is intended: treeline accept-history c0ffee',
    ]);
    expect(await commands.json('held')).toEqual({ held: HELD });
    // Without a terminal it does not ask, but shows what it accepts.
    const accepted = await commands.lines('accept-history', 'c0ffee');
    expect(accepted.slice(0, 2)).toEqual([
      'commit: history, since 2026-11-20T10:13:57.000Z',
      '    the history was rewritten',
    ]);
    expect(accepted.at(-1)).toBe('so it is');
  });
});

it('treeline problems prints the commit, and each problem like treeline validate', async () => {
  expect(await commands.lines('problems')).toEqual([`nothing is wrong in ${'c'.repeat(40)}`]);
  const plain: Problem = {
    code: 'unknown_template',
    severity: 'error',
    file: 'stacks/instances/shop.yaml',
    line: 2,
    column: 16,
    pointer: '/stackTemplate',
    message: 'there is no stack template "shopp"',
    hint: 'did you mean "shop"?',
    instances: ['shop'],
  };
  const hostile: Problem = {
    code: 'bad_name',
    severity: 'error',
    line: 1,
    column: 1,
    pointer: '',
    hint: null,
    file: 'a\u001b]0;x\u0007\nb:1:1: error',
    message: 'm\u009b31m\u202e',
  };
  commands.answer('operator', { problems: () => ({ commit: 'c0ffee', problems: [plain, hostile] }) });
  expect(await commands.lines('problems')).toEqual([
    'commit c0ffee',
    'stacks/instances/shop.yaml:2:16: error: there is no stack template "shopp" [unknown_template]',
    '    hint: did you mean "shop"?',
    '    stops: shop',
    'a\\u001b]0;x\\u0007\\u000ab:1:1: error:1:1: error: m\\u009b31m\\u202e [bad_name]',
  ]);
  expect(await commands.json('problems')).toEqual({ commit: 'c0ffee', problems: [plain, hostile] });
  expect((await commands.lines('problems', '--format', 'json')).join('\n')).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
});

describe('a short digest', () => {
  const held = (digest: string, kind: HeldItem['kind'] = 'deletes'): HeldItem => ({
    kind,
    digest,
    instance: null,
    reason: 'many',
    resources: [],
    commit: null,
    author: null,
    since: '2026-11-20T10:13:56.000Z',
  });
  const DIGESTS = ['abcdef0123', 'abcdef0199', '99887766'].map((start) => start.padEnd(64, '0'));
  const LOST = ['1234567', '1234568'].map((start) => start.padEnd(40, 'a'));

  beforeEach(() => {
    const items = [...DIGESTS.map((digest) => held(digest)), ...LOST.map((oid) => held(`history-${oid}`, 'history'))];
    commands.answer('operator', { held: () => [...items, held(`nothing-left-${'5'.repeat(40)}`, 'nothing left')] });
  });

  it.each([
    ['approve', '99887766000000000000', DIGESTS[2]],
    ['approve', 'abcdef01990000000000000', DIGESTS[1]],
    ['approve', `nothing-left-${'5'.repeat(20)}`, `nothing-left-${'5'.repeat(40)}`],
    ['approve', DIGESTS[0], DIGESTS[0]],
    ['approve', '998877', '998877'],
    ['accept-history', '1234568aaaaaaaaaaaaa', LOST[1]],
    ['accept-history', '7777777', '7777777'],
  ])('%s %s means %s', async (command, text = '', whole) => {
    await commands.lines(command, text);
    expect(commands.api.operator.asked).toEqual([[command, '', whole]]);
  });

  it.each([
    ['approve', 'abcdef0', `"abcdef0" may be ${DIGESTS[0]} or ${DIGESTS[1]}: give more digits`],
    // Otherwise an author searches for another change that begins so, and pushes that.
    ...['9988776', '9988776600000000000', 'nothing-left-5555555'].map((text) => [
      ...['approve', text, `"${text}" is too short to approve by`],
    ]),
    ['accept-history', '1234567', '"1234567" is too short to approve by'],
  ])('%s %s is refused', async (command = '', text = '', message) => {
    expect(await commands.failure([command, text])).toContain(message);
    expect(commands.api.operator.asked).toEqual([]);
  });
});

describe('a command fails', () => {
  const TARGETS = 'name exactly one of: an instance, --resource, --provider, --all';
  const WHOLE = 'name exactly one of: an instance, --all';

  it.each<[args: readonly string[], message: string]>([
    [['status', 'no/such'], '/stacks/instances/no%2Fsuch/status/full answered 404: There is no "no/such"'],
    [
      ['suspend', '--all', '--until', 'noon'],
      '/operations/suspend answered 400: "until" has to be a time such as 2026-11-20T10:13:56Z',
    ],
    ...['status', 'why', 'approve', 'resume'].map(
      (name) =>
        [...[[name, ''], 'an argument is empty, probably because of an unset shell variable']] as [string[], string],
    ),
    [['retry', 'shop', '--all'], TARGETS],
    [['retry'], TARGETS],
    [['adopt'], TARGETS],
    [['suspend'], WHOLE],
    [['suspend', '--until', UNTIL], WHOLE],
    [['suspend', 'shop', '--all'], WHOLE],
    ...[
      ['--reason', 'over'],
      ['shop', '--all'],
      ['shop', '--recovery', '7'],
      ['--all', '--recovery', '7'],
    ].map((args): [string[], string] => [['resume', ...args], 'name exactly one of: an instance, --recovery, --all']),
    [['resume', 'shop', '--force'], '--force requires --recovery ID'],
    [['acknowledge', 'shop'], 'name exactly one of: --until, --end'],
    [['acknowledge', 'shop', '--end', '--until', '1h'], 'name exactly one of: --until, --end'],
  ])('for %j', async (args, message) => {
    expect(await commands.failure(args)).toBe(message);
    expect(commands.api.operator.asked).toEqual([]);
  });

  it.each<[role: Role, args: readonly string[], words: string]>([
    ['proxy', ['approve', 'beef'], 'may not operate; that is for administrator'],
    ['automation-endpoint', ['suspend', 'shop'], 'may not operate; that is for administrator'],
    ['proxy', ['retry', '--all'], 'may not retry; that is for administrator and automation-endpoint'],
  ])('as %s: %j', async (role, args, words) => {
    const identity = commands.api.identities[role];
    expect(await commands.failure(args, { identity })).toBe(
      `/operations/${args[0]} answered 403: The role ${role} ${words}`,
    );
  });

  it('without a controller', async () => {
    const { code, stderr } = await treeline(['held']);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('--server') });
  });
});

/** Returns a client's certificate of an authority that holds for a day, so many days from now. */
function clientAt(days: number, authority: KeyPair = commands.api.authority): Promise<KeyPair> {
  const now = Date.now() + days * 24 * 60 * 60 * 1000;
  return issueClientCertificate(authority, { commonName: 'operator', now, days: 1 });
}

const stranger = () => createAuthority({ commonName: 'Somebody else', now: Date.now() });

describe('a failed connection', () => {
  const OTHER = 'have its authority issue another for clients \\("treeline client new"\\), and register that';
  const ended = (words: string) => `cannot be asked: it ended the connection \\(.*\\)${words}`;
  const ownFault = (words: string) => ended(`: \\S+cert ${words}; ${OTHER}$`);

  it.each<[what: string, how: () => Promise<How> | How, message: string]>([
    [
      'an unregistered client',
      async () => ({ identity: await clientAt(0) }),
      '^/operations/held answered 403: No client is registered with serial ',
    ],
    [
      'another server',
      async () => ({ ca: (await stranger()).cert }),
      "^https://\\S+ cannot be asked: \\S+ is not the authority that signed the server's certificate \\(.*\\)$",
    ],
    [
      'a client of another authority',
      async () => ({ identity: await clientAt(0, await stranger()) }),
      ended(', as it does with a certificate that it does not admit: \\S+ has to come from an authority in api\\.tls'),
    ],
    ['an expired client', async () => ({ identity: await clientAt(-2) }), ownFault('has expired at \\S+')],
    [
      'a client certificate that is not valid yet',
      async () => ({ identity: await clientAt(2) }),
      ownFault('is not valid before \\S+ \\(check the clock of this machine\\)'),
    ],
    [
      'a certificate of a server',
      () => ({ identity: { key: commands.api.tls.key, cert: commands.api.tls.cert } }),
      ownFault('is not for clients: its extended key usage lacks clientAuth'),
    ],
    [
      'a certificate of an authority',
      () => ({ identity: commands.api.authority }),
      ownFault('is not for clients: it belongs to an authority \\("CA:TRUE"\\)'),
    ],
    [
      'no listener',
      () => ({ server: 'https://127.0.0.1:1' }),
      '^https://127.0.0.1:1 cannot be asked: nothing listens there \\(.*ECONNREFUSED.*\\): start the controller',
    ],
    ['no host', () => ({ server: 'https://no-such-host.invalid' }), 'cannot be asked: .*check the address'],
    ...['http://127.0.0.1:8443', 'treeline', ''].map((server): [string, () => How, string] => [
      ...(['the address', () => ({ server }), `^--server has to be an https:// address, not "${server}"$`] as const),
    ]),
    [
      'another key',
      () => ({ identity: { ...commands.api.identities.administrator, key: commands.api.identities.proxy.key } }),
      '^\\S+ is not the key of \\S+: give two that were made together$',
    ],
  ])('is reported with advice: %s', async (_what, how, message) => {
    expect(await commands.failure(['held'], await how())).toMatch(new RegExp(message));
  });

  it('is reported for invalid files', async () => {
    const wrong = join(temporaryDirectory(), 'wrong');
    writeFileSync(wrong, 'hello');
    for (const [option = '', file = '', words] of [
      ['--cert', 'no-such.crt', 'no-such.crt cannot be read: it is not there; check --cert'],
      ['--ca', '.', '. cannot be read: it is a folder; check --ca'],
      ['--cert', wrong, 'contains no usable certificate in PEM ('],
      ['--ca', wrong, 'contains no usable certificate in PEM ('],
      ['--key', wrong, 'contains no usable private key in PEM ('],
    ]) {
      const { stderr } = await treeline(['held', ...commands.options(), option, file]);
      expect(stderr).toContain(words);
    }
  });

  it('is reported if the answer breaks off or another program answers', async () => {
    const { key, cert } = commands.api.tls;
    const broken = createServer({ key, cert }, (_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('{', () => response.destroy());
    });
    const other = createServer({ key, cert }, (_request, response) => void response.end('<html>It works!</html>'));
    for (const [server, message] of [
      [broken, /^the answer of https:\S+ broke off \(aborted\): try again$/],
      [other, /^\/operations\/held answered 200: <html>It works!<\/html>$/],
    ] as const) {
      const address = `https://127.0.0.1:${await listenInTest(server)}`;
      expect(await commands.failure(['held'], { server: address })).toMatch(message);
    }
  });
});
