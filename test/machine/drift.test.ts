// Tests what follows from a check of a server at rest: nothing, a report, an update, a new server, or the end of a fight.
import { describe, expect, it } from 'vitest';
import { conclude } from '../../src/machine/conclude.ts';
import { decide } from '../../src/machine/decide.ts';
import type { Next } from '../../src/machine/decision.ts';
import { isConverged } from '../../src/machine/existence.ts';
import { correctedRow } from '../../src/machine/requests.ts';
import { wantRow } from '../../src/machine/want.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { answerOf, at, LARGE, NOW, openContext, RETRY, rowIn, SMALL, specOf } from '../reconcile/build.ts';

const HOUR_MS = 3_600_000;
const SEEN_LARGE = answerOf('done', { observed: { name: 'web-1', size: 'large' } });
const SEEN_SMALL = answerOf('done', { observed: { name: 'web-1', size: 'small' } });
const ABSENT = answerOf('absent');
const DIFFERS = { code: 'drifted', text: 'differs in size' };

const done = rowIn('done', { applied: SMALL });

interface How {
  readonly drift?: DriftPolicy;
  readonly now?: number;
  readonly isSecret?: (property: string) => boolean;
}

function check(row: ServerRow, answer: ReturnType<typeof answerOf>, how: How = {}): ServerRow {
  const next = conclude(
    row,
    { kind: 'check', provider: 'lab', answer },
    { now: NOW, retry: RETRY, random: () => 0.5, ...how },
  );
  if (next === null) throw new Error('the row was removed');
  return next;
}

function nextOf(row: ServerRow, context = {}): Next {
  return decide(row, openContext(context)).next;
}

describe('a server that is gone with its site', () => {
  const reason = { code: 'many_gone', text: '' } as const;
  const left = rowIn('drifted', { applied: SMALL, observed: null, reason, provider: 'lab' });

  it('keeps waiting for an operator when a commit changes it, and is updated when a check finds it', () => {
    const wanted = { ...SMALL, properties: { ...SMALL.properties, zone: 'b' } };
    const changed = wantRow(left, { ...left, name: 'web-1', spec: wanted }, { commit: 'c2', time: at(NOW), now: NOW });
    expect(changed).toMatchObject({ state: 'drifted', reason, wanted, applied: SMALL });
    // A check does not observe every property.
    const found = check(changed, SEEN_SMALL);
    expect(found).toMatchObject({ state: 'pending', wanted, applied: SMALL });
    expect(decide(found, openContext({})).row?.action).toMatchObject({ operation: 'update' });
  });
});

describe('a check of a server that is done', () => {
  it('changes nothing and writes no row if it finds the applied spec', () => {
    for (const drift of ['report', 'heal', 'off'] as const) expect(check(done, SEEN_SMALL, { drift })).toBe(done);
  });

  it('changes nothing if it fails', () => {
    for (const outcome of ['retryable', 'failed', 'replace'] as const) {
      expect(check(done, answerOf(outcome, { message: 'down' }))).toBe(done);
    }
  });

  it('reports the differences', () => {
    expect(check(done, SEEN_LARGE)).toEqual({
      ...done,
      state: 'drifted',
      since: at(NOW),
      reason: DIFFERS,
      observed: { size: 'large' },
    });
  });

  it('reports a missing server, and how it is created again', () => {
    const gone = check(done, ABSENT);
    expect(gone).toMatchObject({ state: 'drifted', observed: null, applied: SMALL });
    expect(gone.reason?.text).toBe('it is gone, and not by a request; a retry makes it again, and so does healing');
    expect(nextOf(gone)).toEqual({ kind: 'rest' });
  });

  it.each<[what: string, wanted: ReturnType<typeof specOf>, observed: JsonMap]>([
    ['a configuration-only property', specOf('small', { configurationOnly: ['size'] }), { size: 'large' }],
    ['a description', specOf('small', { properties: { size: 'small', description: 'a' } }), { description: 'b' }],
    ['an additional value', SMALL, { size: 'small', address: '10.0.0.9' }],
    ['a number instead of its text', specOf('4'), { size: 4 }],
    ['no observed value', SMALL, {}],
  ])('does not report %s', (_what, wanted, observed) => {
    const row = rowIn('done', { wanted, applied: wanted });
    expect(check(row, answerOf('done', { observed }))).toBe(row);
  });

  it('does not compare secrets', () => {
    expect(check(done, SEEN_LARGE, { isSecret: (name) => name === 'size' })).toBe(done);
  });

  it('compares lists as a whole', () => {
    const wanted = specOf('small', { properties: { size: 'small', peers: ['a', 'b'] } });
    const row = rowIn('done', { wanted, applied: wanted });
    const observed = { peers: ['b', 'a'] };
    expect(check(row, answerOf('done', { observed }))).toMatchObject({ state: 'drifted', observed });
  });

  it('shortens long values', () => {
    const { observed, reason } = check(done, answerOf('done', { observed: { size: 'x'.repeat(70_000) } }));
    expect(observed).toEqual({ size: `${'x'.repeat(200)}… (70000 characters)` });
    expect(reason?.text.length).toBeLessThan(200);
  });

  it('names five properties, and the number of the others', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const properties = Object.fromEntries(names.map((name) => [name, '1']));
    const row = rowIn('done', { wanted: specOf('', { properties }), applied: specOf('', { properties }) });
    const observed = Object.fromEntries(names.map((name) => [name, '2']));
    const { reason } = check(row, answerOf('done', { observed }));
    expect(reason?.text).toBe('differs in a, b, c, d, e and 2 more');
  });
});

