// The commands for a controller that runs: what they ask of it, what they print, and how they fail. Most are run in this
// process against the interface alone; a few as people run them, against a whole controller.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Server as PlainServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAuthority, issueClientCertificate, type KeyPair } from '../../src/base/development-pki.ts';
import { CommandFailure } from '../../src/cli/command-failure.ts';
import { addOperationCommands } from '../../src/cli/operation-commands.ts';
import { addStatusCommand } from '../../src/cli/status-command.ts';
import { addWhyCommand } from '../../src/cli/why-command.ts';
import type { Role } from '../../src/model/names.ts';
import type { Problem } from '../../src/model/problem.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { InstanceStatus, State } from '../../src/model/state.ts';
import { pageWords } from '../../src/page/serve-page.ts';
import type { AttentionItem, HeldItem, StateCounts, WaitingItem, Why } from '../../src/service/answers.ts';
import { heldIn, push, upAndDone } from '../scenario/scene.ts';
import { instanceText, OFFICE, SHOP } from '../scenario/stacks.ts';
import { treeline } from '../support/command-here.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { WHY } from '../support/sample-operator.ts';
import { COMMIT } from '../support/sample-reader.ts';
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
  addWhyCommand(command);
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

const UNTIL = '2026-11-20T18:00:00Z';

describe('what is asked by', () => {
  it.each<[args: string, asked: readonly unknown[]]>([
    ['approve beef', ['approve', '', 'beef']],
    ['approve beef --reason meant', ['approve', 'meant', 'beef']],
    ['accept-history c0ffee', ['accept-history', '', 'c0ffee']],
    ['suspend --all', ['suspend', '', { instance: null, until: null }]],
    ['suspend shop', ['suspend', '', { instance: 'shop', until: null }]],
    [`suspend shop --until ${UNTIL} --reason sale`, ['suspend', 'sale', { instance: 'shop', until: UNTIL }]],
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
  ])('treeline %s', async (args, asked) => {
    expect(await run(...args.split(' '), ...options())).toBe('so it is\n');
    expect(api.operator.asked).toEqual([asked]);
  });
});

/** Returns a client's certificate that holds for a day, so many days from now. */
function clientAt(days: number): Promise<KeyPair> {
  const now = Date.now() + days * 24 * 60 * 60 * 1000;
  return issueClientCertificate(api.authority, { commonName: 'operator', now, days: 1 });
}

/** Returns the address of a server that listens until the test is over. */
async function addressOf(server: Server | PlainServer): Promise<string> {
  return `https://127.0.0.1:${await listenInTest(server)}`;
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
      commit: COMMIT,
    },
    {
      ...{ kind: 'history', digest: 'history-c0ffee', instance: null, resources: [], commit: null },
      ...{ reason: 'the history was rewritten', since: '2026-11-20T10:13:57.000Z' },
    },
    {
      ...{
        kind: 'history',
        digest: 'history-c0ffee',
        instance: null,
        resources: [],
        commit: null,
        check: 'set it back',
      },
      ...{ reason: 'the layout was not moved', since: '2026-11-20T10:13:58.000Z' },
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
      `    commit: ${COMMIT}, by A\\u001b[2J Person`,
      '    servers: shop-web-1, shop-web-2',
      '    release with: treeline approve beef',
      'commit: history, since 2026-11-20T10:13:57.000Z',
      '    the history was rewritten',
      '    release with: treeline accept-history c0ffee',
      'commit: history, since 2026-11-20T10:13:58.000Z',
      '    the layout was not moved',
      '    release with: set it back; if it is meant: treeline accept-history c0ffee',
      '',
    ]);
    expect(JSON.parse(await run('held', '--format', 'json', ...options()))).toEqual({
      held: HELD.map((item) => ({ ...item, author: 'A\u001b[2J Person' })),
    });
  });
});

