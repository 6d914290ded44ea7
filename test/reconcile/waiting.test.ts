import { describe, expect, it } from 'vitest';
import type { Wait } from '../../src/machine/wait.ts';
import { SlotLines } from '../../src/reconcile/slot-lines.ts';
import { Waiting } from '../../src/reconcile/waiting.ts';
import { ManualClock } from '../support/manual-clock.ts';

function open(): Waiting {
  return new Waiting(new SlotLines({ clock: new ManualClock(), slotOf: () => false, wake: () => undefined }));
}

function need(server: string): Wait {
  return { kind: 'dependency', server };
}

describe('who waits', () => {
  it('for a dependency is woken once, when that is up', () => {
    const waiting = open();
    waiting.begin('web-1', need('db'));
    waiting.begin('web-2', need('db'));
    waiting.begin('web-2', need('db'));
    waiting.begin('web-3', need('cache'));
    expect(waiting.onServer('db', false)).toEqual([]);
    expect(waiting.onServer('db', true)).toEqual(['web-1', 'web-2']);
    expect(waiting.onServer('db', true)).toEqual([]);
    expect([waiting.of('web-1'), waiting.of('web-3')]).toEqual([undefined, need('cache')]);
  });

  it('for who still needs it is woken by any change of that one', () => {
    const waiting = open();
    waiting.begin('db', { kind: 'holder', server: 'web-1' });
    expect(waiting.onServer('web-1', false)).toEqual(['db']);
  });

  it('for something else is not woken for what it waited for before', () => {
    const waiting = open();
    waiting.begin('web-1', need('db'));
    waiting.begin('web-1', need('cache'));
    expect(waiting.onServer('db', true)).toEqual([]);
    expect(waiting.count('dependency')).toBe(1);
    waiting.end('web-1');
    expect(waiting.onServer('cache', true)).toEqual([]);
    expect(waiting.count('dependency')).toBe(0);
  });

  it('for its instance is woken by a change of that one, or of all', () => {
    const waiting = open();
    const until = Number.POSITIVE_INFINITY;
    for (const instance of ['a', 'b', 'c']) waiting.begin(`${instance}-1`, { kind: 'instance', instance, until });
    expect(waiting.onInstance('b')).toEqual(['b-1']);
    expect(waiting.onInstance('*')).toEqual(['a-1', 'c-1']);
  });

  it('for the failed updates of a commit is woken with all others of it', () => {
    const waiting = open();
    for (const [name, commit] of Object.entries({ a: 'c1', b: 'c2', c: 'c1' })) {
      waiting.begin(name, { kind: 'failures', commit });
    }
    expect(waiting.commits()).toEqual(['c1', 'c2']);
    expect(waiting.onFailures('c1')).toEqual(['a', 'c']);
    expect(waiting.commits()).toEqual(['c2']);
  });
});

describe('who waits for capacity', () => {
  function line(...places: readonly [name: string, provider: string, instance: string][]): Waiting {
    const waiting = open();
    for (const [name, provider, instance] of places) waiting.begin(name, { kind: 'capacity', provider, instance });
    return waiting;
  }

  function takeAll(waiting: Waiting, hasCapacity: (provider: string) => boolean = () => true): string[] {
    const taken: string[] = [];
    for (let next = waiting.onCapacity(hasCapacity); next !== undefined; next = waiting.onCapacity(hasCapacity)) {
      taken.push(next.server);
    }
    return taken;
  }

  it('is woken one by one, who came first first, and keeps its place when it asks again', () => {
    expect(takeAll(line(['b', 'lab', 'i'], ['a', 'lab', 'i'], ['b', 'lab', 'i'], ['c', 'lab', 'i']))).toEqual([
      'b',
      'a',
      'c',
    ]);
  });

  it('is woken in turn with those of other providers, and of other instances', () => {
    const many = ['1', '2', '3', '4'].map((at) => [`d-${at}`, 'dead', 'd'] as [string, string, string]);
    const waiting = line(...many, ['x-1', 'dead', 'x'], ['x-2', 'dead', 'x'], ['a-1', 'lab', 'a'], ['b-1', 'lab', 'b']);
    expect(takeAll(waiting)).toEqual(['d-1', 'a-1', 'x-1', 'b-1', 'd-2', 'x-2', 'd-3', 'd-4']);
  });

  it('is not held up by those who wait for another provider', () => {
    const waiting = line(['a', 'full', 'i'], ['b', 'free', 'i']);
    expect(takeAll(waiting, (provider) => provider === 'free')).toEqual(['b']);
    expect(takeAll(waiting)).toEqual(['a']);
  });

  it('and goes away leaves its place to the next', () => {
    const waiting = line(['a', 'lab', 'i'], ['b', 'lab', 'j']);
    waiting.end('a');
    expect(takeAll(waiting)).toEqual(['b']);
    expect(takeAll(waiting)).toEqual([]);
  });
});
