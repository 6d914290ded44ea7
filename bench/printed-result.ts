// Runs a measurement in a separate process, without the garbage and compiled code of others.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OwnedProcess } from './owned-process.ts';

interface Program {
  /** Default: the Node that runs this. */
  readonly file?: string;
  readonly args: readonly string[];
  readonly msMax: number;
}

/**
 * Resolves with the last JSON that a program prints. It runs in a new folder below `folder`. Throws if the program
 * fails.
 */
export async function printedResult<Result>(
  folder: string,
  { file = process.execPath, args, msMax }: Program,
): Promise<Result> {
  const cwd = mkdtempSync(join(folder, 'run-'));
  const output = join(cwd, 'output');
  // With a compile cache, like an installed package, because the type stripper would stay in memory.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') };
  const child = new OwnedProcess({ file, args, cwd, output, env });
  const code = await child.exit(msMax);
  const lines = readFileSync(output, 'utf8').trim().split('\n');
  rmSync(cwd, { recursive: true, force: true, maxRetries: 3 });
  if (code !== 0) throw new Error(`${args.join(' ')} did not get through: ${lines.slice(-8).join(' ')}`);
  return JSON.parse(lines.at(-1) ?? '') as Result;
}
