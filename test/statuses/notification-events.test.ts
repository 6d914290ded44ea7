// Which events follow from what is told already and what is there now.
import { describe, expect, it } from 'vitest';
import type { AlertRow } from '../../src/model/rows.ts';
import { NOTIFICATION_KINDS, type NotificationKind } from '../../src/model/settings.ts';
import type { AttentionItem } from '../../src/service/answers.ts';
import { type NewEvents, type NotificationFacts, newEvents } from '../../src/statuses/notification-events.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');
const TIME = '2026-11-20T10:00:00.000Z';
const FOLLOWED: readonly [string, AlertRow] = ['followed', { since: TIME, targets: [], data: { commit: 'aaa' } }];

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
): NotificationFacts['targets'][number] {
  return { name, kinds, instances };
}

function look(facts: Partial<NotificationFacts>): NewEvents {
  return newEvents({
    ...{
      items: [],
      alerts: new Map([FOLLOWED]),
      commit: 'aaa',
      begun: new Map(),
      targets: [target('ops')],
      now: NOW,
    },
    ...{ progressOf: () => ({ servers: 2, isAtRest: true }), isNew: false, hasSeen: () => false },
    ...facts,
  });
}

/** The alerts after a look. */
function alertsAfter({ alerts }: NewEvents, before: ReadonlyMap<string, AlertRow> = new Map([FOLLOWED])) {
  const all = new Map<string, AlertRow | null>([...before, ...alerts]);
  return new Map([...all].flatMap(([name, row]) => (row === null ? [] : [[name, row] as const])));
}

function typesOf({ events }: NewEvents): readonly string[] {
  return events.map(({ type, subject, targets }) => `${type} ${subject} ${targets.join(',')}`);
}

describe('what needs a person', () => {
  it('is told once, and its end with what was told', () => {
    const first = look({ items: [item('failed:shop')] });
    const { reason, since, action, instances, servers } = item('failed:shop');
    const data = { kind: 'failed', reason, since, action, instances, servers };
    expect(first.events).toEqual([
      { type: 'treeline.attention.firing', subject: 'failed:shop', data, targets: ['ops'] },
    ]);
    const alerts = alertsAfter(first);
    expect(look({ items: [item('failed:shop', ['shop'], { reason: 'another server too' })], alerts }).events).toEqual(
      [],
    );
    const over = look({ alerts });
    expect(over.events).toEqual([
      { type: 'treeline.attention.resolved', subject: 'failed:shop', data: { ...data, began: TIME }, targets: ['ops'] },
    ]);
    expect(look({ alerts: alertsAfter(over, alerts) })).toEqual({ alerts: new Map(), events: [] });
  });

  it.each([
    ['held:shop', 'treeline.held'],
    ['drifted:shop', 'treeline.drift'],
    ['commit:wrong', 'treeline.commit'],
    ['blocked:shop', 'treeline.attention'],
    ['provider:lab', 'treeline.attention'],
    ['certificate:server', 'treeline.attention'],
  ])('%s is %s', (id, type) => {
    const first = look({ items: [item(id)] });
    expect(typesOf(first)).toEqual([`${type}.firing ${id} ops`]);
    expect(typesOf(look({ alerts: alertsAfter(first) }))).toEqual([`${type}.resolved ${id} ops`]);
  });

  it('pages nobody while it is acknowledged, and does once that is over; its end comes to who was told', () => {
    const acknowledged = { by: '0A', until: TIME, reason: 'known' };
    const known = item('failed:shop', ['shop'], { acknowledged });
    expect(look({ items: [known] })).toEqual({ alerts: new Map(), events: [] });
    const told = look({ items: [item('failed:shop')] });
    const alerts = alertsAfter(told);
    expect(look({ items: [known], alerts }).events).toEqual([]);
    expect(typesOf(look({ alerts }))).toEqual(['treeline.attention.resolved failed:shop ops']);
  });

  it('is told to those who want its kind, about these instances; what concerns no instance to all who want the kind', () => {
    const targets = [
      target('all'),
      target('eu', ['attention'], ['shop-eu', '*-eu-*']),
      target('held', ['held']),
      target('web', ['attention', 'held'], ['web*1', '*a*b*']),
    ];
    const to = (...args: Parameters<typeof item>) => look({ items: [item(...args)], targets }).events[0]?.targets;
    expect(to('failed:shop', ['shop'])).toEqual(['all']);
    expect(to('failed:shop-eu', ['shop-eu'])).toEqual(['all', 'eu']);
    expect(to('failed:x-eu-1', ['x-eu-1'])).toEqual(['all', 'eu']);
    expect(to('failed:web1', ['web1'])).toEqual(['all', 'web']);
    expect(to('failed:web', ['web'])).toEqual(['all']);
    expect(to('failed:xaxbx', ['xaxbx'])).toEqual(['all', 'web']);
    expect(to('failed:xbxax', ['xbxax'])).toEqual(['all']);
    expect(to('provider:lab', ['shop', 'shop-eu'])).toEqual(['all', 'eu']);
    expect(to('repository:unread', [])).toEqual(['all', 'eu', 'web']);
    expect(to('held:shop-eu', ['shop-eu'])).toEqual(['all', 'held']);
  });

  it('is an alert also where nobody wants it, and no event', () => {
    const first = look({ items: [item('failed:shop')], targets: [target('held', ['held'])] });
    expect(first.events).toEqual([]);
    expect(look({ alerts: alertsAfter(first) }).events).toEqual([]);
  });
});

