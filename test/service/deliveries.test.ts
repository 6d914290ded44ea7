// Fetches and confirmations of records: who may, what is written, and how often. The rows are in a store that counts its commits.
import { beforeEach, describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { momentOf } from '../../src/base/wording.ts';
import type { Client } from '../../src/model/objects.ts';
import type { DeliveryRow } from '../../src/model/rows.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { Deliveries, presentRecord } from '../../src/service/deliveries/deliveries.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { ADMINISTRATOR, open, PROXY, type Service } from './service.ts';

const MINUTE = 60_000;
const TAGGED = 'types/clientcert/web-1.yaml';
const WEB_1: Client = { ...PROXY, name: 'D4', serial: 'D4', tags: [], node: 'web-1' };
const FILES = {
  [TAGGED]: 'ProxyTag: lab\n',
  'types/clientcert/own-1.yaml': 'tenant: shop\n',
  'clients/D4.yaml': 'role: proxy\nnode: web-1\n',
};

let service: Service;
let clock: ManualClock;
let deliveries: Deliveries;
let commits: number;

beforeEach(async () => {
  service = await open(FILES);
  clock = new ManualClock();
  deliveries = restarted();
  commits = 0;
  const { ledger } = service;
  const commit = ledger.commit.bind(ledger);
  ledger.commit = (...args) => {
    commits += 1;
    return commit(...args);
  };
});

function restarted(): Deliveries {
  return new Deliveries({
    ledger: service.ledger,
    current: { get: () => service.desired },
    clock,
    breathe: withoutPause,
  });
}

function digestOf(node: string): string {
  const { desired, ledger } = service;
  return (desired && presentRecord({ desired, rows: ledger }, node)?.digest) ?? '';
}

function rowOf(node: string): DeliveryRow | undefined {
  return service.ledger.read('delivery', node);
}

function confirm(
  by: Client,
  node: string,
  {
    digest = digestOf(node),
    outcome = 'applied' as const,
    message = '',
    refusal = (): ServiceError | undefined => undefined,
  } = {},
): Promise<string> {
  return deliveries.confirm({ by, refusal }, node, { digest, outcome, message });
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return await work.catch((error: unknown) => (error instanceof ServiceError ? error.code : error));
}

describe('who may', () => {
  it.each<[who: string, by: Client, node: string, answer: unknown]>([
    ['its own client', WEB_1, 'web-1', 'web-1: applied its present record'],
    ['a proxy with its tag', PROXY, 'web-1', 'web-1: applied its present record'],
    ['the client of another node', WEB_1, 'web-2', 'not_allowed'],
    ['a client of a proxy that is bound to a node', { ...PROXY, node: 'web-2' }, 'web-1', 'not_allowed'],
    ['a proxy without its tag', { ...PROXY, tags: ['far'] }, 'web-1', 'not_allowed'],
    ['a proxy with tags, for a server without', PROXY, 'web-2', 'not_allowed'],
    [
      'a proxy without tags, for a server without',
      { ...PROXY, tags: [] },
      'web-2',
      'web-2: applied its present record',
    ],
    ['a proxy, for no node', PROXY, 'web-9', 'not_allowed'],
    ['the client of a node that is not there', { ...WEB_1, node: 'web-9' }, 'web-9', 'not_found'],
    ['its own client, of a tenant that the node is not of', { ...WEB_1, tenant: 'other' }, 'web-1', 'not_allowed'],
    ['a proxy of a tenant that the node is not of', { ...PROXY, tenant: 'other' }, 'web-1', 'not_allowed'],
    [
      'its own client, of its tenant',
      { ...WEB_1, node: 'own-1', tenant: 'shop' },
      'own-1',
      'own-1: applied its present record',
    ],
    ['an administrator', ADMINISTRATOR, 'web-1', 'not_allowed'],
  ])('confirm: %s', async (_who, by, node, answer) => {
    expect(await codeOf(confirm(by, node))).toBe(answer);
    const isNoted = deliveries.noteFetch(by, node, digestOf(node) || 'd'.repeat(22));
    expect(isNoted).toBe(String(answer).includes('applied'));
  });

  it('confirm, is asked again when it is written', async () => {
    const refusal = () => new ServiceError('client_not_registered', 'gone');
    expect(await codeOf(confirm(WEB_1, 'web-1', { refusal }))).toBe('client_not_registered');
    expect(rowOf('web-1')).toBeUndefined();
  });
});

describe('fetches', () => {
  it('are written once a record, whoever fetches it again, and however often', async () => {
    for (let minute = 0; minute < 30; minute += 1) {
      deliveries.noteFetch(WEB_1, 'web-1', digestOf('web-1'));
      deliveries.noteFetch(PROXY, 'web-1', digestOf('web-1'));
      await deliveries.record();
      clock.advance(MINUTE);
    }
    expect(commits).toBe(1);
    expect(rowOf('web-1')?.fetched).toMatchObject({ digest: digestOf('web-1'), by: 'D4' });
    deliveries = restarted();
    expect(deliveries.noteFetch(WEB_1, 'web-1', digestOf('web-1'))).toBe(false);
  });

  it('are told to the leader once, and again where that failed', () => {
    const fetch = (): boolean => deliveries.noteFetch(WEB_1, 'web-1', digestOf('web-1'));
    expect([fetch(), fetch()]).toEqual([true, false]);
    deliveries.forgetFetch('web-1');
    expect([fetch(), fetch()]).toEqual([true, false]);
  });

  it('of a record that a commit has replaced meanwhile are of the one before', async () => {
    const before = service.desired?.commit;
    deliveries.noteFetch(WEB_1, 'web-1', digestOf('web-1'));
    const fetched = digestOf('web-1');
    await service.commit({ [TAGGED]: 'ProxyTag: lab\nlog_level: trace\n' });
    await confirm(WEB_1, 'web-1', { digest: fetched });
    expect(rowOf('web-1')?.records).toMatchObject([{ digest: digestOf('web-1') }, { digest: fetched, until: before }]);
    expect(commits).toBe(2);
  });
});

describe('confirmations', () => {
  it('are written when they are answered, and not again', async () => {
    const time = momentOf(clock.now());
    await confirm(WEB_1, 'web-1');
    expect(rowOf('web-1')?.applied).toEqual({ digest: digestOf('web-1'), by: 'D4', time });
    clock.advance(MINUTE);
    await confirm(WEB_1, 'web-1');
    expect(commits).toBe(1);
  });

  it('of many nodes at once share commits', async () => {
    await service.commit({ 'stacks/instances/sub/shop.yaml': 'stackTemplate: web\nparameters: { count: "150" }\n' });
    commits = 0;
    const nodes = Array.from({ length: 150 }, (_, index) => `web-${index + 1}`).filter((node) => node !== 'web-1');
    await Promise.all(nodes.map((node) => confirm({ ...PROXY, tags: [] }, node)));
    expect(commits).toBe(1);
    expect(service.ledger.list('delivery').size).toBe(149);
  });

  it('cut long messages, and hold a node below its bound', async () => {
    await confirm(WEB_1, 'web-1');
    for (let commit = 0; commit < 10; commit += 1) {
      await service.commit({ [TAGGED]: `ProxyTag: lab\nlog_level: at-${commit}\n` });
      deliveries.noteFetch(WEB_1, 'web-1', digestOf('web-1'));
      await deliveries.record();
    }
    const failed = {
      digest: digestOf('web-1'),
      outcome: 'failed',
      message: 'x'.repeat(299) + '😀'.repeat(500),
    } as const;
    await deliveries.confirm({ by: WEB_1, refusal: () => undefined }, 'web-1', failed);
    const message = rowOf('web-1')?.told?.message ?? '';
    expect(message).toHaveLength(300);
    expect(message.isWellFormed()).toBe(true);
    expect(JSON.stringify(rowOf('web-1')).length).toBeLessThan(1_700);
  });
});

describe('with commits', () => {
  it('the records that they replace are former ones, up to the commit before', async () => {
    await confirm(WEB_1, 'web-1');
    await service.commit({ 'types/role/web.yaml': 'port: 80\n', 'types/zone/z.yaml': 'a: b\n' });
    await deliveries.record();
    const last = service.desired?.commit;
    clock.advance(MINUTE);
    const first = digestOf('web-1');
    await service.commit({ [TAGGED]: 'ProxyTag: lab\nlog_level: trace\n' });
    await deliveries.record();
    expect(rowOf('web-1')?.records).toEqual([
      { digest: digestOf('web-1'), from: service.desired?.commit, since: momentOf(clock.now()) },
      expect.objectContaining({ digest: first, until: last }),
    ]);
  });

  it('that leave records as they are, nothing is written', async () => {
    await confirm(WEB_1, 'web-1');
    await deliveries.record();
    commits = 0;
    await service.commit({ 'types/zone/z.yaml': 'a: b\n' });
    commits = 0;
    await deliveries.record();
    expect(commits).toBe(0);
  });

  it('that remove a node, or all who speak for it, it is forgotten', async () => {
    await confirm(PROXY, 'web-1');
    await confirm({ ...PROXY, tags: [] }, 'web-2');
    await deliveries.record();
    // No registered proxy is without tags.
    expect([...service.ledger.list('delivery').keys()]).toEqual(['web-1']);
    await service.commit({ 'clients/B2.yaml': null });
    await deliveries.record();
    expect(rowOf('web-1')).toBeDefined();
    await service.commit({ 'clients/D4.yaml': null });
    await deliveries.record();
    expect(rowOf('web-1')).toBeUndefined();
  });
});
