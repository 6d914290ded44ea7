#!/usr/bin/env node
// An exec provider whose servers are processes on this machine. Without arguments it answers the call on standard
// input. `list`, `stop`, `start` and the like are for operators and for the demo. `run` is the server itself.
import { answerCall } from '../exec-call/answer-call.mjs';
import { CallFailure } from '../exec-call/call-failure.mjs';

const USAGE = `Usage: local-server.mjs [list | url NAME | pid NAME | stop | start | change NAME PROPERTY=VALUE]
Without arguments: answers one call of an exec provider, which it reads from standard input.
  list    prints every server with its address, or that it does not run
  url     prints the address of a running server; pid the id of its process
  stop    ends the processes of all servers, and keeps what start needs
  start   starts the servers that stop or a reboot has ended
  change  changes a property of a running server by hand, to show drift
LOCAL_SERVER_DIRECTORY names the folder of the servers.
`;

/** @param {readonly string[]} args */
async function main([command, ...args]) {
  // Calls are frequent, so they do not load the modules of servers and commands.
  if (command === undefined) return await answerCall((await import('./answer.mjs')).handlers());
  if (command === 'run') return await (await import('./run-server.mjs')).runServer(args);
  const commands = await import('./commands.mjs');
  if (command === 'list') return print(await commands.listServers());
  if (command === 'url') return print(await commands.addressOf(args));
  if (command === 'pid') return print(await commands.processOf(args));
  if (command === 'stop') return print(await commands.stopServers());
  if (command === 'start') return print(await commands.startServers());
  if (command === 'change') return print(await commands.changeProperty(args));
  process.stderr.write(USAGE);
  process.exitCode = 3;
}

/** @param {readonly string[]} lines */
function print(lines) {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CallFailure)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 3;
}
