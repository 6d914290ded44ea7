// `treeline status` and `treeline why`: what they print, what --wait waits for, and how they end.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { screenOf } from '../../src/cli/output.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { InstanceStatus, State } from '../../src/model/state.ts';
import { pageWords } from '../../src/page/serve-page.ts';
import type { AttentionItem, Overview, StateCounts, WaitingItem, Why } from '../../src/service/answers.ts';
import { treeline } from '../support/command-here.ts';
import { BUNDLED } from '../support/command-line.ts';
import { WHY } from '../support/sample-operator.ts';
import { COMMIT } from '../support/sample-reader.ts';
import { CommandsHere } from './commands-here.ts';

const commands = new CommandsHere();

const SHOP = 'shop: In progress: shop-web is creating: the provider entry "lab" carries out the create';
const FOOT = ['servers: 1 creating, 2 done', `commit ${COMMIT} is followed`];
const SINCE = '2026-11-20T10:13:57.000Z';

/** The last lines of the status of all instances. */
function page(): readonly string[] {
  return [`page https://127.0.0.1:${commands.api.server.port}/ui/`, `    ${pageWords(null)}`];
}

describe('treeline status', () => {
  it('prints every instance, or the servers of one', async () => {
    expect(await commands.lines('status')).toEqual([SHOP, ...FOOT, ...page()]);
    expect(await commands.lines('status', 'shop')).toEqual([SHOP, '  web  shop-web: done', ...FOOT]);
    const { status } = commands.api.operator;
    expect(await commands.json('status')).toEqual(status);
    const { instances, ...others } = status;
    const resources = { web: { 'shop-web': { state: 'done' } }, workers: {} };
    expect(await commands.json('status', 'shop')).toEqual({ ...others, ...instances[0], resources });
  });

  const UNTIL = '2026-11-21T10:13:57.000Z';
  const FACTS = { instances: ['shop'], servers: { count: 1, examples: ['shop-db'] }, acknowledged: null };
  const OPEN: AttentionItem = {
    ...FACTS,
    id: 'failed:shop',
    kind: 'failed',
    reason: 'shop-db is failed: no image\nfatal',
    since: SINCE,
    action: 'treeline retry shop',
  };
  const KNOWN: AttentionItem = {
    ...FACTS,
    id: 'drifted:app',
    kind: 'drifted',
    instances: ['app'],
    reason: 'app-1 is drifted',
    since: null,
    action: null,
    acknowledged: { by: 'Ada (A1)', until: UNTIL, reason: 'the disks' },
  };
  const OUTSIDE: AttentionItem = { ...OPEN, id: 'commit:wrong', kind: 'commit', instances: [], reason: 'wrong' };

  function needing(attention: readonly AttentionItem[]): void {
    const { status } = commands.api.operator;
    const done = { name: 'app', status: 'Done', summary: 'its server is done', counts: { done: 1 } } as const;
    const instances = [done, ...status.instances];
    commands.answer('operator', { status: { ...status, attention, attentionLeftOut: 3, instances } });
  }

  it('prints open causes first, and then acknowledged ones', async () => {
    needing([OPEN, KNOWN]);
    const head = [
      'needs an operator:',
      `  failed:shop, since ${SINCE}`,
      '    shop-db is failed: no image',
      '    | fatal',
      '    do: treeline retry shop',
    ];
    const below = [
      'acknowledged:',
      '  drifted:app',
      '    app-1 is drifted',
      `    acknowledged by Ada (A1) until ${UNTIL}: the disks`,
      '',
    ];
    const all = [...head, '  and 3 more', ...below, 'app: Done', SHOP, ...FOOT, ...page()];
    expect(await commands.lines('status')).toEqual(all);
    expect(await commands.lines('status', 'shop')).toEqual([...head, '', SHOP, '  web  shop-web: done', ...FOOT]);
  });

  it('prints with --problems only instances that are not done', async () => {
    needing([]);
    expect(await commands.lines('status', '--problems')).toEqual(['  and 3 more', SHOP, ...FOOT, ...page()]);
    expect(await commands.lines('status', 'shop', '--problems')).toEqual([SHOP, ...FOOT]);
  });

  it.each<[string, number, readonly AttentionItem[], readonly string[]]>([
    ['something', 1, [OPEN, KNOWN], []],
    ['only an acknowledged cause', 0, [KNOWN], []],
    ['nothing', 0, [], []],
    ['a cause of this instance', 1, [OPEN], ['shop']],
    ['a cause of another instance', 0, [{ ...OPEN, instances: ['app'] }], ['shop']],
    ['a cause of no instance', 1, [OUTSIDE], ['shop']],
  ])('ends with --exit-code by open causes: %s', async (_what, code, attention, args) => {
    needing(attention);
    expect(await commands.run('status', ...args, '--exit-code')).toMatchObject({ code });
  });

  it.each([
    [[], 'shop: Done', 0],
    [['--quiet', '--return', '--command'], '\u001b[H\u001b[Jshop: Done', 1],
  ])(
    'repeats with --watch, in place on a terminal: %j',
    async (terminal, first, drawn) => {
      const SCRIPT = '/usr/bin/script';
      if (terminal.length > 0 && !existsSync(SCRIPT)) return;
      const show = (status: InstanceStatus): void => {
        const { status: overview } = commands.api.operator;
        const instances = [{ name: 'shop', status, summary: 'why', counts: {} }];
        commands.answer('operator', { status: { ...overview, instances } });
      };
      show('Done');
      const args = [BUNDLED, 'status', '--watch', ...commands.options()];
      const command = [process.execPath, ...args].map((word) => `'${word}'`).join(' ');
      const [program, words] =
        terminal.length > 0 ? [SCRIPT, [...terminal, command, '/dev/null']] : [process.execPath, args];
      const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      let shown = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        shown += part;
      });
      await expect.poll(() => shown, { timeout: 30_000 }).toContain(first);
      show('Suspended');
      await expect.poll(() => shown, { timeout: 30_000 }).toContain('shop: Suspended');
      expect(shown.match(/^page /gm)).toHaveLength(1 + drawn);
      if (terminal.length > 0) return;
      child.kill('SIGINT');
      expect(await once(child, 'exit')).toEqual([0, null]);
    },
    60_000,
  );

  it.each([
    ['short\nlines\nof three', 'short\nlines'],
    ['exactly 10\nx', 'exactly 10\nx'],
    ['eleven long\nnot shown', 'eleven long'],
    ['one\nmore than two rows of text', 'one\nmore than '],
    ['\u001b[J bell\nnot shown', '\\u001b[J bell'],
    ['one\n\nthree', 'one\n'],
  ])('with --watch cuts %j to two rows of ten columns', (text, shown) => {
    expect(screenOf(text, { rows: 2, columns: 10 })).toBe(shown);
  });

  it('fails with --watch if the first read fails, and refuses JSON', async () => {
    expect(await commands.failure(['status', 'no', '--watch'])).toContain('There is no "no"');
    expect(await commands.failure(['status', '--watch', '--format', 'json'])).toBe(
      '--watch prints text: leave out --format json',
    );
  });
});