describe('a check of a drifted server', () => {
  const drifted = check(done, SEEN_LARGE);

  it('writes no row if the difference is the same', () => {
    expect(check(drifted, SEEN_LARGE, { now: NOW + HOUR_MS })).toBe(drifted);
    const gone = check(done, ABSENT);
    expect(check(gone, ABSENT, { now: NOW + HOUR_MS })).toBe(gone);
  });

  it('shows another difference, but keeps its time', () => {
    const other = check(drifted, answerOf('done', { observed: { size: 'huge' } }), { now: NOW + HOUR_MS });
    expect(other).toMatchObject({ state: 'drifted', since: at(NOW), observed: { size: 'huge' } });
  });

  it('ends the drift if the server is as wanted again', () => {
    const settled = check(drifted, SEEN_SMALL, { now: NOW + HOUR_MS });
    expect(settled).toEqual({ ...done, since: at(NOW + HOUR_MS) });
  });

  it('ends the drift of an adopted server that was corrected', () => {
    const adopted = rowIn('drifted', { applied: LARGE, observed: { size: 'large' } });
    const settled = check(adopted, SEEN_SMALL);
    expect(settled).toMatchObject({ state: 'done', applied: SMALL });
    expect(settled).not.toHaveProperty('observed');
  });

  it('keeps a difference of an adopted value that was not observed', () => {
    const adopted = rowIn('drifted', { applied: LARGE, observed: { size: 'large' }, reason: DIFFERS as never });
    expect(check(adopted, answerOf('done', { observed: { name: 'web-1' } }))).toBe(adopted);
  });
});

describe('healing', () => {
  const drift = 'heal';

  it('queues an update with a new id, and records it', () => {
    const queued = check(done, SEEN_LARGE, { drift });
    expect(queued).toMatchObject({ state: 'pending', reason: DIFFERS, observed: { size: 'large' } });
    expect(queued.generation).toBe(done.generation + 1);
    expect(queued.healing).toEqual({ size: [at(NOW)] });
    expect(isConverged(queued)).toBe(false);
    const { row, next } = decide(queued, openContext());
    expect(next).toEqual({ kind: 'run', provider: 'lab' });
    expect(row).toMatchObject({ state: 'updating', dirty: true, action: { id: '7.update.3', spec: SMALL } });
    expect(row).not.toHaveProperty('observed');
  });

  it('follows the policy of the instance rather than of the entry', () => {
    const withPolicy = (policy: DriftPolicy): ServerRow => ({ ...done, policy: { ...done.policy, drift: policy } });
    expect(check(withPolicy('report'), SEEN_LARGE, { drift })).toMatchObject({ state: 'drifted' });
    expect(check(withPolicy('off'), SEEN_LARGE, { drift })).toMatchObject({ state: 'drifted' });
    expect(check(withPolicy('heal'), SEEN_LARGE, { drift: 'off' })).toMatchObject({ state: 'pending' });
  });

  it('creates a missing server again only after a second check', () => {
    const suspected = check(done, ABSENT, { drift });
    expect(suspected).toMatchObject({ state: 'pending', observed: null, applied: SMALL });
    expect(nextOf(suspected)).toEqual({ kind: 'check', provider: 'lab' });
    const gone = check(suspected, ABSENT, { drift });
    expect(gone).toMatchObject({ applied: null, replacing: true, incarnation: 8, state: 'pending' });
    expect(gone).not.toHaveProperty('observed');
    expect(decide(gone, openContext())).toMatchObject({ row: { action: { id: '8.create' } }, next: { kind: 'run' } });
  });

  it('creates nothing if the second check finds the server', () => {
    const back = check(check(done, ABSENT, { drift }), SEEN_SMALL, { drift });
    expect(decide(back, openContext()).row).toMatchObject({ state: 'done', incarnation: 7, applied: SMALL });
    const changed = check(check(done, ABSENT, { drift }), SEEN_LARGE, { drift });
    expect(decide(changed, openContext())).toMatchObject({ row: { state: 'updating' }, next: { kind: 'run' } });
  });
});

