// Which events follow from what needs an operator, what is followed and what is done, and from what was accepted.
import { describe, expect, it } from 'vitest';
import type { AlertRow } from '../../src/model/rows.ts';
import { NOTIFICATION_KINDS, type NotificationKind } from '../../src/model/settings.ts';
import type { AttentionItem } from '../../src/service/answers.ts';
import {
  type AlertFacts,
  acceptedBy,
  changedAlerts,
  type EventTarget,
  type OwedEvent,
  owedEvents,
} from '../../src/statuses/wanted-events.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');
const TIME = '2026-11-20T10:00:00.000Z';
const LATER = '2026-11-20T10:01:00.000Z';

function item(id: string, instances: readonly string[] = ['shop'], more: Partial<AttentionItem> = {}): AttentionItem {
  const kind = id.slice(0, id.indexOf(':')) as AttentionItem['kind'];
  const servers = { count: 2, examples: ['shop-1', 'shop-2'] };
  const words = { reason: `${id} is wrong`, since: TIME, action: 'treeline why shop' };
  return { id, kind, instances, servers, ...words, acknowledged: null, ...more };
}

function target(
  name: string,
  kinds: readonly NotificationKind[] = NOTIFICATION_KINDS,
  instances: readonly string[] = ['*'],
): EventTarget {
  return { name, kinds, instances };
}

/** Alerts, and the subscribers that accept their events when they are asked to. */
class Alerts {
  rows = new Map<string, AlertRow>();
  readonly targets: readonly EventTarget[];

  constructor(targets: readonly EventTarget[] = [target('ops')]) {
    this.targets = targets;
    this.become({});
  }

  /** Returns the number of rows that changed. */
  become(facts: Partial<AlertFacts>): number {
    const quiet = { items: [], commit: 'aaa', begun: new Map(), isNew: false, now: NOW };
    const progressOf = () => ({ servers: 2, isIdle: true });
    const { alerts, targets } = { alerts: this.rows, targets: this.targets };
    const changed = changedAlerts({ ...quiet, progressOf, alerts, targets, ...facts });
    const rows = [...new Map([...this.rows, ...changed])];
    this.rows = new Map(rows.flatMap(([name, row]) => (row === null ? [] : [[name, row] as const])));
    return changed.size;
  }

  owed(to = 'ops'): readonly OwedEvent[] {
    return owedEvents(this.rows, this.targets.find(({ name }) => name === to) ?? target(to));
  }

  types(to?: string): readonly string[] {
    return this.owed(to).map(({ type, subject }) => `${type} ${subject}`);
  }

  /** Returns the types and subjects of what a subscriber accepts. */
  accept(to = 'ops'): readonly string[] {
    const [owed, types] = [this.owed(to), this.types(to)];
    for (const event of owed) {
      const row = this.rows.get(event.alert);
      const accepted = row && acceptedBy(to, event, row);
      if (accepted !== undefined) this.rows.set(event.alert, accepted);
    }
    return types;
  }
}