it.each<[replica: { readonly leader?: null; readonly lag?: object }, lines: readonly string[]]>([
  [{}, ['the replica host-1 leads since 2026-11-20T10:13:56.000Z, with the fencing number 7']],
  [{ lag: {} }, [`since ${SINCE}: the remote cannot be reached`]],
  [
    { leader: null, lag: {} },
    ['no replica is known to lead; this is the state of the replica that answered', `since ${SINCE}: the remote`],
  ],
])('status and why print the leader and the lag of a replica: %j', async ({ leader, lag }, lines) => {
  const replicas = {
    leader: leader === null ? null : { name: 'host-1', since: '2026-11-20T10:13:56.000Z', fencing: 7 },
    ...(lag && { lag: { ...lag, reason: 'the remote cannot be reached\nfatal', since: SINCE } }),
  };
  const { why, status } = commands.api.operator;
  commands.answer('operator', {
    status: { ...status, ...replicas },
    why: (...asked) => ({ ...why(...asked), ...replicas }),
  });
  for (const command of [['status'], ['status', 'shop'], ['why', 'shop']]) {
    const printed = (await commands.lines(...command)).join('\n');
    for (const line of lines) expect(printed).toContain(line);
    expect(await commands.json(...command)).toMatchObject(replicas);
  }
});

