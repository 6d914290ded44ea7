// One measurement of the benchmark `execute` in a process of its own: `execute-run.ts servers PROGRAM COUNT CONCURRENCY`, or
// `execute-run.ts memory PROGRAM COUNT`. Prints one line of JSON.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../src/base/log.ts';
import { type Controller, startController } from '../src/compose.ts';
import { ProgramRunner } from '../src/programs/program-runner.ts';
import { createExecProvider } from '../src/providers/exec/exec-provider.ts';
import { loadSettings } from '../src/settings/load-settings.ts';
import { callOf } from '../test/support/calls.ts';
import { createSiteIn } from '../test/support/site-on-disk.ts';
import { familyCpuMs } from './process-time.ts';

const DONE_MS_MAX = 15 * 60_000;
/** Asking costs time too. */
const POLL_MS = 50;
const INSTANCE = 'load';

interface Load {
  readonly program: string;
  readonly count: number;
  readonly concurrency: number;
}

/** Measures from the first running program until every server is done. */
async function measureServers({ program, count, concurrency }: Load): Promise<object> {
  const execution = `  concurrency: ${concurrency}
  providers:
    - { name: lab, provider: exec, command: [${program}], concurrency: ${concurrency} }`;
  const site = await createSiteIn(join(process.cwd(), 'site'), { files: filesOf(count), execution, provider: 'lab' });
  const controller = await startController(await loadSettings(site.config), { log: createLog('silent') });
  try {
    const directory = join(site.state, 'running');
    await until('the first program runs', () => callsIn(directory) > 0);
    const begin = performance.now();
    const cpuBefore = familyCpuMs();
    // Asking for the status of so many servers costs time too, and where a program runs they are not done.
    await until('all servers are done', () => callsIn(directory) === 0 && statusOf(controller) === 'Done');
    const ms = performance.now() - begin;
    await controller.stop();
    return { ms, cpuMs: familyCpuMs() - cpuBefore };
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

/** The memory of this process: that of the programs, and of their shells, is their own. */
async function measureMemory({ program, count }: Load): Promise<object> {
  const log = createLog('silent');
  const directory = join(process.cwd(), 'running');
  const runner = await ProgramRunner.open(directory, log);
  const provider = createExecProvider({
    ...{ command: [program], directory: process.cwd(), environment: {}, runner, log },
  });
  const memory = (): number => process.memoryUsage.rss();
  const runs = (calls: number) => (): boolean => callsIn(directory) >= calls;
  const end = new AbortController();
  const performed: Promise<unknown>[] = [];
  const perform = (): void => {
    performed.push(provider.perform(callOf({ resource: `load-${performed.length}` }), end.signal));
  };
  perform();
  await until('the first call runs', runs(1));
  const beforeBytes = memory();
  for (let index = 1; index < count; index++) perform();
  await until('all calls run', runs(count));
  const duringBytes = memory();
  const begin = performance.now();
  end.abort(new Error('the benchmark is over'));
  await Promise.allSettled(performed);
  const endMs = performance.now() - begin;
  await provider.close();
  return { beforeBytes, duringBytes, endMs };
}

/** Returns the number of calls that are recorded as running. */
function callsIn(directory: string): number {
  return existsSync(directory) ? readdirSync(directory).length : 0;
}

const [kind, program = '', count = '', concurrency = ''] = process.argv.slice(2);
const load = { program, count: Number(count), concurrency: Number(concurrency) };
const measured = kind === 'memory' ? await measureMemory(load) : await measureServers(load);
process.stdout.write(`${JSON.stringify(measured)}\n`);
