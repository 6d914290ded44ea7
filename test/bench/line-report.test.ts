import { describe, expect, it } from 'vitest';
import { type Measured, reportOf } from '../../bench/line-report.ts';
import { lineRows } from '../../bench/line-rows.ts';
import type { LineRun } from '../../bench/line-run.ts';
import { median } from '../../bench/markdown-table.ts';

const MIB = 2 ** 20;
const CIRCUMSTANCES = { terraform: { absence: '--no-terraform' }, limitSeconds: 900, postgres: undefined } as const;
const BESIDE = { terraform: { version: '1.2.3' }, limitSeconds: 900, postgres: undefined } as const;

interface Figures {
  readonly seconds?: number;
  readonly peakMib?: number;
  readonly actions?: number;
}

function runOf({ seconds = 1, peakMib = 100, actions = 0 }: Figures = {}): LineRun {
  const usage = { peakBytes: peakMib * MIB, cpuSeconds: seconds, writtenBytes: seconds * MIB };
  return {
    build: { ...usage, seconds },
    restart: { ...usage, seconds, actions },
    change: { seconds, blobsRead: 1 },
  };
}

function measuredOf(servers: number, ...runs: readonly Figures[]): Measured {
  return { servers, runs: runs.map(runOf), onPostgres: [], terraform: undefined };
}

/** The cells of the row that begins with `first`, in the table below a heading. */
function rowOf(text: string, heading: string, first: string): readonly string[] {
  const section = text.split('### ').find((part) => part.startsWith(heading)) ?? '';
  const rows = section.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.find((cells) => cells[1] === first)?.slice(1, -1) ?? [];
}

describe('a report', () => {
  it('compares what one server costs with the first row', () => {
    const { text } = reportOf([measuredOf(1_000, { seconds: 2 }), measuredOf(10_000, { seconds: 30 })], CIRCUMSTANCES);
    expect(rowOf(text, 'From the start', '1,000').slice(1, 3)).toEqual(['2.0', '× 1.00']);
    expect(rowOf(text, 'From the start', '10,000').slice(1, 3)).toEqual(['30.0', '× 1.50']);
  });

  it('has the median of times and the worst of memory and actions', () => {
    const runs = [{ seconds: 9, peakMib: 200, actions: 0 }, { seconds: 3, peakMib: 300, actions: 4 }, { seconds: 5 }];
    const { text } = reportOf([measuredOf(10, ...runs)], CIRCUMSTANCES);
    expect(rowOf(text, 'From the start', '10')).toEqual([
      '10',
      '5.0',
      '× 1.00',
      '5.0',
      '× 1.00',
      '5.0',
      '× 1.00',
      '300',
    ]);
    expect(rowOf(text, 'Afterwards', '10').slice(1, 5)).toEqual(['5.0', '× 1.00', '4', '300']);
  });

  it('says what must not be', () => {
    const { failures, text } = reportOf(
      [
        measuredOf(1_000, { actions: 2 }, {}),
        measuredOf(10_000, {}, { peakMib: 513 }),
        measuredOf(20_000, { peakMib: 900 }),
      ],
      CIRCUMSTANCES,
    );
    expect(failures).toEqual([
      '1000 servers: a restart without a change acted 2 times',
      '10000 servers: 513 MiB of memory, and at most 512 are allowed',
    ]);
    for (const failure of failures) expect(text).toContain(failure);
  });

  it('finds nothing wrong with what is right', () => {
    expect(reportOf([measuredOf(10_000, { peakMib: 512 })], CIRCUMSTANCES).failures).toEqual([]);
  });

  it('has PostgreSQL beside it, where that was measured', () => {
    const measured = [{ ...measuredOf(10_000, { seconds: 3 }), onPostgres: [runOf({ seconds: 5, actions: 1 })] }];
    const { text, failures } = reportOf(measured, { ...CIRCUMSTANCES, postgres: '18.4' });
    expect(rowOf(text, 'With the store on PostgreSQL 18.4', '10,000').slice(1, 3)).toEqual(['5.0', '× 1.00']);
    expect(failures).toEqual(['10000 servers: a restart without a change acted 1 times']);
    expect(reportOf(measured, CIRCUMSTANCES).text).not.toContain('PostgreSQL');
    const rows = lineRows(measured, CIRCUMSTANCES).filter(({ peer }) => peer === 'embedded store');
    expect(rows).toMatchObject([{ value: 5, peerValue: 3, ratio: 0.6, verdict: 'reached' }]);
  });

  it('has terraform beside it, or says why not', () => {
    const run = { seconds: 4, cpuSeconds: 2, peakBytes: 80 * MIB, writtenBytes: 0 };
    const through = { ...measuredOf(10, {}), terraform: { apply: run, plan: { ...run, seconds: 1 } } };
    const cutOff = { ...measuredOf(20, {}), terraform: { apply: { ...run, seconds: undefined }, plan: undefined } };
    const { text } = reportOf([through, cutOff], BESIDE);
    expect(rowOf(text, 'Terraform 1.2.3', '10')).toEqual([
      '10',
      '4.0',
      '× 1.00',
      '2.0',
      '× 1.00',
      '80',
      '1.0',
      '× 1.00',
    ]);
    expect(rowOf(text, 'Terraform 1.2.3', '20')).toEqual(['20', '–', '–', '–', '–', '–', '–', '–']);
    expect(text).toContain('–: not through after 900 s.');
    expect(reportOf([through], BESIDE).text).not.toContain('not through');
    expect(reportOf([measuredOf(10, {})], BESIDE).text).toContain('Terraform was run at none of these sizes.');
    expect(reportOf([measuredOf(10, {})], CIRCUMSTANCES).text).toContain('Terraform was left out: --no-terraform.');
  });
});

it.each([
  { numbers: [3, 1, 2], middle: 2 },
  { numbers: [4, 1, 3, 2], middle: 2.5 },
  { numbers: [7], middle: 7 },
  { numbers: [], middle: Number.NaN },
])('the median of $numbers is $middle', ({ numbers, middle }) => {
  expect(median(numbers)).toBe(middle);
});