describe('treeline problems', () => {
  it('prints the commit, and each problem as treeline validate does', async () => {
    const { problems } = api.operator;
    onTestFinished(() => {
      api.operator.problems = problems;
    });
    expect(await run('problems', ...options())).toBe(`nothing is wrong in ${'c'.repeat(40)}\n`);
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

  it('shows what a terminal would obey, or take for a line of its own, as it is escaped in JSON', async () => {
    const { problems } = api.operator;
    onTestFinished(() => {
      api.operator.problems = problems;
    });
    const hostile = { file: 'a\u001b]0;x\u0007\nb:1:1: error', message: 'm\u009b31m\u202e', hint: null };
    const problem: Problem = { code: 'bad_name', severity: 'error', line: 1, column: 1, pointer: '', ...hostile };
    api.operator.problems = () => ({ commit: 'c0ffee', problems: [problem] });
    expect((await run('problems', ...options())).split('\n').slice(1)).toEqual([
      'a\\u001b]0;x\\u0007\\u000ab:1:1: error:1:1: error: m\\u009b31m\\u202e [bad_name]',
      '',
    ]);
    const json = await run('problems', '--format', 'json', ...options());
    expect(json).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
    expect(JSON.parse(json)).toEqual({ commit: 'c0ffee', problems: [problem] });
  });
});

/** Returns the last lines of the status of all instances, which end with the page. */
function withPage(lines: readonly string[], server = `https://127.0.0.1:${api.server.port}`): readonly string[] {
  return [...lines.filter((line) => line !== ''), `page ${server}/ui/`, `    ${pageWords(null)}`, ''];
}

describe('treeline status', () => {
  it('prints every instance, or the servers of one', async () => {
    const summary = 'shop-web is creating: the provider entry "lab" carries out the create';
    const foot = ['servers: 1 creating, 2 done', `commit ${COMMIT} is followed`, ''];
    expect((await run('status', ...options())).split('\n')).toEqual([
      `shop: In progress: ${summary}`,
      ...withPage(foot),
    ]);
    expect((await run('status', 'shop', ...options())).split('\n')).toEqual([
      `shop: In progress: ${summary}`,
      '  web  shop-web: done',
      ...foot,
    ]);
    const { status } = api.operator;
    expect(JSON.parse(await run('status', '--format', 'json', ...options()))).toEqual(status);
    const { commit, newest, held, attention } = status;
    expect(JSON.parse(await run('status', 'shop', '--format', 'json', ...options()))).toEqual({
      ...{ ...status.instances[0], commit, newest, held, attention },
      resources: { web: { 'shop-web': { state: 'done' } }, workers: {} },
    });
  });

  describe('with something that needs an operator', () => {
    const since = '2026-11-20T10:13:57.000Z';
    const until = '2026-11-21T10:13:57.000Z';
    const facts = { instances: ['shop'], servers: { count: 1, examples: ['shop-db'] }, acknowledged: null };
    const open: AttentionItem = {
      ...{ ...facts, id: 'failed:shop', kind: 'failed', reason: 'shop-db is failed: no image\nfatal', since },
      action: 'treeline retry shop',
    };
    const known: AttentionItem = {
      ...{ ...facts, id: 'drifted:app', kind: 'drifted', instances: ['app'], reason: 'app-1 is drifted', since: null },
      ...{ action: null, acknowledged: { by: 'Ada (A1)', until, reason: 'the disks' } },
    };
    const outside: AttentionItem = { ...open, id: 'commit:wrong', kind: 'commit', instances: [], reason: 'wrong' };
    const done = { name: 'app', status: 'Done', summary: 'its server is done', counts: { done: 1 } } as const;

    async function shown(attention: readonly AttentionItem[], ...args: readonly string[]): Promise<unknown> {
      const { status } = api.operator;
      const [shop] = status.instances;
      api.operator.status = { ...status, attention, attentionLeftOut: 3, instances: [done, ...(shop ? [shop] : [])] };
      const { code, stdout } = await treeline(['status', ...args, ...options()]);
      api.operator.status = status;
      return { code, lines: stdout.split('\n') };
    }

    const summary = 'shop: In progress: shop-web is creating: the provider entry "lab" carries out the create';
    const foot = ['servers: 1 creating, 2 done', `commit ${COMMIT} is followed`, ''];

    it('prints that first, and below it what is acknowledged', async () => {
      const head = [
        'needs an operator:',
        `  failed:shop, since ${since}`,
        '    shop-db is failed: no image',
        '    | fatal',
        '    do: treeline retry shop',
      ];
      const below = [
        'acknowledged:',
        '  drifted:app',
        '    app-1 is drifted',
        `    acknowledged by Ada (A1) until ${until}: the disks`,
        '',
      ];
      expect(await shown([open, known])).toEqual({
        code: 0,
        lines: [...head, '  and 3 more', ...below, 'app: Done', summary, ...withPage(foot)],
      });
      expect(await shown([open, known], 'shop')).toEqual({
        code: 0,
        lines: [...head, '', summary, '  web  shop-web: done', ...foot],
      });
    });

    it('prints with --problems only what is not done', async () => {
      expect(await shown([], '--problems')).toEqual({ code: 0, lines: ['  and 3 more', summary, ...withPage(foot)] });
      expect(await shown([], 'shop', '--problems')).toEqual({ code: 0, lines: [summary, ...foot] });
    });

    it.each<[string, number, readonly AttentionItem[], readonly string[]]>([
      ['something', 1, [open, known], []],
      ['what is acknowledged alone', 0, [known], []],
      ['nothing', 0, [], []],
      ['something of this instance', 1, [open], ['shop']],
      ['something of another instance', 0, [{ ...open, instances: ['app'] }], ['shop']],
      ['something of no instance in particular', 1, [outside], ['shop']],
    ])('ends with --exit-code by it: %s', async (_what, code, attention, args) => {
      expect(await shown(attention, ...args, '--exit-code')).toMatchObject({ code });
    });
  });
});

describe('treeline acknowledge', () => {
  it('takes a time, or a span from now, and ends what is acknowledged', async () => {
    api.operator.asked.length = 0;
    const before = Date.now();
    await run('acknowledge', 'shop', '--until', '90m', '--reason', 'the disks', ...options());
    await run('acknowledge', 'shop', '--until', '2026-11-21T10:13:57Z', ...options());
    await run('acknowledge', 'shop', '--end', ...options());
    const [first = [], ...others] = api.operator.asked.splice(0);
    const { until } = first[2] as { readonly until: string };
    expect(first).toEqual(['acknowledge', 'the disks', { instance: 'shop', until }]);
    expect(Math.abs(Date.parse(until) - before - 90 * 60_000)).toBeLessThan(60_000);
    expect(others).toEqual([
      ['acknowledge', '', { instance: 'shop', until: '2026-11-21T10:13:57Z' }],
      ['acknowledge', '', { instance: 'shop', until: null }],
    ]);
  });

  it.each([[[]], [['--end', '--until', '1h']]])('takes one of the two: %j', async (args) => {
    const { code, stderr } = await treeline(['acknowledge', 'shop', ...args, ...options()]);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining('name exactly one of: --until, --end'),
    });
  });
});

