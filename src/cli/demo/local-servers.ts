// Runs the program of contrib/providers/local-server for the demo: each server of the demo is a process of this
// machine.
import { execFile } from 'node:child_process';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isOnPath } from '../../base/on-path.ts';
import { productPath } from '../../base/product-files.ts';
import { reasonOf } from '../../base/wording.ts';
import { CommandFailure } from '../command-failure.ts';
import { shellWord } from '../output.ts';
import type { DemoCredentials } from './credentials.ts';

const PROGRAM = 'local-server';
const PROGRAM_MODE = 0o700;
const TIMEOUT_MS = 60_000;

/** Returns true if this machine can run local servers. */
export function canRunLocalServers(): boolean {
  return process.platform === 'linux' && isOnPath('flock');
}

/**
 * Writes the program that the demo's settings name, and resolves with its path. Written at every start, because the
 * paths of Node and of the product may have changed.
 */
export async function writeLocalServerProgram(
  folder: string,
  { ca, clients }: DemoCredentials,
  url: string,
): Promise<string> {
  const { key, cert } = clients['local-servers'];
  const variables = {
    PATH: process.env.PATH ?? '',
    LOCAL_SERVER_DIRECTORY: join(folder, 'local-servers'),
    LOCAL_SERVER_URL: url,
    LOCAL_SERVER_CA: ca,
    LOCAL_SERVER_CERT: cert,
    LOCAL_SERVER_KEY: key,
  };
  const script = productPath('contrib/providers/local-server/local-server.mjs');
  const program = join(folder, PROGRAM);
  const lines = [
    '#!/bin/sh',
    '# Written by the demo at every start. Without arguments it is the provider; "list" shows all servers.',
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}`),
    `exec ${shellWord(process.execPath)} ${shellWord(script)} "$@"`,
    '',
  ];
  await writeFile(`${program}.new`, lines.join('\n'), { mode: PROGRAM_MODE });
  await rename(`${program}.new`, program);
  return program;
}

/**
 * Starts the servers of a program that the last demo stopped, or stops all. Throws CommandFailure with the program's
 * message.
 */
export async function runLocalServers(program: string, command: 'start' | 'stop'): Promise<void> {
  try {
    await promisify(execFile)(program, [command], { timeout: TIMEOUT_MS });
  } catch (error) {
    throw new CommandFailure(`${program} ${command} failed: ${reasonOf(error)}`);
  }
}
