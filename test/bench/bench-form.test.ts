import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type BenchReport, hasMissedTarget, tableText } from '../../bench/bench-report.ts';
import { absentRow, numberText, type PartReport, rowOf } from '../../bench/bench-row.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const READ = { work: 'a read', value: 300, unit: '/s' } as const;
const START = { work: 'a start', value: 2, unit: 's' } as const;
const EMPTY: PartReport = { rows: [], failures: [] };

describe('a row', () => {
  it.each([
    { of: { ...READ, target: { atLeast: 200 } }, verdict: 'reached', target: '≥ 200 /s' },
    { of: { ...READ, target: { atLeast: 301 } }, verdict: 'missed', target: '≥ 301 /s' },
    { of: { ...START, target: { atMost: 2 } }, verdict: 'reached', target: '≤ 2 s' },
    { of: { ...START, target: { atMost: 1.5 } }, verdict: 'missed', target: '≤ 1.5 s' },
    { of: { ...START, target: {} }, verdict: 'measured', target: 'measured, not promised' },
  ])('with the target $target is $verdict', ({ of, verdict, target }) => {
    expect(rowOf(of)).toMatchObject({ verdict, target });
  });

  it.each([
    { of: { ...READ, peer: { name: 'bare', value: 400 } }, ratio: 0.75 },
    { of: { ...START, peer: { name: 'terraform', value: 40 } }, ratio: 20 },
  ])('has a ratio above 1 where it is better than its peer: $of.work', ({ of, ratio }) => {
    const reached = rowOf({ ...of, target: { ratioMin: ratio } });
    expect(reached).toMatchObject({ ratio, peer: of.peer, verdict: 'reached' });
    expect(rowOf({ ...of, target: { ratioMin: ratio + 0.01 } }).verdict).toBe('missed');
  });

  it('is judged by its ratio, or by its value if the peer was not measured', () => {
    const target = { ratioMin: 20, atMost: 3 };
    expect(rowOf({ ...START, target, peer: { name: 'p', value: 30 } }).verdict).toBe('missed');
    const absent = rowOf({ ...START, target, peer: { name: 'p', absence: 'there is none' } });
    expect(absent).toMatchObject({ verdict: 'reached', target: 'ratio ≥ 20 (≤ 3 s)' });
  });

  it('is not measured if only its ratio has a target and the peer was not measured', () => {
    const row = rowOf({ ...READ, target: { ratioMin: 0.6 }, peer: { name: 'p', absence: 'there is none' } });
    expect(row).toMatchObject({ verdict: 'not measured', peer: { absence: 'there is none' } });
  });

  it.each([
    [12_345.6, '12,346'],
    [12.34, '12.3'],
    [1.234, '1.23'],
    [0.01234, '0.0123'],
    [0, '0'],
    [undefined, '–'],
    [Number.NaN, '–'],
  ])('shows %d as %s', (value, text) => {
    expect(numberText(value)).toBe(text);
  });
});

const REPORT: BenchReport = {
  loadAtStart: 0.5,
  isQuick: false,
  parts: [
    {
      part: 'reads',
      rows: [
        rowOf({
          ...READ,
          target: { ratioMin: 0.6 },
          peer: { name: 'bare', value: 1_000 },
        }),
        absentRow('another read', 'no time'),
      ],
      failures: ['an answer was wrong'],
    },
  ],
};

describe('a report', () => {
  it('has one line for each row, with peers and verdict', () => {
    const text = tableText(REPORT);
    expect(text).toContain('| reads | a read | 300 /s | bare | 1,000 /s | 0.3 | ratio ≥ 0.6 | MISSED |');
    expect(text).toContain('| reads | another read | – | – | – | – | – | not measured: no time |');
    expect(text).toContain('0 reached, 1 missed, 0 without a target, 1 not measured.');
    expect(text).toContain('- **reads: an answer was wrong**');
  });

  it('says that sizes were small', () => {
    expect(tableText({ ...REPORT, isQuick: true })).toContain('**Small sizes (`--quick`)**');
  });

  it('misses no target at small sizes, except for wrong results', () => {
    const row = rowOf({ ...START, target: { atMost: 1 } });
    const parts = [{ ...EMPTY, part: 'starts', rows: [row] }];
    expect(hasMissedTarget({ ...REPORT, parts })).toBe(true);
    expect(hasMissedTarget({ ...REPORT, parts, isQuick: true })).toBe(false);
    expect(hasMissedTarget({ ...REPORT, parts: [{ ...EMPTY, part: 'starts', failures: ['no'] }], isQuick: true })).toBe(
      true,
    );
  });
});

it('a benchmark removes its folder if it is interrupted before its first process', async () => {
  const folder = temporaryDirectory();
  const bench = spawn(process.execPath, ['bench/run.ts', 'records', '--quick'], {
    env: { ...process.env, TMPDIR: folder },
    stdio: 'ignore',
  });
  onTestFinished(() => void bench.kill('SIGKILL'));
  await vi.waitFor(() => expect(readdirSync(folder)).toHaveLength(1), { timeout: 20_000, interval: 5 });
  bench.kill('SIGINT');
  expect(await once(bench, 'exit')).toEqual([130, null]);
  expect(readdirSync(folder)).toEqual([]);
});

it('every benchmark is described in docs/benchmarks.md, by a heading', async () => {
  const document = readFileSync('docs/benchmarks.md', 'utf8');
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/run.ts', '--help']);
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = '']) => name);
  expect(names).toEqual(expect.arrayContaining(['reads', 'stalls']));
  const headings = document.match(/(?<=^### ).*$/gm) ?? [];
  expect(headings.map((heading) => heading.toLowerCase())).toEqual(expect.arrayContaining(names));
});
