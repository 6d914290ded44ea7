// The benchmark `execute`: Treeline's overhead on the time of programs, compared with the same programs in a bare loop.
// docs/benchmarks.md explains the results.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeCall } from '../src/providers/provider.ts';
import { callOf } from '../test/support/calls.ts';
import { type BenchContext, type BenchPart, type PartReport, rowOf } from './bench-row.ts';
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
/** A call of the controller. Reading it is part of the program's time. */
const INPUT = encodeCall(
  callOf({
    action: 'load-1000.1795348746662.create',
    resource: 'load-1000',
    properties: { name: 'load-1000', size: 'small' },
    record: {
      name: 'load-1000',
      description: 'server of load',
      type: 'clientcert',
      stackInstance: ['load'],
      last_stack_update: '2027-01-15T08:00:00Z',
      size: 'small',
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
  const servers = context.isQuick ? 100 : 2_000;
  const rounds = await measureRounds(context, servers, context.isQuick ? 1 : 3);
  // The minimum, because other work on the machine only adds time.
  const leastBareMs = Math.min(...rounds.map(({ bareMs }) => bareMs));
  const leastTreelineMs = Math.min(...rounds.map(({ treelineMs }) => treelineMs));
  const row = rowOf({
    work: `${servers.toLocaleString('en')} servers by programs of ${PROGRAM_MS} ms: time that is not the programs' own`,
    value: (1 - leastBareMs / leastTreelineMs) * 100,
    unit: '%',
    target: { atMost: SHARE_MAX * 100 },
  });
  return { rows: [row], failures: [] };
}

/** The total time of all calls. */
interface Round {
  readonly bareMs: number;
  readonly treelineMs: number;
}

/** Each round runs both, so that a busy minute of the machine affects both. */
async function measureRounds(
  { folder, say }: BenchContext,
  servers: number,
  rounds: number,
): Promise<readonly Round[]> {
  const program = join(folder, 'program.sh');
  writeFileSync(program, PROGRAM, { mode: 0o755 });
  const measure = async (script: string, count: number, ...more: readonly string[]): Promise<number> => {
    const args = [script, program, `${count}`, `${CONCURRENCY}`, ...more];
    return (await printedResult<{ readonly ms: number }>(folder, { args, msMax: RUN_MS_MAX })).ms;
  };
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round++) {
    const bareMs = await measure(BARE_LOOP, servers * CALLS_A_SERVER, INPUT);
    const treelineMs = await measure(RUN, servers);
    say(
      `round ${round} of ${rounds}: ${Math.round(bareMs)} ms by a bare loop, ${Math.round(treelineMs)} ms by the controller`,
    );
    measured.push({ bareMs, treelineMs });
  }
  return measured;
}
