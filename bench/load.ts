// Puts load on a server from a separate process, and starts the bare server for comparison.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Floor } from './floor-run.ts';
import type { Load, LoadResult } from './load-run.ts';
import { OwnedProcess } from './owned-process.ts';
import type { Site } from './site.ts';

const ROOT = join(import.meta.dirname, '..');
const START_MS_MAX = 20_000;
/** The time limit in addition to the duration of the load. */
const END_MS_MAX = 20_000;

/** Returns the files of a registered administrator's certificate, and of the authority. */
export function identityFiles({ folder }: Site): Pick<Load, 'ca' | 'key' | 'cert'> {
  const file = (name: string): string => join(folder, 'pki', name);
  return { ca: file('ca.crt'), key: file('administrator.key'), cert: file('administrator.crt') };
}

/** Resolves with the answers of a server to a load. Throws if a connection fails or an answer has another status. */
export async function measureLoad(load: Load, status: number): Promise<LoadResult> {
  const timeout = load.warmUpMs + load.ms + END_MS_MAX;
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/load-run.ts', JSON.stringify(load)], {
    cwd: ROOT,
    timeout,
  });
  const result = JSON.parse(stdout) as LoadResult;
  if (result.status !== status) throw new Error(`${load.path} was answered with ${result.status}, not ${status}`);
  return result;
}

/** A server that sends one answer. */
export interface FloorServer {
  readonly port: number;
  readonly process: OwnedProcess;
}

/** The implementation of a server with one answer. */
export type FloorKind = 'node' | 'express';

/** Starts a server with one answer. `name`: the unique name of its files in the site's folder. */
export async function startFloor(
  site: Site,
  { name, kind }: { readonly name: string; readonly kind: FloorKind },
  answer: Pick<Floor, 'status' | 'headers' | 'body'>,
): Promise<FloorServer> {
  const file = (ending: string): string => join(site.folder, `${name}.${ending}`);
  const pki = (part: string): string => join(site.folder, 'pki', part);
  const floor: Floor = { ...answer, ca: pki('ca.crt'), key: pki('server.key'), cert: pki('server.crt') };
  writeFileSync(file('json'), JSON.stringify(floor));
  const output = file('log');
  const args = ['bench/floor-run.ts', file('json'), kind];
  const server = new OwnedProcess({ file: process.execPath, args, cwd: ROOT, output });
  const port = await server.until('it listened', START_MS_MAX, () => {
    const text = readFileSync(output, 'utf8');
    return text.endsWith('\n') ? Number(text) : undefined;
  });
  return { port, process: server };
}