describe('soon after a start', () => {
  it('what is observed outside is not over because it was not seen yet; what is recorded is', () => {
    const alerts = alertsAfter(look({ items: [item('provider:lab'), item('failed:other', ['other'])] }));
    expect(typesOf(look({ alerts, isNew: true }))).toEqual(['treeline.attention.resolved failed:other ops']);
    const hasSeen = (id: string): boolean => id === 'provider:lab';
    expect(typesOf(look({ alerts, isNew: true, hasSeen }))).toContain('treeline.attention.resolved provider:lab ops');
    expect(typesOf(look({ alerts }))).toHaveLength(2);
  });

  it('servers of a site that is told to be away are no second cause', () => {
    const alerts = alertsAfter(look({ items: [item('provider:lab', ['a', 'b'])] }));
    const items = [item('failed:a', ['a']), item('blocked:b', ['b']), item('failed:c', ['c']), item('held:a', ['a'])];
    expect(typesOf(look({ alerts, items, isNew: true }))).toEqual([
      'treeline.attention.firing failed:c ops',
      'treeline.held.firing held:a ops',
    ]);
  });
});

describe('the followed commit', () => {
  it('is told where it is another one, and not at the first look', () => {
    const first = look({ alerts: new Map() });
    expect(first.events).toEqual([]);
    const second = look({ alerts: alertsAfter(first, new Map()), commit: 'bbb' });
    expect(second.events).toEqual([
      {
        ...{ type: 'treeline.commit.followed', subject: 'bbb', targets: ['ops'] },
        data: { commit: 'bbb', previous: 'aaa' },
      },
    ]);
  });
});

describe('an instance', () => {
  const open = { progressOf: () => ({ servers: 3, isAtRest: false }) };

  it('is done once, with the last commit that gave it something to do', () => {
    const first = look({ begun: new Map([['shop', 'aaa']]), ...open });
    expect(first.events).toEqual([]);
    const alerts = alertsAfter(first);
    const second = look({ alerts, begun: new Map([['shop', 'bbb']]), ...open, now: NOW + 60_000 });
    const later = alertsAfter(second, alerts);
    const done = look({ alerts: later });
    expect(done.events).toEqual([
      {
        ...{ type: 'treeline.instance.done', subject: 'shop', targets: ['ops'] },
        data: { instance: 'shop', commit: 'bbb', since: TIME, servers: 2 },
      },
    ]);
    expect(look({ alerts: alertsAfter(done, later) }).events).toEqual([]);
  });

  it('that was quicker than a look is done too', () => {
    const done = look({ begun: new Map([['shop', 'aaa']]) });
    expect(typesOf(done)).toEqual(['treeline.instance.done shop ops']);
    expect(done.alerts.size).toBe(0);
  });

  it('writes nothing while nothing changes', () => {
    const alerts = alertsAfter(look({ begun: new Map([['shop', 'aaa']]), ...open }));
    expect(look({ alerts, ...open })).toEqual({ alerts: new Map(), events: [] });
    expect(look({ alerts, begun: new Map([['shop', 'aaa']]), ...open }).alerts.size).toBe(0);
  });
});
