// The benchmark `execute`: what Treeline adds to the time of the programs that it runs, beside the same programs run by
// a bare loop, and what 1,000 long-running calls cost in memory. docs/benchmarks.md says how to read it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { encodeCall } from '../src/providers/call-json.ts';
import { callOf } from '../test/support/calls.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { rowOf } from './bench-row.ts';
import { markdownTable } from './markdown-table.ts';
import { printedResult } from './printed-result.ts';

const BARE_LOOP = join(import.meta.dirname, 'bare-loop.ts');
const RUN = join(import.meta.dirname, 'execute-run.ts');
const SERVERS_MAX = 10_000;
const ROUNDS_MAX = 100;
const CONCURRENCY = 50;
const PROGRAM_MS = 50;
/** Each server is checked, and then created. */
const CALLS_A_SERVER = 2;
const SHARE_MAX = 0.25;
/** A bare loop that takes so many times what it needs does not have the machine for itself. */
const BUSY = 1.5;
const LONG_CALLS_MAX = 2_000;
const RUN_MS_MAX = 20 * 60_000;
const MIB = 2 ** 20;

/** Takes 50 ms for every call; a check finds nothing. */
const PROGRAM = `#!/bin/sh
read -r call || exit 1
sleep ${PROGRAM_MS / 1000}
case $call in
  *'"operation":"check"'*) echo '{"outcome":"absent"}' ;;
  *) echo '{"outcome":"done"}' ;;
esac
`;
/** A call as the controller makes it: to read it is the program's own time. */
const INPUT = encodeCall(
  callOf({
    action: 'load-1000.1795348746662.create',
    resource: 'load-1000',
    properties: { name: 'load-1000', size: 'small' },
    record: {
      ...{ name: 'load-1000', description: 'server of load', type: 'clientcert', stackInstance: ['load'] },
      ...{ last_stack_update: '2027-01-15T08:00:00Z', size: 'small' },
    },
  }),
);
const LONG_PROGRAM = '#!/bin/sh\nexec sleep 600\n';

/** Returns the part `execute` of the table. */
export const EXECUTE = definePart({
  name: 'execute',
  summary: 'programs run by a provider, beside the same programs run by a bare loop',
  options: {
    servers: { kind: 'number', default: 2_000, quick: 100, max: SERVERS_MAX, help: 'servers, two calls each' },
    rounds: { kind: 'number', default: 3, quick: 1, max: ROUNDS_MAX, help: 'rounds; the best counts' },
    calls: { kind: 'number', default: 1_000, quick: 100, max: LONG_CALLS_MAX, help: 'calls that run for long' },
  },
  run: benchExecute,
});

async function benchExecute(options: Options, context: BenchContext): Promise<PartReport> {
  const { folder, say } = context;
  const rounds = await measureRounds(context, options);
  say(`${options.calls} calls that run for long`);
  const program = writeProgram(folder, 'long', LONG_PROGRAM);
  const memory = await measure<Memory>(folder, [RUN, 'memory', program, `${options.calls}`]);
  const bare = best(rounds.map((round) => round.bare));
  const treeline = best(rounds.map((round) => round.treeline));
  const isBusy = bare.ms > BUSY * Math.max(idealMs(options), bare.cpuMs / availableParallelism());
  const share = isBusy ? 1 - bare.cpuMs / treeline.cpuMs : 1 - bare.ms / treeline.ms;
  const row = rowOf({
    work: `${options.servers.toLocaleString('en')} servers by programs of ${PROGRAM_MS} ms: time that is not the programs' own`,
    ...{ value: share * 100, unit: '%', target: { atMost: SHARE_MAX * 100 } },
    ...(isBusy ? { note: 'of the processor time, since other work took most of the machine' } : {}),
  });
  return { rows: [row], text: reportOf({ options, bare, treeline, isBusy, share, memory }), failures: [] };
}

interface Options {
  readonly servers: number;
  readonly rounds: number;
  readonly calls: number;
}