describe('several replicas', () => {
  const leader = { name: 'host-1', since: '2026-11-20T10:13:56.000Z', fencing: 7 };
  const lag = { reason: 'the remote cannot be reached\nfatal', since: '2026-11-20T10:14:56.000Z' };
  const led = `the replica host-1 leads since ${leader.since}, with the fencing number 7`;
  const nobody = 'no replica is known to lead; this is what the replica shows that was asked';

  it.each([
    [{ leader }, [led]],
    [{ leader, lag }, [led, `since ${lag.since}: the remote cannot be reached`]],
    [
      { leader: null, lag: { ...lag, sinceStart: true as const } },
      [nobody, `since its start, ${lag.since}: the remote`],
    ],
  ])('%j is told by status and why', async (replicas, lines) => {
    const { why, status } = api.operator;
    onTestFinished(() => {
      Object.assign(api.operator, { why, status });
    });
    api.operator.status = { ...status, ...replicas };
    api.operator.why = (...asked) => ({ ...why(...asked), ...replicas });
    for (const command of [['status'], ['status', 'shop'], ['why', 'shop']]) {
      const printed = await run(...command, ...options());
      for (const line of lines) expect(printed).toContain(line);
      expect(JSON.parse(await run(...command, '--format', 'json', ...options()))).toMatchObject(replicas);
    }
  });
});

