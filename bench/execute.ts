// The benchmark `execute`: what Treeline adds to the time of the programs that it runs, beside the same programs run by
// a bare loop, and what 1,000 long-running calls cost in memory. docs/benchmarks.md says how to read it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Controller, startController } from '../src/compose.ts';
import { loadSettings } from '../src/load-settings.ts';
import { createLog } from '../src/log.ts';
import { createExecProvider } from '../src/providers/exec/exec-provider.ts';
import { RunningCalls } from '../src/providers/exec/running-calls.ts';
import { callOf } from '../test/support/calls.ts';
import { createSiteIn } from '../test/support/site-on-disk.ts';
import { machineOf, say, wholeNumber } from './machine.ts';
import { markdownTable } from './markdown-table.ts';

const SERVERS_MAX = 10_000;
const CONCURRENCY = 50;
const PROGRAM_MS = 50;
/** Each server is checked, and then created. */
const CALLS_A_SERVER = 2;
const SHARE_MAX = 0.25;
const LONG_CALLS_MAX = 2_000;
const DONE_MS_MAX = 15 * 60_000;
const POLL_MS = 5;
const INSTANCE = 'load';
const MIB = 2 ** 20;

/** Takes 50 ms for every call; a check finds nothing. */
const PROGRAM = `#!/bin/sh
read -r call
sleep ${PROGRAM_MS / 1000}
case $call in
  *'"operation":"check"'*) echo '{"outcome":"absent"}' ;;
  *) echo '{"outcome":"done"}' ;;
esac
`;

/**
 * Prints a report in Markdown, with progress on standard error. Returns whether the share of time that is not the
 * programs' own is within its limit.
 */
export async function benchExecute(args: readonly string[]): Promise<boolean> {
  const { servers, calls } = optionsOf(args);
  const folder = mkdtempSync(join(tmpdir(), 'treeline-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const program = join(folder, 'program.sh');
  writeFileSync(program, PROGRAM, { mode: 0o755 });
  say(`${servers * CALLS_A_SERVER} programs by a bare loop`);
  const bareMs = await runBare(program, servers * CALLS_A_SERVER);
  say(`${servers} servers by the controller`);
  const treelineMs = await runController(folder, { program, servers });
  say(`${calls} calls that run for long`);
  const memory = await measureMemory(folder, calls);
  const share = 1 - bareMs / treelineMs;
  process.stdout.write(`${reportOf({ servers, bareMs, treelineMs, share, calls, memory })}\n`);
  return share <= SHARE_MAX;
}

interface Measured {
  readonly servers: number;
  readonly bareMs: number;
  readonly treelineMs: number;
  readonly share: number;
  readonly calls: number;
  readonly memory: Memory;
}

interface Memory {
  readonly beforeBytes: number;
  readonly duringBytes: number;
  /** From the abort of all calls until the last has ended. */
  readonly endMs: number;
}

function optionsOf(args: readonly string[]): { readonly servers: number; readonly calls: number } {
  const { values } = parseArgs({
    args: [...args],
    options: { servers: { type: 'string', default: '2000' }, calls: { type: 'string', default: '1000' } },
  });
  return {
    servers: wholeNumber(values.servers, { option: '--servers', max: SERVERS_MAX }),
    calls: wholeNumber(values.calls, { option: '--calls', max: LONG_CALLS_MAX }),
  };
}

/** Returns how long that many programs take with nothing around them, as many at once. */
async function runBare(program: string, count: number): Promise<number> {
  let begun = 0;
  const begin = performance.now();
  const runAll = async (): Promise<void> => {
    while (begun++ < count) await runOnce(program);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runAll));
  return performance.now() - begin;
}

function runOnce(program: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [], { env: {}, stdio: ['pipe', 'pipe', 'pipe'] });
    child.on('error', reject);
    child.on('close', () => resolve());
    child.stdout.resume();
    child.stderr.resume();
    child.stdin.end('{"version":1,"operation":"create"}\n');
  });
}

