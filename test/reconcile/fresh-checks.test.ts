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

  end(server: string, end: CheckEnd | 'absent', checker = LAB): void {
    this.#checks.record(server, end, checker);
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

it('a check that found a server goes by that of another site: it is no leave to create it', () => {
  const checks = new Checks();
  checks.end('web', 'answered');
  checks.end('web', 'absent', EDGE);
  expect([checks.of('web'), checks.of('web', EDGE)]).toEqual([undefined, 'answered']);
});

it('a check that found a server absent counts for the site that was asked, whatever others have answered since', () => {
  const checks = new Checks();
  checks.end('web', 'absent');
  checks.end('web', 'failed', EDGE);
  const ofGpu = checks.of('web', { provider: 'proxied', tags: ['gpu', 'lab'] });
  const ofEntry = checks.of('web', { provider: 'local', tags: ['lab'] });
  const ofNone = checks.of('web', { provider: 'proxied', tags: [] });
  expect([checks.of('web'), checks.of('web', EDGE), ofGpu, ofEntry, ofNone]).toEqual([
    ...['answered', 'failed', 'answered'],
    ...[undefined, undefined],
  ]);
});