describe('treeline why', () => {
  it('prints the three values of what differs as a table', async () => {
    const { why } = api.operator;
    onTestFinished(() => {
      api.operator.why = why;
    });
    const since = '2026-11-20T10:13:57.000Z';
    const drifted: WaitingItem = {
      ...{ resource: 'shop-db', state: 'drifted', reason: 'drifted: differs in peers, size', since, until: null },
      action: 'treeline retry --resource shop-db',
      difference: [
        { property: 'peers', applied: ['a'], observed: ['a', 'b'], wanted: ['a'] },
        { property: 'size', applied: 'small', observed: 'large', wanted: 'small' },
      ],
    };
    api.operator.why = () => ({ status: 'Drifted', summary: '', counts: { drifted: 1 }, waiting: [drifted] });
    expect((await run('why', 'shop', ...options())).split('\n').slice(3, 8)).toEqual([
      '    drifted: differs in peers, size',
      '    property  applied  observed   wanted',
      '    peers     ["a"]    ["a","b"]  ["a"]',
      '    size      "small"  "large"    "small"',
      '    do: treeline retry --resource shop-db',
    ]);
  });

  it('prints lines of a provider so that none looks like one of its own, in the status as well', async () => {
    const { why, status: overview } = api.operator;
    onTestFinished(() => {
      Object.assign(api.operator, { why, status: overview });
    });
    const reason = 'action_failed: no image\n    do: treeline retain shop-db\nother: Done';
    const failed: WaitingItem = {
      ...{ resource: 'shop-db', state: 'failed', reason, since: null, until: null },
      action: 'treeline retry --resource shop-db',
    };
    const summary = `shop-db is failed: ${reason}`;
    const shown = { status: 'Failed', summary, counts: { failed: 1 } } as const;
    api.operator.why = () => ({ ...shown, waiting: [failed] });
    expect((await run('why', 'shop', ...options())).split('\n').slice(2, 7)).toEqual([
      'shop-db: failed',
      '    action_failed: no image',
      '    |     do: treeline retain shop-db',
      '    | other: Done',
      '    do: treeline retry --resource shop-db',
    ]);
    const counts = { failed: 1 };
    api.operator.status = { ...overview, newest: null, held: [], counts, instances: [{ name: 'shop', ...shown }] };
    const [line, next] = (await run('status', ...options())).split('\n');
    expect(line).toBe('shop: Failed: shop-db is failed: action_failed: no image …');
    expect(next).toBe('servers: 1 failed');
  });

  it('prints what is waited for, since when, until when, and what to do', async () => {
    const { why } = api.operator;
    onTestFinished(() => {
      api.operator.why = why;
    });
    const since = '2026-11-20T10:13:57.000Z';
    const failed: WaitingItem = {
      ...{ resource: 'shop-db', state: 'failed', reason: 'action_failed: no such image', since },
      ...{ until: '2026-11-20T11:13:57.000Z', action: 'treeline retry --resource shop-db' },
    };
    const suspended: WaitingItem = {
      ...{ resource: null, state: 'Suspended', reason: 'Ada suspended shop', since, until: null },
      action: 'treeline resume shop',
    };
    const answer: Why = {
      ...{ status: 'Suspended', summary: 'Ada suspended shop', counts: { failed: 60, done: 1 } },
      waiting: [
        suspended,
        ...Array.from({ length: 60 }, (_, index) => ({ ...failed, reason: `${failed.reason} ${index}` })),
      ],
    };
    api.operator.why = () => answer;
    const lines = (await run('why', 'shop', ...options())).split('\n');
    expect(lines.slice(0, 8)).toEqual([
      'shop: Suspended',
      'servers: 60 failed, 1 done',
      `Suspended, since ${since}`,
      '    Ada suspended shop',
      '    do: treeline resume shop',
      `shop-db: failed, since ${since}, tried again at 2026-11-20T11:13:57.000Z`,
      '    action_failed: no such image 0',
      '    do: treeline retry --resource shop-db',
    ]);
    expect(lines.slice(-2)).toEqual(['and 11 more that are not done', '']);
    expect(JSON.parse(await run('why', 'shop', '--format', 'json', ...options()))).toEqual(answer);
  });

  it('prints servers with one reason together', async () => {
    const { why } = api.operator;
    onTestFinished(() => {
      api.operator.why = why;
    });
    const item = (index: number, state: State, action: string | null): WaitingItem => ({
      ...{ resource: `web-${index}`, state, reason: state === 'failed' ? 'no image' : 'waits for db', action },
      since: `2026-11-20T10:13:5${9 - index}.000Z`,
      until: state === 'failed' ? `2026-11-20T11:13:5${9 - index}.000Z` : null,
    });
    const failed = [1, 2, 3, 4].map((index) => item(index, 'failed', `treeline retry --resource web-${index}`));
    const waiting = [...failed, item(5, 'pending', null), item(6, 'pending', null)];
    api.operator.why = () => ({ status: 'Failed', summary: '', counts: { failed: 4, pending: 2 }, waiting });
    expect((await run('why', 'shop', ...options())).split('\n').slice(2)).toEqual([
      '4 servers (web-1, web-2, web-3 …): failed, since 2026-11-20T10:13:55.000Z, tried again at 2026-11-20T11:13:55.000Z',
      '    no image',
      '    do: treeline retry shop',
      '2 servers (web-5, web-6): pending, since 2026-11-20T10:13:53.000Z',
      '    waits for db',
      '',
    ]);
    expect(JSON.parse(await run('why', 'shop', '--format', 'json', ...options())).waiting).toEqual(waiting);
  });

  it('says in one line that all is done', async () => {
    const { why } = api.operator;
    onTestFinished(() => {
      api.operator.why = why;
    });
    api.operator.why = () => ({ status: 'Done', summary: 'its server is done', counts: { done: 1 }, waiting: [] });
    expect(await run('why', 'shop', ...options())).toBe('shop: Done: its server is done\nservers: 1 done\n');
  });
});