describe('treeline why', () => {
  function answering(waiting: readonly WaitingItem[], rest: Partial<Why> = {}): Why {
    const why: Why = { status: 'Failed', summary: '', counts: { failed: waiting.length }, waiting, ...rest };
    commands.answer('operator', { why: () => why });
    return why;
  }

  it('prints waits with start, end and remedy', async () => {
    const failed: WaitingItem = {
      resource: 'shop-db',
      state: 'failed',
      reason: 'action_failed: no such image',
      since: SINCE,
      until: '2026-11-20T11:13:57.000Z',
      action: 'treeline retry --resource shop-db',
    };
    const suspended: WaitingItem = {
      resource: null,
      state: 'Suspended',
      reason: 'Ada suspended shop',
      since: SINCE,
      until: null,
      action: 'treeline resume shop',
    };
    const many = Array.from({ length: 60 }, (_, index) => ({ ...failed, reason: `${failed.reason} ${index}` }));
    const why = answering([suspended, ...many], { status: 'Suspended', counts: { failed: 60, done: 1 } });
    const lines = await commands.lines('why', 'shop');
    expect(lines.slice(0, 8)).toEqual([
      'shop: Suspended',
      'servers: 60 failed, 1 done',
      `Suspended, since ${SINCE}`,
      '    Ada suspended shop',
      '    do: treeline resume shop',
      `shop-db: failed, since ${SINCE}, tried again at 2026-11-20T11:13:57.000Z`,
      '    action_failed: no such image 0',
      '    do: treeline retry --resource shop-db',
    ]);
    expect(lines.at(-1)).toBe('and 11 more that are not done');
    expect(await commands.json('why', 'shop')).toEqual(why);
  });

  it('prints the three values of drift as a table', async () => {
    const drifted: WaitingItem = {
      resource: 'shop-db',
      state: 'drifted',
      reason: 'drifted: differs',
      since: SINCE,
      until: null,
      action: 'treeline retry --resource shop-db',
      difference: [
        { property: 'peers', applied: ['a'], observed: ['a', 'b'], wanted: ['a'] },
        { property: 'size', applied: 'small', observed: 'large', wanted: 'small' },
      ],
    };
    answering([drifted]);
    expect((await commands.lines('why', 'shop')).slice(3)).toEqual([
      '    drifted: differs',
      '    property  applied  observed   wanted',
      '    peers     ["a"]    ["a","b"]  ["a"]',
      '    size      "small"  "large"    "small"',
      '    do: treeline retry --resource shop-db',
    ]);
  });

  it('marks lines of a provider', async () => {
    const reason = 'action_failed: no image\n    do: treeline retain shop-db\nother: Done';
    answering([{ resource: 'shop-db', state: 'failed', reason, since: null, until: null, action: null }]);
    expect((await commands.lines('why', 'shop')).slice(2)).toEqual([
      'shop-db: failed',
      '    action_failed: no image',
      '    |     do: treeline retain shop-db',
      '    | other: Done',
    ]);
    const shop = { name: 'shop', status: 'Failed', summary: `shop-db is failed: ${reason}`, counts: {} } as const;
    commands.answer('operator', { status: { ...commands.api.operator.status, counts: {}, instances: [shop] } });
    expect((await commands.lines('status')).slice(0, 2)).toEqual([
      'shop: Failed: shop-db is failed: action_failed: no image …',
      `commit ${COMMIT} is followed`,
    ]);
  });

  it('groups servers with one reason', async () => {
    const item = (index: number, state: State, action: string | null): WaitingItem => ({
      resource: `web-${index}`,
      state,
      reason: state === 'failed' ? 'no image' : 'waits for db',
      action,
      since: `2026-11-20T10:13:5${9 - index}.000Z`,
      until: state === 'failed' ? `2026-11-20T11:13:5${9 - index}.000Z` : null,
    });
    const failed = [1, 2, 3, 4].map((index) => item(index, 'failed', `treeline retry --resource web-${index}`));
    answering([...failed, item(5, 'pending', null), item(6, 'pending', null)]);
    expect((await commands.lines('why', 'shop')).slice(2)).toEqual([
      '4 servers (web-1, web-2, web-3 …): failed, since 2026-11-20T10:13:55.000Z, tried again at 2026-11-20T11:13:55.000Z',
      '    no image',
      '    do: treeline retry shop',
      '2 servers (web-5, web-6): pending, since 2026-11-20T10:13:53.000Z',
      '    waits for db',
    ]);
  });

  it('prints one line if all is done', async () => {
    answering([], { status: 'Done', summary: 'its server is done', counts: { done: 1 } });
    expect(await commands.lines('why', 'shop')).toEqual(['shop: Done: its server is done', 'servers: 1 done']);
  });
});

