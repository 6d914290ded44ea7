import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { createLog } from '../../src/base/log.ts';
import type { Wait } from '../../src/machine/wait.ts';
import type { Change, ServerRow } from '../../src/model/rows.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { WaitIndex } from '../../src/reconcile/waits/wait-index.ts';
import { WakeUps } from '../../src/reconcile/waits/wake-ups.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { at, NOW, rowIn } from './build.ts';

function need(server: string): Wait {
  return { kind: 'dependency', server };
}

describe('who waits', () => {
  it('for a dependency is woken once, with all others that wait for it', () => {
    const waits = new WaitIndex();
    waits.begin('web-1', need('db'));
    waits.begin('web-2', need('db'));
    waits.begin('web-2', need('db'));
    waits.begin('web-3', need('cache'));
    expect(waits.endLine('holder', 'db')).toEqual([]);
    expect(waits.endLine('dependency', 'db')).toEqual(['web-1', 'web-2']);
    expect(waits.endLine('dependency', 'db')).toEqual([]);
    expect([waits.get('web-1'), waits.get('web-3')]).toEqual([undefined, need('cache')]);
  });

  it('for who still needs it is in a line of its own', () => {
    const waits = new WaitIndex();
    waits.begin('db', { kind: 'holder', server: 'web-1' });
    expect(waits.endLine('holder', 'web-1')).toEqual(['db']);
  });

  it('for something else is not woken for what it waited for before', () => {
    const waits = new WaitIndex();
    waits.begin('web-1', need('db'));
    waits.begin('web-1', need('cache'));
    expect(waits.endLine('dependency', 'db')).toEqual([]);
    expect(waits.count('dependency')).toBe(1);
    waits.end('web-1');
    expect(waits.endLine('dependency', 'cache')).toEqual([]);
    expect(waits.count('dependency')).toBe(0);
  });

  it('for its instance is woken with all others of it, and the other instances are known', () => {
    const waits = new WaitIndex();
    const until = Number.POSITIVE_INFINITY;
    for (const instance of ['a', 'b', 'c']) waits.begin(`${instance}-1`, { kind: 'instance', instance, until });
    expect(waits.endLine('instance', 'b')).toEqual(['b-1']);
    expect(waits.lines('instance')).toEqual(['a', 'c']);
  });

  it('for the failed updates of a commit is woken with all others of it', () => {
    const waits = new WaitIndex();
    for (const [name, commit] of Object.entries({ a: 'c1', b: 'c2', c: 'c1' })) {
      waits.begin(name, { kind: 'failures', commit });
    }
    expect(waits.lines('failures')).toEqual(['c1', 'c2']);
    expect(waits.endLine('failures', 'c1')).toEqual(['a', 'c']);
    expect(waits.lines('failures')).toEqual(['c2']);
  });
});

describe('who waits for capacity', () => {
  function line(...places: readonly [name: string, provider: string, instance: string][]): WaitIndex {
    const waits = new WaitIndex();
    for (const [name, provider, instance] of places) waits.begin(name, { kind: 'capacity', provider, instance });
    return waits;
  }

  function takeAll(waits: WaitIndex, hasCapacity: (provider: string) => boolean = () => true): string[] {
    const taken: string[] = [];
    for (
      let next = waits.endNextForCapacity(hasCapacity);
      next !== undefined;
      next = waits.endNextForCapacity(hasCapacity)
    ) {
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
    const waits = line(...many, ['x-1', 'dead', 'x'], ['x-2', 'dead', 'x'], ['a-1', 'lab', 'a'], ['b-1', 'lab', 'b']);
    expect(takeAll(waits)).toEqual(['d-1', 'a-1', 'x-1', 'b-1', 'd-2', 'x-2', 'd-3', 'd-4']);
  });

  it('is not held up by those who wait for another provider', () => {
    const waits = line(['a', 'full', 'i'], ['b', 'free', 'i']);
    expect(takeAll(waits, (provider) => provider === 'free')).toEqual(['b']);
    expect(takeAll(waits)).toEqual(['a']);
  });

  it('and goes away leaves its place to the next', () => {
    const waits = line(['a', 'lab', 'i'], ['b', 'lab', 'j']);
    waits.end('a');
    expect(takeAll(waits)).toEqual(['b']);
    expect(takeAll(waits)).toEqual([]);
  });
});

describe('a change of rows', () => {
  const until = Number.POSITIVE_INFINITY;

  /** Servers with these waits, and a function that commits changes and returns the servers that they wake. */
  function waiting(waits: Readonly<Record<string, Wait>>): (...changes: Change[]) => Promise<readonly string[]> {
    const ledger = new Ledger(new MemoryStore(), withoutPause);
    const woken: string[] = [];
    const capacity = { hasCapacity: () => false, reserve: () => undefined, release: () => undefined };
    const log = createLog('silent');
    const wakeUps = new WakeUps({
      ...{ ledger, log, capacity },
      clock: new ManualClock(),
      wake: (server) => woken.push(server),
    });
    for (const [server, wait] of Object.entries(waits)) wakeUps.begin(server, rowIn('pending'), wait);
    return async (...changes) => {
      await ledger.commit(changes);
      return woken.splice(0).sort();
    };
  }

  function server(name: string, value: ServerRow | null, expected?: ServerRow): Change {
    return { kind: 'server', name, value, expected };
  }

  it('of a server ends each wait for a change of it, and those of its dependents once it is up', async () => {
    const other = { server: 'db' };
    const commit = waiting({
      web: { kind: 'dependency', ...other },
      old: { kind: 'holder', ...other },
      late: { kind: 'dependency', server: 'cache' },
    });
    const creating = rowIn('creating');
    const done = rowIn('done');
    expect(await commit(server('db', creating))).toEqual(['old']);
    expect(await commit(server('db', done, creating))).toEqual(['web']);
    expect(await commit(server('db', null, done))).toEqual([]);
  });

  it('of a hold or suspension ends the waits of that instance, or of all', async () => {
    const names = ['a', 'b', 'c'];
    const commit = waiting(
      Object.fromEntries(names.map((instance) => [instance, { kind: 'instance' as const, instance, until }])),
    );
    const value = { since: at(NOW), until: null, by: null, reason: '' };
    expect(await commit({ kind: 'suspension', name: 'b', value, expected: undefined })).toEqual(['b']);
    expect(await commit({ kind: 'suspension', name: '*', value, expected: undefined })).toEqual(['a', 'c']);
  });
});