describe('treeline status --wait', () => {
  const OID = '0123456789abcdef0123456789abcdef01234567';

  /** Has the interface answer these statuses of `shop`, one after the other, until the test is over. */
  function answering(...statuses: readonly (readonly [InstanceStatus, StateCounts])[]): void {
    const { overview } = api.operator;
    const { reached } = api.commits;
    onTestFinished(() => {
      Object.assign(api.operator, { overview });
      Object.assign(api.commits, { reached });
      process.exitCode = undefined;
    });
    api.commits.asked.length = 0;
    let asked = -1;
    api.operator.overview = () => {
      asked += 1;
      const [status = 'Done', counts = {}] = statuses[Math.min(asked, statuses.length - 1)] ?? [];
      const { summary } = WHY;
      const shop = { name: 'shop', status, summary, counts };
      return { ...api.operator.status, instances: statuses.length === 0 ? [] : [shop] };
    };
  }

  it('ends with 0 once the commit is followed and all is done', async () => {
    answering(['In progress', { pending: 1 }], ['In progress', { creating: 1 }], ['Done', { done: 1 }]);
    await run('status', '--wait', OID, ...options());
    expect(new Set(api.commits.asked)).toEqual(new Set([OID]));
    expect(process.exitCode).toBeUndefined();
  });

  it('prints once what it waits for, and of many instances the first, on the standard error', async () => {
    answering(['In progress', { pending: 1 }], ['In progress', { creating: 1 }], ['Done', { done: 1 }]);
    const told = await stderrOf(() => run('status', '--wait', OID, ...options()));
    expect(told).toBe(`waiting until ${OID} is followed\nwaiting for shop (In progress)\n`);
    const shop = { status: 'In progress', summary: '', counts: {} } as const;
    const instances = Array.from({ length: 25 }, (_, index) => ({ ...shop, name: `shop-${index}` }));
    api.operator.overview = () => ({ ...api.operator.status, instances });
    const many = await stderrOf(() => run('status', '--wait', OID, '--timeout', '1', ...options()));
    expect(many).toContain('shop-4 (In progress) and 20 more\n');
  });

  it.each<[InstanceStatus, StateCounts]>([
    ['Failed', { failed: 1, pending: 2 }],
    ['Blocked', { blocked: 1 }],
    ['Invalid', { done: 1 }],
    ['Suspended', { pending: 1 }],
    ['Awaiting approval', { done: 1 }],
    ['Drifted', { drifted: 1 }],
    ['Marked for delete', { failed: 1, 'marked for delete': 1 }],
  ])('ends with 1 where it comes to %s', async (status, counts) => {
    answering(['In progress', { pending: 1 }], [status, counts]);
    const printed = await run('status', 'shop', '--wait', OID, ...options());
    expect(process.exitCode).toBe(1);
    expect(printed).toContain('shop: ');
  });

  it('ends with 1 when the time is over', async () => {
    answering(['Marked for delete', { deleting: 1 }]);
    const told = await stderrOf(() => run('status', '--wait', OID, '--timeout', '1', ...options()));
    const lines = `waiting until ${OID} is followed\nwaiting for shop (Marked for delete)\n`;
    expect([process.exitCode, told]).toEqual([1, `${lines}treeline: still in progress after 1 s\n`]);
  });

  it('ends with 1 where the commit is not followed, and says why', async () => {
    answering(['Done', { done: 1 }]);
    const { overview } = api.operator;
    api.commits.reached = () => Promise.reject(new ServiceError('not_ready', 'not followed'));
    api.operator.overview = (by) => ({
      ...overview(by),
      newest: { commit: OID, reason: 'it is wrong', since: '', action: 'treeline problems' },
    });
    const told = await stderrOf(() => run('status', '--wait', OID, ...options()));
    expect([process.exitCode, told]).toEqual([
      1,
      `waiting until ${OID} is followed\ntreeline: the commit ${OID} is not followed: it is wrong; do: treeline problems\n`,
    ]);
  });

  it('says while it waits, and once, that the repository cannot be read, and why', async () => {
    answering(['Done', { done: 1 }]);
    const { overview } = api.operator;
    api.commits.reached = () => Promise.reject(new ServiceError('not_ready', 'not followed'));
    const repository = { reason: 'git.example cannot be reached\nfatal: no route', since: '2026-11-20T10:13:57.000Z' };
    api.operator.overview = (by) => ({ ...overview(by), repository });
    const told = await stderrOf(() => run('status', '--wait', OID, '--timeout', '2', ...options()));
    expect(told.split('\n')).toEqual([
      `waiting until ${OID} is followed`,
      `the repository could not be followed since ${repository.since}: git.example cannot be reached …`,
      `treeline: the commit ${OID} is not followed after 2 s`,
      '',
    ]);
  });

  it('says at once, and once, why nothing is followed yet', async () => {
    answering();
    const refuse = (): never => {
      throw new ServiceError('not_ready', 'No good commit has been read yet: there is no branch "mian"');
    };
    api.commits.reached = refuse;
    api.operator.overview = refuse;
    const reason = '/operations/status answered 503: No good commit has been read yet: there is no branch "mian"';
    const wait = (): Promise<string> => run('status', '--wait', OID, '--timeout', '2', ...options());
    const told = await stderrOf(() => expect(wait()).rejects.toThrow(reason));
    expect(told.split('\n')).toEqual([
      `waiting until ${OID} is followed`,
      reason,
      `treeline: the commit ${OID} is not followed after 2 s`,
      '',
    ]);
    expect(process.exitCode).toBe(1);
  });

  it('ends with 0 for an instance that goes meanwhile, and fails for one that was never there', async () => {
    answering(['Marked for delete', { deleting: 1 }]);
    const { overview } = api.operator;
    let asked = 0;
    api.operator.overview = (by) => {
      asked += 1;
      return asked < 3 ? overview(by) : { ...overview(by), instances: [] };
    };
    expect(await run('status', 'shop', '--wait', OID, ...options())).toBe('shop: gone\n');
    expect(process.exitCode).toBeUndefined();
    await expect(run('status', 'shop', '--wait', OID, ...options())).rejects.toThrow(
      'there is no stack instance "shop" at that commit',
    );
  });

  it.each([
    [
      '--wait',
      'no-such-branch',
      'names no commit that begins with "no-such-branch", and the repository in this folder',
    ],
    [
      '--wait',
      'abcdef0',
      'names no commit that begins with "abcdef0", and the repository in this folder does not know it',
    ],
    ['--timeout', '0', '--timeout takes a number of seconds from 1 to 86400, not "0"'],
    ['--timeout', 'soon', '--timeout takes a number of seconds from 1 to 86400, not "soon"'],
  ])('%s %s is refused', async (name, value, message) => {
    await expect(run('status', name, value, ...options())).rejects.toThrow(message);
  });
});

