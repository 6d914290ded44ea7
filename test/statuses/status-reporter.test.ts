// Which commit statuses a forge gets, of the real follower and reconciler with a provider that does as it is told.
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { stallsIn } from '../../src/reconcile/waits/wait-graph.ts';
import type { Attempt } from '../../src/statuses/post-once.ts';
import { StatusReporter } from '../../src/statuses/status-reporter.ts';
import type { WantedStatus } from '../../src/statuses/wanted-statuses.ts';
import { answerOf } from '../reconcile/build.ts';
import { Core, type CoreOptions } from '../reconcile/core.ts';
import { SHOP, shopFiles, TEMPLATE, templateText } from '../reconcile/shop.ts';

const ACCEPTED: Attempt = { isAccepted: true, answer: '201', isOnlyThis: false, waitMs: undefined };
/** A core whose commit statuses go to a list instead of a forge. */
class ReportingCore {
  core: Core;
  /** Each request, in order. */
  readonly requests: WantedStatus[] = [];
  sentTo = 'here';
  /** The answer of the forge. */
  answer = ACCEPTED;
  reporter: StatusReporter;

  constructor(options: CoreOptions = {}) {
    this.core = new Core(options);
    this.reporter = this.#report();
  }

  /** Commits, polls, and lets the changes of a second be gathered. */
  async commit(...change: Parameters<Core['source']['commit']>): Promise<string> {
    const commit = this.core.source.commit(...change);
    await this.core.poll();
    await this.core.pass(1_000);
    return commit;
  }

  /** What was sent of a commit, as `state: description`. */
  told(commit: string, context: 'validate' | 'apply'): readonly string[] {
    return this.requests
      .filter((status) => status.commit === commit && status.context === context)
      .map(({ state, description }) => `${state}: ${description}`);
  }

  /** Continues from the same rows after a stop. */
  async restart(): Promise<void> {
    await this.reporter.stop();
    this.core = await this.core.restart();
    this.reporter = this.#report();
    await this.core.poll();
    await this.core.pass(1_000);
  }

  #report(): StatusReporter {
    const { current, ledger, clock } = this.core;
    return new StatusReporter({
      current,
      ledger,
      clock,
      random: () => 0.5,
      takesProgress: true,
      sentTo: this.sentTo,
      stallsOf: stallsIn(ledger, clock),
      log: createLog('silent'),
      send: async ({ commit, context, state, description }) => {
        this.requests.push({ commit, context, state, description });
        return this.answer;
      },
    });
  }
}

const GROUP = `parameters: { count: "1", size: small }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", max_unavailable: "100%", resource_def: { properties: { size: "<<size>>" } } }
`;

function groupOf(count: number, size = 'small'): string {
  return `stackTemplate: t\nparameters: { count: "${count}", size: ${size} }\n`;
}

function groupFiles(count: number): Readonly<Record<string, string>> {
  return { ...shopFiles({}), [TEMPLATE]: GROUP, [SHOP]: groupOf(count) };
}

/** Lets each create last until it is let go. */
function holdingCreates(told: ReportingCore): { readonly release: (count?: number) => Promise<void> } {
  const waiting: (() => void)[] = [];
  const { provider } = told.core;
  provider.script = (call) => {
    if (call.operation !== 'create') return undefined;
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof answerOf>>();
    waiting.push(() => resolve(provider.act(call)));
    return promise;
  };
  return {
    async release(count = waiting.length) {
      for (const go of waiting.splice(0, count)) go();
      await told.core.settle();
    },
  };
}

describe('the status of a followed commit', () => {
  it('is valid, and done when its servers are', async () => {
    const told = new ReportingCore();
    const calls = holdingCreates(told);
    const first = await told.commit(shopFiles({ a: 'size: small', b: 'size: small' }));
    expect(told.requests).toEqual([
      { commit: first, context: 'validate', state: 'success', description: 'valid, 2 instances' },
      { commit: first, context: 'apply', state: 'in progress', description: '2 servers: 0 done' },
    ]);
    await calls.release();
    await told.core.pass(1_000);
    expect(told.told(first, 'apply')).toEqual(['in progress: 2 servers: 0 done', 'success: 2 servers done']);
    await told.core.pass(7_200_000);
    expect(told.requests).toHaveLength(3);
  });

  it('counts mistakes without quoting files', async () => {
    const told = new ReportingCore();
    await told.commit(shopFiles({ a: 'size: small' }));
    const second = await told.commit({
      [SHOP]: 'stackTemplate: s3cret\n',
      'stacks/instances/new.yaml': 'nonsense: 1\n',
    });
    expect(told.told(second, 'validate')).toEqual([
      expect.stringMatching(/^failure: \d+ errors in 2 files; 2 of 3 instances invalid$/),
    ]);
    expect(JSON.stringify(told.requests)).not.toContain('s3cret');
  });
});

describe('the status of a commit that is not followed', () => {
  it('is a failure', async () => {
    const told = new ReportingCore();
    await told.commit(shopFiles({ a: 'size: small' }));
    const wrong = await told.commit({ 'tree.yaml': 'nonsense: [\n' });
    expect(told.told(wrong, 'validate')).toEqual(['failure: not followed: 1 error in 1 file']);
    expect(told.told(wrong, 'apply')).toEqual([]);
    await told.commit({ 'tree.yaml': 'name: global\ntype: common\n' });
    expect(told.told(wrong, 'validate')).toHaveLength(1);
    await told.core.pass(1_000);
    expect([...told.core.ledger.list('commitStatus').keys()]).not.toContain(wrong);
  });

  it('is a failure for a rewritten history until it is accepted', async () => {
    const told = new ReportingCore();
    const files = shopFiles({ a: 'size: small' });
    await told.commit(files);
    const other = await told.commit({ ...files, 'README.md': 'other' }, { parents: [] });
    expect(told.told(other, 'validate')).toEqual([
      'failure: not followed: the history was rewritten; an operator has to accept it',
    ]);
    await told.core.operator.acceptHistory(told.core.order, other);
    await told.core.settle();
    await told.core.pass(10_000);
    expect(told.told(other, 'validate').at(-1)).toBe('success: valid, 2 instances');
    expect(told.told(other, 'apply')).toEqual(['success: no server left to change']);
  });
});

