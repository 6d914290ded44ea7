// The benchmark `execute`: what Treeline adds to the time of the programs that it runs, beside the same programs run by
// a bare loop. docs/benchmarks.md says how to read it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeCall } from '../src/providers/provider.ts';
import { callOf } from '../test/support/calls.ts';
import type { BenchContext, BenchPart, PartReport } from './bench-part.ts';
import { rowOf } from './bench-row.ts';
import { printedResult } from './printed-result.ts';

const BARE_LOOP = join(import.meta.dirname, 'bare-loop.ts');
const RUN = join(import.meta.dirname, 'execute-run.ts');
const CONCURRENCY = 50;
const PROGRAM_MS = 50;
/** Each server is checked, and then created. */
const CALLS_A_SERVER = 2;
const SHARE_MAX = 0.25;
const RUN_MS_MAX = 20 * 60_000;

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

/** The part `execute` of the table. */
export const EXECUTE: BenchPart = {
  name: 'execute',
  summary: 'programs run by a provider, beside the same programs run by a bare loop',
  run: benchExecute,
};

async function benchExecute(context: BenchContext): Promise<PartReport> {
  const options = context.isQuick ? { servers: 100, rounds: 1 } : { servers: 2_000, rounds: 3 };
  const rounds = await measureRounds(context, options);
  // The least that each took: other work on the machine only ever adds.
  const bareMs = Math.min(...rounds.map(({ bare }) => bare.ms));
  const treelineMs = Math.min(...rounds.map(({ treeline }) => treeline.ms));
  const row = rowOf({
    work: `${options.servers.toLocaleString('en')} servers by programs of ${PROGRAM_MS} ms: time that is not the programs' own`,
    ...{ value: (1 - bareMs / treelineMs) * 100, unit: '%', target: { atMost: SHARE_MAX * 100 } },
  });
  return { rows: [row], failures: [] };
}

interface Options {
  readonly servers: number;
  readonly rounds: number;
}

/** The time that all calls together took. */
interface Times {
  readonly ms: number;
}

interface Round {
  readonly bare: Times;
  readonly treeline: Times;
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
    const treeline = await measure<Times>(folder, [RUN, program, `${servers}`, `${CONCURRENCY}`]);
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

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
