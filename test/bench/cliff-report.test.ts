import { describe, expect, it } from 'vitest';
import { CLIFF_CASES } from '../../bench/cliff-cases.ts';
import { type Cost, cliffReport, type MeasuredCase, verdictOf } from '../../bench/cliff-report.ts';

const CIRCUMSTANCES = { limitSeconds: 60 };

function costOf(cpuSeconds: number): Cost {
  return { seconds: cpuSeconds + 1, cpuSeconds, stallSeconds: 0.25 };
}

function measured(
  costs: readonly [Cost | undefined, Cost | undefined],
  failures: readonly string[] = [],
): MeasuredCase {
  const steps = [{ step: 'update', costs }];
  return { name: 'group', title: 'A group', unit: 'servers', sizes: [1_000, 2_000], steps, failures };
}

describe('a verdict', () => {
  it.each([
    [1, 2, 'linear'],
    [1, 2.6, 'linear'],
    [1, 2.7, 'NOT LINEAR'],
    [0.01, 0.4, 'small'],
    [0, 0.6, 'NOT LINEAR'],
  ])('from %d s to %d s of processor time is %s', (first, second, verdict) => {
    expect(verdictOf({ step: 'update', costs: [costOf(first), costOf(second)] })).toBe(verdict);
  });

  it.each([
    [undefined, costOf(1)],
    [costOf(1), undefined],
    [undefined, undefined],
  ] as const)('of what did not get through says so', (first, second) => {
    expect(verdictOf({ step: 'update', costs: [first, second] })).toBe('TOO LONG');
  });
});

describe('a report', () => {
  it('has a row for each size of each step', () => {
    const { text, failures } = cliffReport([measured([costOf(1), costOf(2.5)])], CIRCUMSTANCES);
    const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    expect(rows.at(-2)?.slice(1, -1)).toEqual(['group', 'update', '1,000', '2.00', '1.00', '0.25', '', '']);
    expect(rows.at(-1)?.slice(1, -1)).toEqual(['group', 'update', '2,000', '3.50', '2.50', '0.25', '× 2.50', 'linear']);
    expect(failures).toEqual([]);
  });

  it.each([
    ['does not grow in line', measured([costOf(1), costOf(4)]), 'NOT LINEAR'],
    ['takes too long', measured([costOf(1), undefined]), 'over 60'],
    ['goes wrong', measured([costOf(1), costOf(2)], ['it broke']), '**group: it broke**'],
  ])('tells what %s', (_what, each, words) => {
    const { text, failures } = cliffReport([each], CIRCUMSTANCES);
    expect(text).toContain(words);
    expect(failures).toHaveLength(1);
  });
});

describe('every case', () => {
  const cases = Object.entries(CLIFF_CASES).map(([name, each]) => ({ name, ...each }));

  it.each(cases)(
    '$name ends as it should at a small size, and the second size is the double',
    async ({ run, sizes }) => {
      expect(sizes[1]).toBe(2 * sizes[0]);
      const steps: string[] = [];
      await run(sizes[0] >= 100_000 ? 10_000 : 20, async (step, work) => {
        steps.push(step);
        await work();
      });
      expect(steps.length).toBeGreaterThan(0);
    },
  );
});