describe('a cause that needs an operator', () => {
  it('is sent until it is accepted, and then its end', () => {
    const alerts = new Alerts();
    alerts.become({ items: [item('failed:shop')] });
    const { reason, since, action, instances, servers } = item('failed:shop');
    const data = { kind: 'failed', reason, since, action, instances, servers };
    const firing = {
      alert: 'failed:shop',
      phase: 'firing',
      id: `failed:shop/firing/${TIME}`,
      time: TIME,
      data,
      type: 'treeline.attention.firing',
      subject: 'failed:shop',
    };
    expect(alerts.owed()).toEqual([firing]);
    alerts.become({ items: [item('failed:shop', ['shop'], { reason: 'another server too' })] });
    expect(alerts.owed()).toEqual([firing]);
    alerts.accept();
    expect(alerts.owed()).toEqual([]);
    alerts.become({ now: NOW + 60_000 });
    expect(alerts.owed()).toEqual([
      {
        alert: 'failed:shop',
        phase: 'resolved',
        id: `failed:shop/resolved/${TIME}`,
        time: LATER,
        type: 'treeline.attention.resolved',
        subject: 'failed:shop',
        data: { ...data, began: TIME },
      },
    ]);
    alerts.accept();
    alerts.become({});
    expect([...alerts.rows.keys()]).toEqual(['followed']);
  });

  it('that ended before its event was accepted is sent as its end for three days', () => {
    const alerts = new Alerts();
    alerts.become({ items: [item('failed:shop')] });
    alerts.become({});
    expect(alerts.types()).toEqual(['treeline.attention.resolved failed:shop']);
    alerts.become({ now: NOW + 72 * 3_600_000 });
    expect(alerts.types()).toEqual([]);
  });

  it('that begins again while its end is sent is sent again', () => {
    const alerts = new Alerts();
    alerts.become({ items: [item('failed:shop')] });
    alerts.accept();
    alerts.become({ now: NOW + 1_000 });
    const [end] = alerts.owed();
    alerts.become({ items: [item('failed:shop')], now: NOW + 2_000 });
    expect(alerts.owed()).toEqual([]);
    const row = alerts.rows.get('failed:shop');
    const accepted = end && row && acceptedBy('ops', end, row);
    alerts.rows.set('failed:shop', accepted as AlertRow);
    expect(alerts.types()).toEqual(['treeline.attention.firing failed:shop']);
  });

  it.each([
    ['held:shop', 'treeline.held'],
    ['drifted:shop', 'treeline.drift'],
    ['commit:wrong', 'treeline.commit'],
    ['certificate:server', 'treeline.attention'],
  ])('%s is %s', (id, type) => {
    const alerts = new Alerts();
    alerts.become({ items: [item(id)] });
    expect(alerts.accept()).toEqual([`${type}.firing ${id}`]);
    alerts.become({});
    expect(alerts.accept()).toEqual([`${type}.resolved ${id}`]);
  });

  it('is not sent while it is acknowledged, and its end goes to notified subscribers', () => {
    const alerts = new Alerts();
    const acknowledged = { by: '0A', until: TIME, reason: 'known' };
    const known = item('failed:shop', ['shop'], { acknowledged });
    expect(alerts.become({ items: [known] })).toBe(0);
    alerts.become({ items: [item('failed:shop')] });
    expect(alerts.accept()).toHaveLength(1);
    alerts.become({ items: [known] });
    expect(alerts.owed()).toEqual([]);
    alerts.become({});
    expect(alerts.types()).toEqual(['treeline.attention.resolved failed:shop']);
  });

  const targets = [
    target('all'),
    target('eu', ['attention'], ['shop-eu', '*-eu-*']),
    target('held', ['held']),
    target('web', ['attention', 'held'], ['web*1', '*a*b*']),
  ];
  // What concerns no instance is for all who want the kind.
  it.each([
    ['failed:shop', ['shop'], 'all'],
    ['failed:shop-eu', ['shop-eu'], 'all eu'],
    ['failed:x-eu-1', ['x-eu-1'], 'all eu'],
    ['failed:web1', ['web1'], 'all web'],
    ['failed:web', ['web'], 'all'],
    ['failed:xaxbx', ['xaxbx'], 'all web'],
    ['failed:xbxax', ['xbxax'], 'all'],
    ['provider:lab', ['shop', 'shop-eu'], 'all eu'],
    ['repository:unread', [], 'all eu web'],
    ['held:shop-eu', ['shop-eu'], 'all held'],
  ])('%s of %j goes to subscribers of its kind, about these instances: %s', (id, instances, names) => {
    const alerts = new Alerts(targets);
    alerts.become({ items: [item(id, instances)] });
    expect(
      targets
        .filter(({ name }) => alerts.owed(name).length > 0)
        .map(({ name }) => name)
        .join(' '),
    ).toBe(names);
  });
});

describe('soon after a start', () => {
  it('an observed cause does not end before it is observed again, a recorded one does', () => {
    const alerts = new Alerts();
    alerts.become({ items: [item('provider:lab'), item('failed:other', ['other'])] });
    alerts.accept();
    alerts.become({ isNew: true });
    expect(alerts.types()).toEqual(['treeline.attention.resolved failed:other']);
    alerts.become({});
    expect(alerts.types()).toHaveLength(2);
  });

  it('servers of a site that was unreachable before the start are no second cause', () => {
    const alerts = new Alerts();
    alerts.become({ items: [item('provider:lab', ['a', 'b'])] });
    alerts.accept();
    const items = [item('failed:a', ['a']), item('blocked:b', ['b']), item('failed:c', ['c']), item('held:a', ['a'])];
    alerts.become({ items, isNew: true });
    expect(alerts.types()).toEqual(['treeline.attention.firing failed:c', 'treeline.held.firing held:a']);
  });
});

it('the followed commit is sent if it has changed', () => {
  const alerts = new Alerts();
  expect(alerts.owed()).toEqual([]);
  alerts.become({ commit: 'bbb' });
  expect(alerts.owed()).toMatchObject([
    { type: 'treeline.commit.followed', subject: 'bbb', data: { commit: 'bbb', previous: 'aaa' } },
  ]);
  alerts.accept();
  alerts.become({ commit: 'ccc', now: NOW + 1_000 });
  expect(alerts.types()).toEqual(['treeline.commit.followed ccc']);
});

describe('an instance', () => {
  const open = { progressOf: () => ({ servers: 3, isIdle: false }) };

  it('is done once, with the last commit that changed it', () => {
    const alerts = new Alerts();
    alerts.become({ begun: new Map([['shop', 'aaa']]), ...open });
    expect(alerts.owed()).toEqual([]);
    alerts.become({ begun: new Map([['shop', 'bbb']]), ...open, now: NOW + 60_000 });
    alerts.become({ now: NOW + 90_000 });
    expect(alerts.owed()).toMatchObject([
      {
        type: 'treeline.instance.done',
        subject: 'shop',
        data: { instance: 'shop', commit: 'bbb', since: TIME, servers: 2 },
      },
    ]);
    alerts.accept();
    alerts.become({});
    expect([...alerts.rows.keys()]).toEqual(['followed']);
    alerts.become({ begun: new Map([['shop', 'ccc']]) });
    expect(alerts.types()).toEqual(['treeline.instance.done shop']);
  });
});
