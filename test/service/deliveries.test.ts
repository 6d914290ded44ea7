// Confirmations of records: who may, what is written, and how often. The rows are in a store that counts its commits.
import { beforeEach, describe, expect, it } from 'vitest';
import { toRfc3339 } from '../../src/base/wording.ts';
import type { Client } from '../../src/model/objects.ts';
import type { ApplyOutcome, DeliveryRow } from '../../src/model/rows.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { Deliveries, forgottenDeliveries, presentRecord } from '../../src/service/deliveries/deliveries.ts';
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
  deliveries = new Deliveries({ ledger: service.ledger, current: { get: () => service.desired }, clock });
  commits = 0;
  const { ledger } = service;
  const commit = ledger.commit.bind(ledger);
  ledger.commit = (...args) => {
    commits += 1;
    return commit(...args);
  };
});

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
    outcome = 'applied' as ApplyOutcome,
    message = '',
    refusal = (): ServiceError | undefined => undefined,
  } = {},
): Promise<string> {
  return deliveries.confirm({ by, refusal }, node, { digest, outcome, message });
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return await work.catch((error: unknown) => (error instanceof ServiceError ? error.code : error));
}

describe('the confirmation by', () => {
  it.each<[who: string, by: Client, node: string, answer: unknown]>([
    ['its own client', WEB_1, 'web-1', 'web-1: applied its current record'],
    ['a proxy with its tag', PROXY, 'web-1', 'web-1: applied its current record'],
    ['the client of another node', WEB_1, 'web-2', 'not_allowed'],
    ['a proxy that is bound to a node', { ...PROXY, node: 'web-2' }, 'web-1', 'not_allowed'],
    ['a proxy without its tag', { ...PROXY, tags: ['far'] }, 'web-1', 'not_allowed'],
    ['a proxy with tags, for a server without', PROXY, 'web-2', 'not_allowed'],
    [
      'a proxy without tags, for a server without',
      { ...PROXY, tags: [] },
      'web-2',
      'web-2: applied its current record',
    ],
    ['a proxy, for no node', PROXY, 'web-9', 'not_allowed'],
    ['the client of an unknown node', { ...WEB_1, node: 'web-9' }, 'web-9', 'not_found'],
    ['its own client with another tenant', { ...WEB_1, tenant: 'other' }, 'web-1', 'not_allowed'],
    ['a proxy with another tenant', { ...PROXY, tenant: 'other' }, 'web-1', 'not_allowed'],
    [
      'its own client, of its tenant',
      { ...WEB_1, node: 'own-1', tenant: 'shop' },
      'own-1',
      'own-1: applied its current record',
    ],
    ['an administrator', ADMINISTRATOR, 'web-1', 'not_allowed'],
  ])('%s is judged by its rights', async (_who, by, node, answer) => {
    expect(await codeOf(confirm(by, node))).toBe(answer);
  });

  it('a client is checked again when it is written', async () => {
    const refusal = () => new ServiceError('client_not_registered', 'gone');
    expect(await codeOf(confirm(WEB_1, 'web-1', { refusal }))).toBe('client_not_registered');
    expect(rowOf('web-1')).toBeUndefined();
  });
});

describe('confirmations', () => {
  it('are written before they are answered, and once', async () => {
    const time = toRfc3339(clock.now());
    await confirm(WEB_1, 'web-1');
    const commit = service.desired?.commit;
    expect(rowOf('web-1')).toMatchObject({ digest: digestOf('web-1'), by: 'D4', time, commit, outcome: 'applied' });
    clock.advance(MINUTE);
    await confirm(WEB_1, 'web-1');
    expect(commits).toBe(1);
  });

  it('that are refused do not change the recorded one', async () => {
    const noop = { outcome: 'noop' as const };
    await confirm(WEB_1, 'web-1', noop);
    expect(rowOf('web-1')?.outcome).toBe('noop');
    for (const outcome of ['applied', 'failed'] as const) {
      await confirm(WEB_1, 'web-1', { outcome });
      await confirm(WEB_1, 'web-1', noop);
      expect(rowOf('web-1')?.outcome).toBe(outcome);
    }
  });

  it('cut long messages', async () => {
    const failed = {
      digest: digestOf('web-1'),
      outcome: 'failed',
      message: 'x'.repeat(299) + '😀'.repeat(500),
    } as const;
    await deliveries.confirm({ by: WEB_1, refusal: () => undefined }, 'web-1', failed);
    const message = rowOf('web-1')?.message ?? '';
    expect(message).toHaveLength(300);
    expect(message.isWellFormed()).toBe(true);
  });
});

it('the confirmation of a removed client is forgotten', async () => {
  const forget = async (): Promise<void> => {
    if (service.desired) await service.ledger.commit(forgottenDeliveries(service.ledger, service.desired));
  };
  await confirm(WEB_1, 'web-1');
  await forget();
  expect(rowOf('web-1')).toBeDefined();
  await service.commit({ 'clients/D4.yaml': null });
  await forget();
  expect(rowOf('web-1')).toBeUndefined();
});