describe('healing that repeats', () => {
  const drift = 'heal';

  /** Heals at these moments, with success each time. */
  function healedAt(...moments: readonly number[]): ServerRow {
    return moments.reduce((row, now) => {
      const queued = check(row, SEEN_LARGE, { drift, now });
      expect(queued.state).toBe('pending');
      const { row: begun } = decide(queued, openContext({ now }));
      if (begun === null) throw new Error('the row was removed');
      const result = { kind: 'action', provider: 'lab', answer: SEEN_SMALL } as const;
      return conclude(begun, result, { now, retry: RETRY, random: () => 0.5 }) as ServerRow;
    }, done);
  }

  it('stops after three heals of a property within a day, and names it', () => {
    const healed = healedAt(NOW, NOW + HOUR_MS, NOW + 2 * HOUR_MS);
    expect(healed.state).toBe('done');
    const stopped = check(healed, SEEN_LARGE, { drift, now: NOW + 3 * HOUR_MS });
    expect(stopped).toMatchObject({ state: 'drifted', observed: { size: 'large' } });
    expect(stopped.reason).toEqual({
      code: 'drift_fight',
      text: 'size was corrected 3 times within 24 hours; ' + 'healing has stopped: find out who changes it, then retry',
    });
    expect(nextOf(stopped)).toEqual({ kind: 'rest' });
  });

  it('stays stopped after the day', () => {
    const healed = healedAt(NOW, NOW + 1, NOW + 2);
    const stopped = check(healed, SEEN_LARGE, { drift, now: NOW + 3 });
    expect(check(stopped, SEEN_LARGE, { drift, now: NOW + 30 * HOUR_MS })).toBe(stopped);
  });

  it('continues if the heals are days apart', () => {
    const times = [0, 1, 2, 3, 4, 5].map((day) => NOW + day * 13 * HOUR_MS);
    const healed = healedAt(...times);
    expect(Object.values(healed.healing ?? {}).flat().length).toBeLessThan(3);
  });

  it('counts each property separately', () => {
    const healed = healedAt(NOW, NOW + 1, NOW + 2);
    const other = answerOf('done', { observed: { name: 'other' } });
    expect(check(healed, other, { drift, now: NOW + 3 })).toMatchObject({ state: 'pending' });
  });

  it('ends if the value is corrected by hand', () => {
    const stopped = check(healedAt(NOW, NOW + 1, NOW + 2), SEEN_LARGE, { drift, now: NOW + 3 });
    expect(check(stopped, SEEN_SMALL, { drift, now: NOW + 4 })).toMatchObject({ state: 'done', reason: null });
  });

  it('counts again after a retry, and after a commit that changes the server', () => {
    const stopped = check(healedAt(NOW, NOW + 1, NOW + 2), SEEN_LARGE, { drift, now: NOW + 3 });
    const retried = correctedRow(stopped, at(NOW + 4));
    expect(retried).toMatchObject({ state: 'pending', generation: stopped.generation + 1 });
    expect(retried).not.toHaveProperty('healing');
    const { instance, key, index, policy } = stopped;
    const stamp = { commit: 'c', time: at(NOW), now: NOW };
    const wanted = wantRow(stopped, { name: 'web-1', instance, key, index, policy, spec: specOf('huge') }, stamp);
    expect(wanted).toMatchObject({ state: 'pending' });
    expect(wanted).not.toHaveProperty('healing');
  });

  it('also stops for a server that is gone again and again', () => {
    const lost = { ...done, healing: { '': [at(NOW - 3), at(NOW - 2), at(NOW - 1)] } };
    expect(check(lost, ABSENT, { drift })).toMatchObject({ state: 'drifted', reason: { code: 'drift_fight' } });
  });
});
