// Starts a program as the process that runs programs does, and kills itself: `dying-runner.ts MOMENT DIRECTORY PROGRAM…`.
// Prints the id of the program's process first.
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from '../../src/programs/launch.ts';
import { endLeftovers } from '../../src/programs/program-runner.ts';
import { RunningCalls } from '../../src/programs/running-calls.ts';
import { encodeCall } from '../../src/providers/call-json.ts';
import { callOf } from './calls.ts';

/** More than a socket holds. */
const LONG_TEXT = 'x'.repeat(2 ** 22);
const LOG = { warn: () => undefined, error: () => undefined };

const [moment = '', directory = '', file = '', ...args] = process.argv.slice(2);
const calls = new RunningCalls(await endLeftovers(join(directory, 'running'), LOG), LOG);
const call = calls.begin({});
const program = launch({ command: [file, ...args], directory, environment: { SERVERS: directory } }, call.mark);
if (program.pid === undefined) throw await program.error;
if (moment !== 'before the record') call.record(program.pid);
if (moment === 'within the input') program.feed(encodeCall(callOf({ record: { name: 'web-1', text: LONG_TEXT } })));
writeSync(1, String(program.pid));
process.kill(process.pid, 'SIGKILL');
