import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { helpText, readCommand } from '../../bench/bench-options.ts';
import { definePart, type PartReport } from '../../bench/bench-part.ts';
import { type BenchReport, isMissed, tableText } from '../../bench/bench-report.ts';
import { absentRow, numberText, rowOf, rowText } from '../../bench/bench-row.ts';
import { machineText, watchMachine } from '../../bench/machine.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const READ = { work: 'a read', value: 300, unit: '/s' } as const;
const START = { work: 'a start', value: 2, unit: 's' } as const;
const EMPTY: PartReport = { rows: [], text: '', failures: [] };

describe('a row', () => {
  it.each([
    { of: { ...READ, target: { atLeast: 200 } }, verdict: 'reached', target: '≥ 200 /s' },
    { of: { ...READ, target: { atLeast: 301 } }, verdict: 'missed', target: '≥ 301 /s' },
    { of: { ...START, target: { atMost: 2 } }, verdict: 'reached', target: '≤ 2 s' },
    { of: { ...START, target: { atMost: 1.5 } }, verdict: 'missed', target: '≤ 1.5 s' },
  ])('with the target $target is $verdict', ({ of, verdict, target }) => {
    expect(rowOf(of)).toMatchObject({ verdict, target });
  });

  it.each([
    { of: { ...READ, peer: { name: 'bare', value: 400 } }, ratio: 0.75 },
    { of: { ...START, peer: { name: 'terraform', value: 40 } }, ratio: 20 },
  ])('has a ratio above 1 where it is better than its peer: $of.work', ({ of, ratio }) => {
    const reached = rowOf({ ...of, target: { ratioMin: ratio } });
    expect(reached).toMatchObject({ ratio, peer: of.peer.name, peerValue: of.peer.value, verdict: 'reached' });
    expect(rowOf({ ...of, target: { ratioMin: ratio + 0.01 } }).verdict).toBe('missed');
  });

  it('is judged by the ratio, and by its value where the peer was not measured', () => {
    const target = { ratioMin: 20, atMost: 3 };
    expect(rowOf({ ...START, target, peer: { name: 'p', value: 30 } }).verdict).toBe('missed');
    const absent = rowOf({ ...START, target, peer: { name: 'p', absence: 'there is none' } });
    expect(absent).toMatchObject({ verdict: 'reached', target: 'ratio ≥ 20 (≤ 3 s)' });
    expect(absent.peerAbsence).toBe('there is none');
  });

  it('is not measured where only its ratio has a target, and the peer was not measured', () => {
    const row = rowOf({ ...READ, target: { ratioMin: 0.6 }, peer: { name: 'p', absence: 'there is none' } });
    expect(row).toMatchObject({ verdict: 'not measured', peer: 'p', peerAbsence: 'there is none' });
  });

  it('is told in one line', () => {
    const row = rowOf({ ...START, target: { ratioMin: 20 }, peer: { name: 'p', value: 30 } });
    expect(rowText(row)).toBe('a start: 2 s, ratio 15; ratio ≥ 20: missed');
    expect(rowText(absentRow('a read', 'no time'))).toBe('a read: –; –: not measured');
  });

  it('names every other peer, or why it was not measured', () => {
    const others = [
      { name: 'Rails', value: 600 },
      { name: 'Express', absence: 'none' },
    ];
    expect(rowOf({ ...READ, target: {}, others }).others).toEqual([
      { peer: 'Rails', value: 600, ratio: 0.5 },
      { peer: 'Express', absence: 'none' },
    ]);
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

const COUNT = definePart({
  name: 'count',
  summary: 'counts',
  options: {
    rounds: { kind: 'number', default: 5, quick: 1, max: 10, help: 'rounds' },
    servers: { kind: 'numbers', default: [10, 20], quick: [1], max: 100, help: 'sizes' },
    only: { kind: 'names', of: ['a', 'b'], help: 'the cases' },
    slowly: { kind: 'flag', help: 'takes its time' },
  },
  run: async () => EMPTY,
});
const OTHER = definePart({ name: 'other', summary: 'does nothing', options: {}, run: async () => EMPTY });
const PARTS = [COUNT, OTHER];

describe('a command line', () => {
  it.each([
    { args: ['count'], values: { rounds: 5, servers: [10, 20], only: ['a', 'b'], slowly: false } },
    { args: [], values: { rounds: 5, servers: [10, 20], only: ['a', 'b'], slowly: false } },
    { args: ['--quick'], values: { rounds: 1, servers: [1], only: ['a', 'b'], slowly: false } },
    { args: ['count', '--rounds', '3', '--quick'], values: { rounds: 3, servers: [1] } },
    {
      args: ['count', '--servers', '7,9', '--only', 'b', '--slowly'],
      values: { servers: [7, 9], only: ['b'], slowly: true },
    },
  ])('$args gives the values of a part', ({ args, values }) => {
    expect(readCommand(args, PARTS).valuesOf(COUNT)).toMatchObject(values);
  });

  it('may name several parts, with the options of all', () => {
    const command = readCommand(['count', 'other', '--details'], PARTS);
    expect(command).toMatchObject({ names: ['count', 'other'], isQuick: false, isDetailed: true });
    expect(() => readCommand(['count', 'other', '--rounds', '1'], PARTS)).toThrow(/rounds/);
  });

  it.each([
    { args: ['nothing'], said: 'there is no benchmark "nothing"; say one of: count, other' },
    { args: ['count', '--rounds', '11'], said: '--rounds: "11" is no whole number from 1 to 10' },
    { args: ['count', '--servers', '5,x'], said: '--servers: "x" is no whole number from 1 to 100' },
    { args: ['count', '--only', 'c'], said: '--only: there is no "c"; say some of: a, b' },
    { args: ['--details', 'count'], said: /'count'.*; names come before options/ },
    { args: ['count', 'other', '--rounds', '1'], said: /'--rounds'.*; .* --help lists them/ },
  ])('$args is refused', ({ args, said }) => {
    expect(() => readCommand(args, PARTS).valuesOf(COUNT)).toThrow(said);
  });

  it('has help on the parts, and on the options of one', () => {
    expect(helpText([], PARTS)).toContain('  count  counts\n  other  does nothing\n');
    expect(helpText([], PARTS)).not.toContain('--rounds');
    expect(helpText(['count'], PARTS)).toContain('--servers: sizes (10,20; 1 with --quick).');
    expect(helpText(['count'], PARTS)).toContain('--only: the cases (all). Some of: a, b.');
  });
});

const MACHINE = { ...watchMachine()(), isBusy: false };
const REPORT: BenchReport = {
  machine: MACHINE,
  isQuick: false,
  parts: [
    {
      part: 'reads',
      rows: [
        rowOf({
          ...{ ...READ, target: { ratioMin: 0.6 }, peer: { name: 'bare', value: 1_000 } },
          others: [{ name: 'Rails', absence: 'there is none' }],
        }),
        absentRow('another read', 'no time'),
      ],
      text: 'All about reads.',
      failures: ['an answer was wrong'],
    },
  ],
};

describe('a report', () => {
  it('has one line for each row, with peers and verdict', () => {
    const text = tableText(REPORT);
    expect(text).toContain(
      '| reads | a read | 300 /s | bare<br>Rails | 1,000 /s<br>not measured: there is none | 0.3<br>– | ratio ≥ 0.6 | MISSED |',
    );
    expect(text).toContain('| reads | another read | – | – | – | – | – | not measured: no time |');
    expect(text).toContain('0 reached, 1 missed, 1 not measured.');
    expect(text).toContain('- **reads: an answer was wrong**');
  });

  it('says that the machine was busy, and that sizes were small', () => {
    const report = { ...REPORT, machine: { ...MACHINE, isBusy: true }, isQuick: true };
    expect(tableText(report)).toContain('**The machine was busy**');
    expect(tableText(report)).toContain('**Small sizes (`--quick`)**');
    expect(machineText(MACHINE)).not.toContain('busy');
  });

  it('misses nothing at small sizes, but for what must not be', () => {
    const row = rowOf({ ...START, target: { atMost: 1 } });
    const parts = [{ ...EMPTY, part: 'starts', rows: [row] }];
    expect(isMissed({ ...REPORT, parts })).toBe(true);
    expect(isMissed({ ...REPORT, parts, isQuick: true })).toBe(false);
    expect(isMissed({ ...REPORT, parts: [{ ...EMPTY, part: 'starts', failures: ['no'] }], isQuick: true })).toBe(true);
  });
});

it('removes its folder where it is interrupted before it has started a process', async () => {
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
