// Runs a measurement in a process of its own, so that no other one's garbage and compiled code are in it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OwnedProcess } from './owned-process.ts';

interface Program {
  /** Default: the Node that runs this. */
  readonly file?: string;
  readonly args: readonly string[];
  readonly msMax: number;
}

/** Returns the JSON that a program prints last. It runs in a folder of its own below `folder`. Throws where it does not get through. */
export async function printedResult<Result>(
  folder: string,
  { file = process.execPath, args, msMax }: Program,
): Promise<Result> {
  const cwd = mkdtempSync(join(folder, 'run-'));
  const output = join(cwd, 'output');
  // As in an installed package, nothing has to be compiled: what takes the types away would stay in memory.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') };
  const child = new OwnedProcess({ file, args, cwd, output, env });
  const code = await child.exit(msMax);
  const lines = readFileSync(output, 'utf8').trim().split('\n');
  rmSync(cwd, { recursive: true, force: true, maxRetries: 3 });
  if (code !== 0) throw new Error(`${args.join(' ')} did not get through: ${lines.slice(-8).join(' ')}`);
  return JSON.parse(lines.at(-1) ?? '') as Result;
}