/** The time that all calls together took. */
interface Times {
  readonly ms: number;
  /** Processor time, of the programs too. */
  readonly cpuMs: number;
}

interface Round {
  readonly bare: Times;
  readonly treeline: Times;
}

interface Memory {
  readonly beforeBytes: number;
  readonly duringBytes: number;
  /** From the abort of all calls until the last has ended. */
  readonly endMs: number;
}

interface Measured {
  readonly options: Options;
  readonly bare: Times;
  readonly treeline: Times;
  /** Other work took much of the machine: only processor time can be compared. */
  readonly isBusy: boolean;
  readonly share: number;
  readonly memory: Memory;
}

/** Each round runs both, so that a busy minute of the machine meets both. */
async function measureRounds({ folder, say }: BenchContext, { servers, rounds }: Options): Promise<readonly Round[]> {
  const program = writeProgram(folder, 'program', PROGRAM);
  const count = servers * CALLS_A_SERVER;
  const measured: Round[] = [];
  for (let index = 1; index <= rounds; index++) {
    say(`round ${index} of ${rounds}: ${count} programs by a bare loop`);
    const bare = await measure<Times>(folder, [BARE_LOOP, program, `${count}`, `${CONCURRENCY}`, INPUT]);
    say(`${seconds(bare.ms)} s; ${servers} servers by the controller`);
    const treeline = await measure<Times>(folder, [RUN, 'servers', program, `${servers}`, `${CONCURRENCY}`]);
    say(`${seconds(treeline.ms)} s`);
    measured.push({ bare, treeline });
  }
  return measured;
}

function measure<Result>(folder: string, args: readonly string[]): Promise<Result> {
  return printedResult<Result>(folder, { args, msMax: RUN_MS_MAX });
}

function writeProgram(folder: string, name: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.sh`);
  writeFileSync(file, text, { mode: 0o755 });
  return file;
}

/** The least that each took: other work on the machine only ever adds. */
function best(times: readonly Times[]): Times {
  return {
    ms: Math.min(...times.map(({ ms }) => ms)),
    cpuMs: Math.min(...times.map(({ cpuMs }) => cpuMs)),
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

function idealMs({ servers }: Options): number {
  return (servers * CALLS_A_SERVER * PROGRAM_MS) / CONCURRENCY;
}

function reportOf({ options, bare, treeline, isBusy, share, memory }: Measured): string {
  const { servers, rounds, calls } = options;
  const count = servers * CALLS_A_SERVER;
  const rowOf = (what: string, ms: number, cpuMs?: number): string[] => [
    what,
    seconds(ms),
    (ms / count).toFixed(2),
    String(Math.round((count / ms) * 1000)),
    cpuMs === undefined ? '–' : (cpuMs / count).toFixed(2),
  ];
  const rows = [
    rowOf('nothing but the waits', idealMs(options)),
    rowOf('bare loop', bare.ms, bare.cpuMs),
    rowOf('Treeline', treeline.ms, treeline.cpuMs),
  ];
  const { beforeBytes, duringBytes, endMs } = memory;
  const addedBytes = duringBytes - beforeBytes;
  return [
    `${servers} servers, a check and a create of ${PROGRAM_MS} ms each, ${CONCURRENCY} at once; the best of ${rounds} rounds.\n`,
    markdownTable(['', 'time, s', 'a call, ms', 'calls a second', 'CPU a call, ms'], rows),
    isBusy ? '\nOther work took most of the machine, so only the processor time can be compared.' : '',
    `\nThe share of Treeline's ${isBusy ? 'processor time' : 'time'} that is not the programs' own is ${(share * 100).toFixed(0)} %; at most ${SHARE_MAX * 100} % is allowed.`,
    `\n${calls} calls at once: ${(addedBytes / MIB).toFixed(0)} MiB more memory, ${(addedBytes / 1024 / calls).toFixed(0)} KiB a call; all ended within ${seconds(endMs)} s.`,
  ].join('\n');
}
