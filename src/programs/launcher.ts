// Builds the command line that starts a program. On Linux a shell leads the process group of each call: it outlives the
// program, and ends the whole group after the death of this process. No shell interprets the command itself.
// ARCHITECTURE.md, "Programs".
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { hasProcessList } from './linux-processes.ts';

/** The path or the name of a program, and its arguments. */
export type CommandLine = readonly [string, ...string[]];

/** Returns a command line that runs a command below a shell. The shell ends the command when this process ends. */
export type Launcher = (command: CommandLine, environment: NodeJS.ProcessEnv) => CommandLine;

/**
 * The leader of the group. Arguments: the id of the process that starts it, the path of `sleep`, and the command. It
 * checks its parent first, because that may die before the signal of its death is set. Only the program writes to
 * standard error.
 */
const LEADER = `[ "$PPID" = "$1" ] || exit 1
sleep=$2; shift 2
trap 'trap "" TERM; kill -TERM 0; ("$sleep" 5; kill -KILL 0) & wait $program; exit $?' TERM
exec 3<&0 4>&2 </dev/null 2>/dev/null
"$@" <&3 2>&4 3<&- 4>&- & program=$!
exec 3<&- 4>&-
wait $program`;
/** Shells add these variables. A background command of a shell ignores the signals. */
const SHELL_VARIABLES = ['PWD', 'OLDPWD', 'SHLVL', '_'];
const SHELL_SIGNALS = '--default-signal=INT,QUIT';
const TOOLS = ['setpriv', 'sh', 'env', 'sleep'] as const;
const SEARCH_PATH = '/usr/bin:/bin:/usr/local/bin';
const PROBE_MS_MAX = 10_000;

let found: Launcher | null | undefined;

/** Returns the launcher; null without /proc, util-linux, coreutils or `sh`. The first call runs a program. */
export function findLauncher(): Launcher | null {
  if (found === undefined) found = hasProcessList() ? probedLauncher() : null;
  return found;
}

/** Other implementations of these tools may lack an option. */
function probedLauncher(): Launcher | null {
  const [setpriv, sh, env, sleep] = TOOLS.map(findTool);
  if (setpriv === undefined || sh === undefined || env === undefined || sleep === undefined) return null;
  const leader = ['--pdeathsig', 'TERM', '--', sh, '-c', LEADER, 'sh', String(process.pid), sleep];
  const launcher: Launcher = (command, environment) => {
    const unset = SHELL_VARIABLES.filter((name) => !Object.hasOwn(environment, name)).flatMap((name) => ['-u', name]);
    return [setpriv, ...leader, env, SHELL_SIGNALS, ...unset, '--', ...command];
  };
  const [file, ...args] = launcher([sh, '-c', 'exit 7'], {});
  return spawnSync(file, args, { env: {}, stdio: 'ignore', timeout: PROBE_MS_MAX }).status === 7 ? launcher : null;
}

function findTool(name: string): string | undefined {
  const directories = `${SEARCH_PATH}${delimiter}${process.env.PATH ?? ''}`.split(delimiter);
  return directories.map((directory) => join(directory, name)).find((path) => path.startsWith('/') && existsSync(path));
}

/** The exit code of `env` and of shells for a command that is not found. */
const NOT_FOUND = 127;

/** Returns advice if an existing program was not found: the system does not name a missing interpreter. */
export function startAdvice([file]: CommandLine, exit: number | string): string | undefined {
  if (exit !== NOT_FOUND || !existsSync(file)) return undefined;
  return 'if it is a script: its first line has to name the program that runs it, such as "#!/bin/sh", and to end in LF';
}
