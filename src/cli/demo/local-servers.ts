// Runs the program of contrib/providers/local-server for the demo: each server of the demo is a process of this machine.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { productPath } from '../../base/product-files.ts';
import { reasonOf } from '../../base/wording.ts';
import { CommandFailure } from '../command-failure.ts';
import type { DemoCredentials } from './credentials.ts';

const PROGRAM = 'local-server';
const PROGRAM_MODE = 0o700;
const TIMEOUT_MS = 60_000;

/** A server that runs, and the address of its page. */
export interface LocalServer {
  readonly name: string;
  readonly url: string;
}

/** The servers of one demo. Every function throws CommandFailure with what the program says. */
export interface LocalServers {
  /** Starts the servers that the end of the last demo has ended. Those that still run stay. */
  start(): Promise<void>;
  stop(): Promise<void>;
  list(): Promise<readonly LocalServer[]>;
}

/** Returns true if this machine has what local servers need. */
export function canRunLocalServers(): boolean {
  return process.platform === 'linux' && ['/usr/bin/flock', '/bin/flock'].some((path) => existsSync(path));
}

/** Writes a program that only fails where there is none: the settings name it, and are refused without it. */
export async function ensureLocalServerProgram(folder: string): Promise<void> {
  const program = join(folder, PROGRAM);
  if (!existsSync(program)) await writeFile(program, '#!/bin/sh\nexit 1\n', { mode: PROGRAM_MODE });
}

/**
 * Writes the program that the demo's settings name, and returns the servers that it looks after. It is written at every
 * start: the paths of Node and of the product may have changed.
 */
export async function writeLocalServerProgram(
  folder: string,
  { ca, clients }: DemoCredentials,
  url: string,
): Promise<LocalServers> {
  const { key, cert } = clients['local-servers'];
  const variables = {
    LOCAL_SERVER_DIRECTORY: join(folder, 'local-servers'),
    ...{ LOCAL_SERVER_URL: url, LOCAL_SERVER_CA: ca, LOCAL_SERVER_CERT: cert, LOCAL_SERVER_KEY: key },
  };
  const script = productPath('contrib/providers/local-server/local-server.mjs');
  const program = join(folder, PROGRAM);
  const lines = [
    '#!/bin/sh',
    '# Written by the demo at every start. Without arguments it is the provider; "list" shows all servers.',
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quote(value)}`),
    `exec ${quote(process.execPath)} ${quote(script)} "$@"`,
    '',
  ];
  await writeFile(`${program}.new`, lines.join('\n'), { mode: PROGRAM_MODE });
  await rename(`${program}.new`, program);
  return {
    start: async () => void (await run(program, 'start')),
    stop: async () => void (await run(program, 'stop')),
    list: async () => (await run(program, 'list')).flatMap(readLine),
  };
}

/** Returns the server of a line of `list`; none where it does not run. */
function readLine(line: string): readonly LocalServer[] {
  const [name = '', url = ''] = line.split(' ');
  return url.startsWith('http:') ? [{ name, url }] : [];
}

async function run(program: string, command: string): Promise<readonly string[]> {
  try {
    const { stdout } = await promisify(execFile)(program, [command], { timeout: TIMEOUT_MS });
    return stdout.split('\n').filter((line) => line !== '');
  } catch (error) {
    throw new CommandFailure(`${program} ${command} failed: ${reasonOf(error)}`);
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
