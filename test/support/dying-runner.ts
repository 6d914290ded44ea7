// Starts a program as a runner does, and kills itself: `dying-runner.ts MOMENT DIRECTORY PROGRAM…`. Prints the id of the
// program's process group first.
import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { CallRecords } from '../../src/programs/call-records.ts';
import { findLauncher } from '../../src/programs/launcher.ts';
import { RunningProgram } from '../../src/programs/run-program.ts';
import { encodeCall } from '../../src/providers/provider.ts';
import { callOf } from './calls.ts';

/** More than a socket holds. */
const LONG_TEXT = 'x'.repeat(2 ** 22);

const [moment = '', directory = '', file = '', ...args] = process.argv.slice(2);
mkdirSync(join(directory, 'running'), { recursive: true });
const [about, mark] = [{ server: 'web-1', operation: 'create', action: 'c1' }, 'mark-of-a-test'];
const limits = { outputBytesMax: 1000, graceMs: 0, signal: new AbortController().signal };
const order = { command: [file, ...args] as const, directory, environment: { SERVERS: directory }, about, ...limits };
const program = await RunningProgram.start({ ...order, input: '' }, mark, findLauncher());
if (moment !== 'before the record') new CallRecords(join(directory, 'running')).write(program.pid, { about, mark });
if (moment === 'within the input') program.feed(encodeCall(callOf({ record: { name: 'web-1', text: LONG_TEXT } })));
// The next start has nothing else to find than what runs by then.
if (moment === 'later') await new Promise((resolve) => setTimeout(resolve, 500));
writeSync(1, String(program.pid));
process.kill(process.pid, 'SIGKILL');
