// Which nodes run the record that is wanted of them, as it is answered: counts, pages, the sentence, and what a proxy is told.
import { beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryState } from '../../src/model/state.ts';
import type { Delivered } from '../../src/service/answers.ts';
import { confirmedCommits, findDelivered } from '../../src/service/deliveries/delivered.ts';
import { Deliveries, presentRecord } from '../../src/service/deliveries/deliveries.ts';
import { EVERYTHING, Scope } from '../../src/service/scope.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { open, PROXY, type Service } from './service.ts';

const SHOP = 'stacks/instances/sub/shop.yaml';
const F6 = 'role: proxy\ndescription: of the shop\n';
const UNTAGGED = { ...PROXY, serial: 'F6', tags: [] };
const LATE: readonly DeliveryState[] = ['outdated', 'failed'];

let service: Service;
let clock: ManualClock;
let deliveries: Deliveries;

beforeEach(async () => {
  // web-1 to web-9, and printer, which is written by hand.
  service = await open({ [SHOP]: 'stackTemplate: web\nparameters: { count: "9" }\n', 'clients/F6.yaml': F6 });
  clock = new ManualClock();
  const { ledger } = service;
  deliveries = new Deliveries({ ledger, current: { get: () => service.desired }, clock });
});

function view() {
  const { desired, ledger } = service;
  if (desired === undefined) throw new Error('nothing is followed');
  return { desired, rows: ledger, now: clock.now() };
}

async function confirm(node: string, outcome: 'applied' | 'failed' = 'applied', message = ''): Promise<void> {
  const digest = presentRecord(view(), node)?.digest ?? '';
  await deliveries.confirm({ by: UNTAGGED, refusal: () => undefined }, node, { digest, outcome, message });
}

function ask(query: Partial<Parameters<typeof findDelivered>[0]> = {}): Delivered {
  return findDelivered({ instance: null, states: LATE, after: '', limit: 100, scope: EVERYTHING, ...query }, view());
}

describe('delivered records', () => {
  it('are unknown if no node reports', () => {
    expect(ask()).toEqual({
      commit: null,
      summary: 'no node reports which record it runs',
      nodes: [],
      next: null,
      counts: { delivered: 0, outdated: 0, failed: 0, notReporting: 10 },
    });
  });

  it('are a sentence with some names, and pages with all', async () => {
    for (let index = 1; index <= 8; index += 1) await confirm(`web-${index}`);
    await confirm('printer');
    expect(ask().summary).toBe('all 9 nodes that report run their current record; 1 more does not report');
    clock.advance(60_000);
    await service.commit({ 'types/role/web.yaml': 'port: 81\n' });
    clock.advance(60_000);
    await confirm('web-8');
    await confirm('web-7', 'failed', 'no space left');
    const { summary, counts } = ask();
    expect(summary).toBe(
      '7 of 9 nodes have not applied their current record: ' +
        'web-1, web-2, web-3, web-4, web-5 and 2 more; on 1 it failed; 1 more does not report',
    );
    expect(counts).toEqual({ delivered: 2, outdated: 6, failed: 1, notReporting: 1 });
    const names: string[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const page = ask({ after, limit: 3 });
      names.push(...page.nodes.map(({ name }) => name));
      after = page.next;
    }
    expect(names).toEqual([1, 2, 3, 4, 5, 6, 7].map((index) => `web-${index}`));
    expect(ask({ states: ['failed'] }).nodes).toMatchObject([
      { name: 'web-7', confirmed: { message: 'no space left' } },
    ]);
    expect(ask({ instance: 'shop' }).counts).toEqual({ delivered: 1, outdated: 6, failed: 1, notReporting: 1 });
  });

  it('can be requested for a commit', async () => {
    await confirm('web-1');
    const first = service.desired?.commit ?? '';
    await service.commit({ 'types/role/web.yaml': 'port: 81\n' });
    expect(confirmedCommits(service.ledger.list('delivery').values())).toEqual([first]);
    const at = (commit: string, reached: readonly string[]) =>
      ask({ asked: { commit, isReached: (confirmed) => reached.includes(confirmed) } });
    expect(at(first, [first]).counts).toMatchObject({ delivered: 1, outdated: 0 });
    expect(at(first, [first]).summary).toMatch(
      /^the one node that reports runs its record of commit \d or a later one;/,
    );
    expect(at('later', []).counts).toMatchObject({ delivered: 0, outdated: 1 });
  });

  it('show client names except to other proxies', async () => {
    await confirm('web-1', 'failed', 'the key of the vault is 1234');
    const [seen] = ask().nodes;
    expect(seen?.confirmed).toMatchObject({ client: 'F6', clientName: 'of the shop' });
    expect(ask({ scope: new Scope(UNTAGGED) }).nodes[0]?.confirmed).toMatchObject({ client: 'F6', message: '' });
    const [hidden] = ask({ scope: new Scope(PROXY) }).nodes;
    expect(hidden?.confirmed).toMatchObject({ client: null, clientName: null, message: '' });
  });
});