describe('an id that is short', () => {
  const held = (digest: string, kind: HeldItem['kind'] = 'deletes'): HeldItem => {
    return {
      kind,
      digest,
      instance: null,
      reason: 'many',
      since: '2026-11-20T10:13:56.000Z',
      resources: [],
      commit: null,
    };
  };
  const DIGESTS = ['abcdef0123', 'abcdef0199', '99887766'].map((start) => start.padEnd(64, '0'));
  const LOST = ['1234567', '1234568'].map((start) => start.padEnd(40, 'a'));

  beforeEach(() => {
    const { held: before } = api.operator;
    onTestFinished(() => {
      api.operator.held = before;
    });
    const items = [...DIGESTS.map((digest) => held(digest)), ...LOST.map((oid) => held(`history-${oid}`, 'history'))];
    api.operator.held = () => [...items, held(`nothing-left-${'5'.repeat(40)}`, 'nothing left')];
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
    await run(command, text, ...options());
    expect(api.operator.asked).toEqual([[command, '', whole]]);
  });

  it('is refused where it may be several, with all of them', async () => {
    const message = `"abcdef0" may be ${DIGESTS[0]} or ${DIGESTS[1]}: give more digits`;
    await expect(run('approve', 'abcdef0', ...options())).rejects.toThrow(message);
    await expect(run('accept-history', '123456', ...options())).resolves.toBeDefined();
    expect(api.operator.asked).toEqual([['accept-history', '', '123456']]);
  });

  it.each([
    ['approve', '9988776'],
    ['approve', '9988776600000000000'],
    ['approve', 'nothing-left-5555555'],
    ['accept-history', '1234567'],
  ])('approves nothing by %s %s: who pushes finds another change that begins so', async (command, text) => {
    await expect(run(command, text, ...options())).rejects.toThrow(`"${text}" is too short to approve by`);
    expect(api.operator.asked).toEqual([]);
  });

  it('of a commit is one that the controller names, or that the repository here knows', async () => {
    const wait = () => run('status', '--wait', COMMIT.slice(0, 7), '--timeout', '1', ...options());
    expect(await stderrOf(wait)).toContain(`waiting until ${COMMIT} is followed`);
    const folder = import.meta.dirname;
    const head = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).stdout.trim();
    vi.stubEnv('INIT_CWD', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const waitHead = () => run('status', '--wait', 'HEAD', '--timeout', '1', ...options());
    expect(await stderrOf(waitHead)).toContain(`waiting until ${head} is followed`);
  });
});

