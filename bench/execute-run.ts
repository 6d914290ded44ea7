// One measurement of the benchmark `execute` in a separate process: `execute-run.ts PROGRAM COUNT CONCURRENCY`. Prints
// one line of JSON.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../src/base/log.ts';
import { type Controller, startController } from '../src/compose.ts';
import { loadSettings } from '../src/settings/load-settings.ts';
import { createSiteIn } from '../test/support/site-on-disk.ts';

const DONE_MS_MAX = 15 * 60_000;
/** The pause between two polls, which also cost time. */
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
    // Asks for the status only when no program runs, because the status of many servers costs time.
    await until('all servers are done', () => callsIn(directory) === 0 && statusOf(controller) === 'Done');
    return { ms: performance.now() - begin };
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
  return ready() === true ? reader().status(INSTANCE) : '';
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const end = performance.now() + DONE_MS_MAX;
  while (!isTrue()) {
    if (performance.now() > end) throw new Error(`it took more than ${DONE_MS_MAX / 1000} s until ${what}`);
    await sleep(POLL_MS);
  }
}

/** Returns the number of running calls in the records. */
function callsIn(directory: string): number {
  return existsSync(directory) ? readdirSync(directory).length : 0;
}

const [program = '', count = '', concurrency = ''] = process.argv.slice(2);
const measured = await measureServers({ program, count: Number(count), concurrency: Number(concurrency) });
process.stdout.write(`${JSON.stringify(measured)}\n`);