interface Load {
  readonly program: string;
  readonly servers: number;
}

/** Returns the time from the first running program until every server is done. */
async function runController(folder: string, { program, servers }: Load): Promise<number> {
  const execution = `  concurrency: ${CONCURRENCY}
  providers:
    - { name: lab, provider: exec, command: [${program}], concurrency: ${CONCURRENCY} }`;
  const site = await createSiteIn(join(folder, 'site'), { files: filesOf(servers), execution, provider: 'lab' });
  const controller = await startController(await loadSettings(site.config), { log: createLog('silent') });
  try {
    const running = join(site.state, 'running');
    await until('the first program runs', () => readdirSync(running).length > 1);
    const begin = performance.now();
    await until('all servers are done', () => statusOf(controller) === 'Done');
    return performance.now() - begin;
  } finally {
    await controller.stop();
  }
}

function filesOf(servers: number): Readonly<Record<string, string>> {
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/load.yaml': `resources:
  server:
    type: Platform::ResourceGroup
    properties:
      count: "${servers}"
      resource_def: { properties: { name: "load-<<index>>", size: small } }
`,
    [`stacks/instances/${INSTANCE}.yaml`]: 'stackTemplate: load\n',
  };
}

function statusOf({ reader, ready }: Controller): string {
  return ready() === true ? reader.status(INSTANCE) : '';
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const end = performance.now() + DONE_MS_MAX;
  while (!isTrue()) {
    if (performance.now() > end) throw new Error(`it took more than ${DONE_MS_MAX / 1000} s until ${what}`);
    await sleep(POLL_MS);
  }
}

/** The memory of this process only: that of the programs is their own. */
async function measureMemory(folder: string, count: number): Promise<Memory> {
  const log = createLog('silent');
  const directory = join(folder, 'running');
  const calls = await RunningCalls.open(directory, log);
  const provider = createExecProvider({
    command: ['/bin/sleep', '600'],
    directory: folder,
    environment: {},
    calls,
    log,
  });
  const beforeBytes = process.memoryUsage.rss();
  const end = new AbortController();
  const performed = Array.from({ length: count }, (_, index) =>
    provider.perform(callOf({ resource: `load-${index}` }), end.signal),
  );
  const ended = Promise.allSettled(performed);
  await until('all calls run', () => readdirSync(directory).length > count);
  const duringBytes = process.memoryUsage.rss();
  const begin = performance.now();
  end.abort(new Error('the benchmark is over'));
  await ended;
  const endMs = performance.now() - begin;
  await provider.close();
  await calls.close();
  return { beforeBytes, duringBytes, endMs };
}

function reportOf({ servers, bareMs, treelineMs, share, calls, memory }: Measured): string {
  const count = servers * CALLS_A_SERVER;
  const idealMs = (count * PROGRAM_MS) / CONCURRENCY;
  const seconds = (ms: number): string => (ms / 1000).toFixed(2);
  const rowOf = (what: string, ms: number): string[] => [
    what,
    seconds(ms),
    (ms / count).toFixed(2),
    String(Math.round((count / ms) * 1000)),
  ];
  const times = [rowOf('nothing but the waits', idealMs), rowOf('bare loop', bareMs), rowOf('Treeline', treelineMs)];
  const { beforeBytes, duringBytes, endMs } = memory;
  const addedBytes = duringBytes - beforeBytes;
  return [
    `${machineOf()}. ${servers} servers, a check and a create of ${PROGRAM_MS} ms each, ${CONCURRENCY} at once.\n`,
    markdownTable(['', 'time, s', 'a call, ms', 'calls a second'], times),
    `\nThe share of Treeline's time that is not the programs' own is ${(share * 100).toFixed(0)} %; at most ${SHARE_MAX * 100} % is allowed.`,
    `\n${calls} calls at once: ${(addedBytes / MIB).toFixed(0)} MiB more memory, ${(addedBytes / 1024 / calls).toFixed(0)} KiB a call; all ended within ${seconds(endMs)} s.`,
  ].join('\n');
}
