// Resolves and reads paths against the directory in which the user called the command.
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { whyUnusable } from '../base/wording.ts';
import { wantsBlob } from '../catalog/load-catalog.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { readDirectory } from '../repository/directory-snapshot.ts';
import { SourceError } from '../repository/source.ts';
import { CommandFailure, expecting } from './command-failure.ts';

/**
 * Returns an absolute path, relative to the user's current directory. npm runs scripts of this package in its root and
 * passes the user's directory in `INIT_CWD`; an installed command runs in the user's directory.
 */
export function fromUserDirectory(path: string): string {
  const isOwnScript = process.env.npm_package_name === 'treeline' && process.env.npm_lifecycle_event !== undefined;
  return resolve(isOwnScript ? (process.env.INIT_CWD ?? process.cwd()) : process.cwd(), path);
}

/**
 * Resolves with the bytes of a file from an option or a setting. Throws CommandFailure if it cannot be read.
 */
export async function readNamedFile(file: string, option?: string): Promise<Buffer> {
  try {
    return await readFile(fromUserDirectory(file));
  } catch (error) {
    const advice = option === undefined ? '' : `; check ${option}`;
    throw new CommandFailure(`${file} cannot be read: ${whyUnusable(error)}${advice}`, { cause: error });
  }
}

/** Throws CommandFailure if a path is a file, and Node's error if it does not exist. */
export async function requireFolder(path: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw new CommandFailure(`${path} is a file, not a folder`);
}

/** Resolves with a directory in the form of a commit. Throws CommandFailure if it cannot be read. */
export async function readStacksDirectory(directory: string): Promise<Snapshot> {
  await requireFolder(directory);
  const time = `${new Date().toISOString().slice(0, 19)}Z`;
  return expecting([SourceError], () => readDirectory(directory, { time, wants: wantsBlob() }));
}
