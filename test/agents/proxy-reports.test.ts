// When a proxy is told that its report is recorded.
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ProxyReports } from '../../src/agents/proxy-reports.ts';
import { ManualClock } from '../support/manual-clock.ts';

it('a report is answered by the pass after the end of its call', async () => {
  const reports = new ProxyReports(new ManualClock());
  const told: string[] = [];
  void reports.recorded(reports.begin('web', 'lease', 'done')).then(() => told.push('recorded'));
  for (const [happens, expected] of [
    [() => reports.passed('web'), []],
    [() => reports.ended('web', true), []],
    [() => reports.passed('web'), ['recorded']],
  ] as const) {
    happens();
    await setImmediate();
    expect(told).toEqual(expected);
  }
});