describe('treeline status --wait', () => {
  const OID = '0123456789abcdef0123456789abcdef01234567';
  const WAITS = `waiting until ${OID} is followed`;

  /** Answers these statuses of `shop`, one after the other; undefined: it is gone. */
  function answering(...statuses: readonly (readonly [InstanceStatus, StateCounts] | undefined)[]): void {
    let asked = -1;
    const overview = (): Overview => {
      asked += 1;
      const at = statuses[Math.min(asked, statuses.length - 1)];
      const instances = at === undefined ? [] : [{ name: 'shop', summary: WHY.summary, status: at[0], counts: at[1] }];
      return { ...commands.api.operator.status, instances };
    };
    commands.answer('operator', { overview });
  }

  /** Answers that the commit is not followed, and these facts. */
  function refusing(facts: Partial<Overview> | (() => never)): void {
    const overview =
      typeof facts === 'function' ? facts : (): Overview => ({ ...commands.api.operator.status, ...facts });
    commands.answer('operator', { overview });
    commands.answer('commits', { reached: () => Promise.reject(new ServiceError('not_ready', 'not followed')) });
  }

  async function wait(
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly told: readonly string[] }> {
    const { code, stderr } = await commands.run('status', ...args, '--wait', OID);
    return { code, told: stderr.split('\n').filter((line) => line !== '') };
  }

  it('ends with 0 when the commit is followed and all is done, and prints waits once', async () => {
    answering(['In progress', { pending: 1 }], ['In progress', { creating: 1 }], ['Done', { done: 1 }]);
    expect(await wait()).toEqual({ code: 0, told: [WAITS, 'waiting for shop (In progress)'] });
    expect(new Set(commands.api.commits.asked)).toContain(OID);
  });

  it('names the first of many instances', async () => {
    const shop = { status: 'In progress', summary: '', counts: {} } as const;
    const instances = Array.from({ length: 25 }, (_, index) => ({ ...shop, name: `shop-${index}` }));
    commands.answer('operator', { overview: () => ({ ...commands.api.operator.status, instances }) });
    const { code, told } = await wait('--timeout', '1');
    expect([code, told[1]]).toEqual([1, expect.stringMatching(/shop-4 \(In progress\) and 20 more$/)]);
    expect(told[2]).toBe('treeline: still in progress after 1 s');
  });

  it.each<[InstanceStatus, StateCounts]>([
    ['Failed', { failed: 1, pending: 2 }],
    ['Blocked', { blocked: 1 }],
    ['Invalid', { done: 1 }],
    ['Suspended', { pending: 1 }],
    ['Awaiting approval', { done: 1 }],
    ['Drifted', { drifted: 1 }],
    ['Marked for delete', { failed: 1, 'marked for delete': 1 }],
  ])('ends with 1 if the instance becomes %s', async (status, counts) => {
    answering([status, counts]);
    expect(await wait('shop')).toEqual({ code: 1, told: [WAITS] });
  });

  it('ends with 1 if the commit is not followed', async () => {
    refusing({ newest: { commit: OID, reason: 'it is wrong', since: '', action: 'treeline problems' } });
    const words = `treeline: the commit ${OID} is not followed: it is wrong; do: treeline problems`;
    expect(await wait()).toEqual({ code: 1, told: [WAITS, words] });
  });

  it('prints once that the repository cannot be read, and why', async () => {
    const reason = 'the repository cannot be followed: git.example cannot be reached\nfatal: no route';
    const cause = { id: 'repository:unread', kind: 'repository', instances: [], servers: { count: 0, examples: [] } };
    refusing({ attention: [{ ...cause, kind: 'repository', reason, since: SINCE, action: null, acknowledged: null }] });
    expect(await wait('--timeout', '1')).toEqual({
      code: 1,
      told: [
        WAITS,
        `the repository cannot be followed: git.example cannot be reached … (since ${SINCE})`,
        `treeline: the commit ${OID} is not followed after 1 s`,
      ],
    });
  });

  it('prints why a controller is not ready, and fails after the timeout', async () => {
    refusing(() => {
      throw new ServiceError('not_ready', 'No good commit has been read yet: there is no branch "mian"');
    });
    const reason = '/operations/status answered 503: No good commit has been read yet: there is no branch "mian"';
    const late = `treeline: the commit ${OID} is not followed after 1 s`;
    expect(await wait('--timeout', '1')).toEqual({ code: 3, told: [WAITS, reason, late, `treeline: ${reason}`] });
  });

  it('ends with 0 for a removed instance, and fails for an unknown one', async () => {
    const states = ['creating', 'updating', 'deleting', 'retrying', 'unknown'] as const;
    const moving = states.map((state) => ['Marked for delete', { failed: 1, [state]: 1 }] as const);
    answering(...moving, undefined);
    expect(await commands.run('status', 'shop', '--wait', OID)).toMatchObject({ code: 0, stdout: 'shop: gone\n' });
    expect(await wait('shop')).toEqual({
      code: 3,
      told: [WAITS, 'treeline: there is no stack instance "shop" at that commit'],
    });
  });

  it.each([
    [['--wait', 'no-such-branch'], 'names no commit that begins with "no-such-branch", and the repository in this'],
    [['--wait', 'abcdef0'], 'names no commit that begins with "abcdef0", and the repository in this folder does not'],
    [['--timeout', '0'], "argument '0' is invalid. write a whole number from 1 to 86400"],
    [['--timeout', 'soon'], "argument 'soon' is invalid. write a whole number from 1 to 86400"],
    [['--delivered'], '--delivered requires --wait COMMIT'],
  ])('refuses %j', async (args, message) => {
    expect(await commands.failure(['status', ...args])).toContain(message);
  });

  it('completes a commit once the controller is ready', async () => {
    let asked = 0;
    const { status } = commands.api.operator;
    commands.answer('operator', {
      overview() {
        asked += 1;
        if (asked === 1) throw new ServiceError('not_ready', 'it starts');
        return { ...status, instances: [] };
      },
    });
    const { code, stderr } = await commands.run('status', '--wait', COMMIT.slice(0, 7));
    const reason = '/operations/status answered 503: it starts';
    expect({ code, stderr }).toEqual({ code: 0, stderr: `${reason}\nwaiting until ${COMMIT} is followed\n` });
  });

  it('completes a commit from the controller or the local repository', async () => {
    answering(['Done', {}]);
    const cwd = import.meta.dirname;
    const head = spawnSync('git', ['rev-parse', 'HEAD'], { cwd, encoding: 'utf8' }).stdout.trim();
    for (const [text, whole] of [
      [COMMIT.slice(0, 7), COMMIT],
      ['HEAD', head],
    ] as const) {
      const { stderr } = await treeline(['status', '--wait', text, ...commands.options()], { cwd });
      expect(stderr).toBe(`waiting until ${whole} is followed\n`);
    }
  });
});