/** Returns what is written to the standard error meanwhile. */
async function stderrOf(work: () => Promise<unknown>): Promise<string> {
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return written.join('');
}

describe('a command fails', () => {
  async function failure(...args: readonly string[]): Promise<string> {
    const error: unknown = await run(...args).catch((thrown: unknown) => thrown);
    if (error instanceof CommandFailure) return error.message;
    throw new Error(`it did not fail as a command does: ${error}`);
  }

  it.each<[role: Role, args: readonly string[], words: string]>([
    ['proxy', ['approve', 'beef'], 'The role proxy may not operate; that is for administrator'],
    [
      'automation-endpoint',
      ['suspend', 'shop'],
      'The role automation-endpoint may not operate; that is for administrator',
    ],
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
      ['suspend', '--all', '--until', 'noon'],
      '/operations/suspend answered 400: "until" has to be a time such as 2026-11-20T10:13:56Z',
    ],
    ...[
      ['status', ''],
      ['why', ''],
      ['approve', ''],
      ['resume', ''],
    ].map((args): [string, readonly string[], string] => [
      `with an empty argument: ${args[0]}`,
      args,
      'an argument is empty: a shell variable that is not set makes such a one',
    ]),
    ['with two targets', ['retry', 'shop', '--all'], 'name exactly one of: an instance, --resource, --provider, --all'],
    ['with no target', ['retry'], 'name exactly one of: an instance, --resource, --provider, --all'],
    ['with nothing to suspend', ['suspend'], 'name exactly one of: an instance, --all'],
    ['with nothing to suspend until a time', ['suspend', '--until', UNTIL], 'name exactly one of: an instance, --all'],
    ['with two to suspend', ['suspend', 'shop', '--all'], 'name exactly one of: an instance, --all'],
    ['with nothing to resume', ['resume', '--reason', 'over'], 'name exactly one of: an instance, --all'],
    ['with two to resume', ['resume', 'shop', '--all'], 'name exactly one of: an instance, --all'],
    ['with no target to adopt', ['adopt'], 'name exactly one of: an instance, --resource, --provider, --all'],
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
      /^https:\/\/127\.0\.0\.1:\d+ cannot be asked: \S+ is not the authority that signed the server's certificate \(.*\)$/,
    );
  });

  it('where its own certificate is of somebody else', async () => {
    const authority = await createAuthority({ commonName: 'Somebody else', now: Date.now() });
    const stranger = await issueClientCertificate(authority, { commonName: 'stranger', now: Date.now() });
    expect(await failure('held', ...options({ identity: stranger }))).toMatch(
      /cannot be asked: it ended the connection \(.*\), as it does with a certificate that it does not admit: \S+ has to come from an authority in api\.tls\.clientCa of the controller, and not be revoked$/,
    );
  });

  const OTHER = 'have its authority issue another for clients \\("treeline client new"\\), and register that';
  it.each<[what: string, make: () => KeyPair | Promise<KeyPair>, words: string]>([
    ['has expired', () => clientAt(-2), 'has expired at \\S+'],
    ['does not hold yet', () => clientAt(2), 'does not hold before \\S+ \\(is the clock of this machine right\\?\\)'],
    [
      'was made for servers',
      () => ({ key: api.tls.key, cert: api.tls.cert }),
      'was not made for clients: its extended key usage lacks clientAuth',
    ],
    [
      'is the one of the authority',
      () => api.authority,
      'was not made for clients: it is the one of an authority \\("CA:TRUE"\\)',
    ],
  ])('where its own certificate %s', async (_what, make, words) => {
    expect(await failure('held', ...options({ identity: await make() }))).toMatch(
      new RegExp(`cannot be asked: it ended the connection \\(.*\\): \\S+client\\.crt ${words}; ${OTHER}$`),
    );
  });

  it('where nobody answers', async () => {
    expect(await failure('held', ...options({ server: 'https://127.0.0.1:1' }))).toMatch(
      /^https:\/\/127\.0\.0\.1:1 cannot be asked: nothing listens there \(.*ECONNREFUSED.*\): start the controller/,
    );
  });

  it('where no host has that name', async () => {
    expect(await failure('held', ...options({ server: 'https://no-such-host.invalid' }))).toMatch(
      /cannot be asked: .*check the address/,
    );
  });

  it.each(['http://127.0.0.1:8443', 'treeline', 'ftp://treeline', ''])('for the address "%s"', async (server) => {
    expect(await failure('held', ...options({ server }))).toBe(
      `--server has to be an https:// address, not "${server}"`,
    );
  });

  it('for a file that is not there, and for one that holds no certificate', async () => {
    const given = options();
    expect(await failure('held', ...given, '--cert', 'no-such.crt')).toBe(
      'no-such.crt cannot be read: it is not there; check --cert',
    );
    expect(await failure('held', ...given, '--ca', '.')).toBe('. cannot be read: it is a folder; check --ca');
    const wrong = join(temporaryDirectory(), 'wrong.crt');
    writeFileSync(wrong, 'hello');
    for (const option of ['--cert', '--ca']) {
      expect(await failure('held', ...given, option, wrong)).toMatch(
        /wrong\.crt contains no usable certificate in PEM \(/,
      );
    }
    expect(await failure('held', ...given, '--key', wrong)).toMatch(
      /wrong\.crt contains no usable private key in PEM \(/,
    );
  });

  it('for a key that is not that of the certificate', async () => {
    const { key } = api.identities.proxy;
    const { cert } = api.identities.administrator;
    expect(await failure('held', ...options({ identity: { key, cert } }))).toMatch(
      /^\S+ is not the key of \S+: give two that /,
    );
  });

  it('where the answer breaks off', async () => {
    const server = createServer({ key: api.tls.key, cert: api.tls.cert }, (_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('{', () => response.destroy());
    });
    expect(await failure('held', ...options({ server: await addressOf(server) }))).toMatch(
      /^the answer of https:\S+ broke off \(aborted\): ask again$/,
    );
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
    const commit = await push(scene, { [SHOP]: instanceText('shop', 1), [OFFICE]: 'stackTemplate: wbe\n' });
    const given = commandLineOptions(scene.site, scene.running);
    const [, server = '', , cert = '', , key = '', , ca = ''] = given;
    const env = { TREELINE_SERVER: server, TREELINE_CERT: cert, TREELINE_KEY: key, TREELINE_CA: ca };
    const [held, problems, status, servers, why] = await Promise.all([
      treeline(['held'], { env }),
      treeline(['problems'], { env }),
      treeline(['status', '--wait', commit], { env }),
      treeline(['status', 'office', '--format', 'json'], { env }),
      treeline(['why', 'office'], { env }),
    ]);
    const [item] = await heldIn(scene);
    expect(held).toEqual({
      code: 0,
      stdout: [
        `shop: unreadable, since ${item?.since}`,
        `    ${item?.reason}`,
        `    commit: ${commit}, by Test`,
        '    servers: shop-web-2, shop-web-3, shop-web-4',
        `    release with: treeline approve ${item?.digest}`,
        '',
      ].join('\n'),
      stderr: '',
    });
    expect(problems.stdout).toContain('stacks/instances/office.yaml:1:16: error: there is no stack template "wbe"');
    expect(status.code).toBe(1);
    expect(status.stderr.split('\n')).toEqual([`waiting until ${commit} is followed`, '']);
    const mistake = 'stacks/instances/office.yaml:1:16: there is no stack template "wbe" (did you mean "web"?)';
    const deleted = `${item?.reason}; an approval deletes shop-web-2, shop-web-3, shop-web-4`;
    expect(status.stdout.split('\n')).toEqual([
      'needs an operator:',
      `  held:shop, since ${item?.since}`,
      `    ${deleted}`,
      `    do: treeline approve ${item?.digest}; if that is not intended, revert ${commit}`,
      `  invalid:stacks/instances/office.yaml, since ${item?.since}`,
      `    the newest version of office is wrong: ${mistake} [unknown_template]`,
      '    do: correct stacks/instances/office.yaml, and push',
      '',
      `office: Invalid: the newest version of office is wrong: ${mistake} [unknown_template]`,
      `shop: Awaiting approval: ${deleted}`,
      'servers: 7 done',
      `commit ${commit} is followed, by Test`,
      ...withPage([], server),
    ]);
    expect(why).toMatchObject({ code: 0, stdout: expect.stringContaining('do: correct stacks/instances/office.yaml') });
    expect(JSON.parse(servers.stdout).resources).toEqual({
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
    expect(suspended).toEqual({ code: 0, stdout: 'office is suspended until an operator resumes it\n', stderr: '' });
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
  }, 60_000);

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
