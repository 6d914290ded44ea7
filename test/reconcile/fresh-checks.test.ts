import { expect, it } from 'vitest';
import type { CheckEnd } from '../../src/machine/decision.ts';
import type { Site } from '../../src/machine/responsibility.ts';
import { FreshChecks } from '../../src/reconcile/checks/fresh-checks.ts';
import { ManualClock } from '../support/manual-clock.ts';

const LAB: Site = { provider: 'proxied', tags: ['lab'] };
const EDGE: Site = { provider: 'proxied', tags: ['edge'] };

/** Checks by one checker, unless another is named. */
class Checks {
  readonly clock = new ManualClock();
  readonly #checks = new FreshChecks(this.clock);

  /** A check that takes so long. */
  end(server: string, end: CheckEnd | 'absent', tookMs = 0, checker = LAB): void {
    const began = this.#checks.now;
    this.clock.advance(tookMs);
    this.#checks.record(server, end, { checker, began });
  }

  /** A routine check that is answered at once. */
  endRoutine(server: string): void {
    this.#checks.noteSpeed(server, { checker: LAB, began: this.#checks.now });
  }

  of(server: string, checker = LAB): CheckEnd | undefined {
    return this.#checks.of(server, checker);
  }

  forget(server: string): void {
    this.#checks.forget(server);
  }
}

it('a check counts for 30 s, also where the wall clock is set back, and until an action begins', () => {
  const checks = new Checks();
  checks.end('web', 'answered');
  checks.end('db', 'failed');
  checks.clock.setWall(0);
  checks.clock.advance(30_000);
  expect([checks.of('web'), checks.of('db'), checks.of('other')]).toEqual(['answered', 'failed', undefined]);
  checks.clock.advance(1);
  expect(checks.of('web')).toBeUndefined();
  checks.end('web', 'answered');
  expect(checks.of('web')).toBe('answered');
  checks.forget('web');
  expect(checks.of('web')).toBeUndefined();
});

it('a check does not count after the machine has slept: its monotonic clock stood still', () => {
  const checks = new Checks();
  checks.end('web', 'answered');
  checks.clock.setWall(checks.clock.now() + 30_000);
  expect(checks.of('web')).toBe('answered');
  checks.clock.setWall(checks.clock.now() + 1);
  expect(checks.of('web')).toBeUndefined();
});

it('a check of 15 s counts for 30 s from its end', () => {
  const checks = new Checks();
  checks.end('web', 'answered', 15_000);
  checks.clock.advance(30_000);
  expect(checks.of('web')).toBe('answered');
  checks.clock.advance(1);
  expect(checks.of('web')).toBeUndefined();
});

it('a check that took longer than 15 s does not count, but the second one in a row', () => {
  const checks = new Checks();
  checks.end('web', 'answered', 15_001);
  expect(checks.of('web')).toBeUndefined();
  checks.end('web', 'answered', 60_000);
  checks.clock.advance(30_000);
  expect(checks.of('web')).toBe('answered');
  checks.clock.advance(1);
  expect(checks.of('web')).toBeUndefined();
});

it.each<[string, (checks: Checks) => void]>([
  ['a quick one came between them', (checks) => checks.end('web', 'answered')],
  ['a quick routine one came between them', (checks) => checks.endRoutine('web')],
  ['an action came between them', (checks) => checks.forget('web')],
  [
    'a quick one came between them, and others were slow',
    (checks) => {
      checks.end('web', 'answered');
      checks.end('web', 'answered', 20_000, EDGE);
    },
  ],
])('the second slow check does not count where %s', (_title, between) => {
  const checks = new Checks();
  checks.end('web', 'answered', 20_000);
  between(checks);
  checks.clock.advance(30_001);
  checks.end('web', 'answered', 20_000);
  expect(checks.of('web')).toBeUndefined();
});

it('a slow check that fails counts as failed, and makes no other one count', () => {
  const checks = new Checks();
  checks.end('web', 'failed', 60_000);
  expect(checks.of('web')).toBe('failed');
  checks.end('web', 'answered', 20_000);
  expect(checks.of('web')).toBeUndefined();
});

it('the second slow check counts for those that were asked twice, and not for others that were slow between them', () => {
  const checks = new Checks();
  checks.end('web', 'answered', 20_000);
  checks.end('web', 'answered', 20_000, EDGE);
  expect([checks.of('web'), checks.of('web', EDGE)]).toEqual([undefined, undefined]);
  checks.end('web', 'answered', 20_000);
  expect([checks.of('web'), checks.of('web', EDGE)]).toEqual(['answered', undefined]);
});

it('a check that found a server goes by that of another site: it is no leave to create it', () => {
  const checks = new Checks();
  checks.end('web', 'answered');
  checks.end('web', 'absent', 0, EDGE);
  expect([checks.of('web'), checks.of('web', EDGE)]).toEqual([undefined, 'answered']);
});

it('a check that found a server absent counts for the site that was asked, whatever others have answered since', () => {
  const checks = new Checks();
  checks.end('web', 'absent');
  checks.end('web', 'failed', 0, EDGE);
  const ofGpu = checks.of('web', { provider: 'proxied', tags: ['gpu', 'lab'] });
  const ofEntry = checks.of('web', { provider: 'local', tags: ['lab'] });
  const ofNone = checks.of('web', { provider: 'proxied', tags: [] });
  expect([checks.of('web'), checks.of('web', EDGE), ofGpu, ofEntry, ofNone]).toEqual([
    ...['answered', 'failed', 'answered'],
    ...[undefined, undefined],
  ]);
});