describe('the status of a commit whose servers are not done', () => {
  it('is a failure while servers fail', async () => {
    const told = new ReportingCore({ retry: { attempts: 1, failedSeconds: 60 } });
    told.core.provider.script = ({ operation, resource }) =>
      operation === 'create' && resource === 'shop-b'
        ? Promise.resolve(answerOf('failed', { message: 'password=hunter2' }))
        : undefined;
    const first = await told.commit(shopFiles({ a: 'size: small', b: 'size: small' }));
    expect(told.told(first, 'apply').at(-1)).toBe('failure: 2 servers: 1 failed, 1 done');
    expect(JSON.stringify(told.requests)).not.toContain('hunter2');
    told.core.provider.script = () => undefined;
    await told.core.pass(120_000);
    await told.core.pass(10_000);
    expect(told.told(first, 'apply').at(-1)).toBe('success: 2 servers done');
  });

  it('is a failure if they wait for a failed server of another commit', async () => {
    const told = new ReportingCore({ retry: { attempts: 1, failedSeconds: 7200 } });
    told.core.provider.script = ({ operation, resource }) =>
      operation === 'create' && resource === 'shop-a' ? Promise.resolve(answerOf('failed')) : undefined;
    await told.commit(shopFiles({ a: 'size: small' }));
    const second = await told.commit({
      [TEMPLATE]: templateText({ a: 'size: small', b: 'size: small, depends_on: a' }),
    });
    await told.core.pass(10_000);
    expect(told.told(second, 'apply').at(-1)).toBe(
      'failure: 1 server: 0 done, the others wait for servers that failed',
    );
  });

  it('is pending while deletes are held', async () => {
    const told = new ReportingCore();
    await told.commit(groupFiles(5));
    const second = await told.commit({ [SHOP]: groupOf(1) });
    expect(told.told(second, 'validate')).toEqual(['success: valid, 2 instances']);
    expect(told.told(second, 'apply')).toEqual([
      'in progress: held until approved: deletes or replaces 4 servers in 1 instance',
    ]);
    await told.core.approve(told.core.held('shop')?.digest ?? '');
    await told.core.pass(10_000);
    expect(told.told(second, 'apply').at(-1)).toBe('success: no server left to change');
  });
});

it('a newer commit ends the status of an unfinished one', async () => {
  const told = new ReportingCore();
  const calls = holdingCreates(told);
  const first = await told.commit(groupFiles(2));
  const second = await told.commit({ 'README.md': 'text' });
  expect(told.told(first, 'apply')).toEqual(['in progress: 2 servers: 0 done', `superseded: superseded by ${second}`]);
  expect(told.told(second, 'apply')).toEqual(['success: no server left to change']);
  await calls.release();
  await told.core.pass(60_000);
  expect(told.told(first, 'apply')).toHaveLength(2);
  expect([...told.core.ledger.list('commitStatus').keys()]).toEqual([second]);
});

it('a status is sent once in ten minutes while only the numbers change', async () => {
  const told = new ReportingCore();
  const calls = holdingCreates(told);
  const first = await told.commit(groupFiles(3));
  await calls.release(1);
  await told.core.pass(599_000);
  expect(told.told(first, 'apply')).toHaveLength(1);
  await told.core.pass(2_000);
  expect(told.told(first, 'apply').at(-1)).toBe('in progress: 3 servers: 1 done');
});

it('a forge that was away gets what counts by then', async () => {
  const told = new ReportingCore();
  told.answer = { ...ACCEPTED, isAccepted: false, answer: 'connect ECONNREFUSED' };
  const first = await told.commit(groupFiles(2));
  await told.core.pass(60_000);
  expect(told.reporter.failure).toEqual({ reason: 'connect ECONNREFUSED', since: expect.any(String) });
  told.requests.length = 0;
  told.answer = ACCEPTED;
  await told.core.pass(601_000);
  expect(told.told(first, 'validate')).toEqual(['success: valid, 2 instances']);
  expect(told.told(first, 'apply')).toEqual(['success: 2 servers done']);
  expect(told.reporter.failure).toBeUndefined();
});

describe('a restart', () => {
  it('with another forge, project or controller name sends the statuses there', async () => {
    const told = new ReportingCore();
    const first = await told.commit(shopFiles({ a: 'size: small' }));
    const second = await told.commit({ 'README.md': 'text' });
    const before = told.requests.length;
    told.sentTo = 'elsewhere';
    await told.restart();
    expect(told.requests.slice(before).map(({ commit, context }) => `${commit} ${context}`)).toEqual([
      `${second} validate`,
      `${second} apply`,
    ]);
    expect(told.core.ledger.read('commitStatus', first)).toBeUndefined();
    expect(told.core.ledger.read('commitStatus', second)).toMatchObject({ sentTo: 'elsewhere' });
  });

  it('after a stop has little to send', async () => {
    const told = new ReportingCore();
    const first = told.core.source.commit(shopFiles({ a: 'size: small' }));
    await told.core.poll();
    expect(told.requests).toEqual([]);
    await told.reporter.stop();
    expect(told.told(first, 'apply')).toEqual(['success: 1 server done']);
  });
});
