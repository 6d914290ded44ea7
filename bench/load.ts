// Puts load on a server from a process of its own, and starts the bare server that it is compared with.
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
/** Beyond what the load itself takes. */
const END_MS_MAX = 20_000;

/** Returns the files of a registered administrator's certificate, and of the authority. */
export function identityFiles({ folder }: Site): Pick<Load, 'ca' | 'key' | 'cert'> {
  const file = (name: string): string => join(folder, 'pki', name);
  return { ca: file('ca.crt'), key: file('administrator.key'), cert: file('administrator.crt') };
}

/** Returns what a server answered to a load. Throws where a connection fails or an answer has another status. */
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

/** What a server of one answer is made of. */
export type FloorKind = 'node' | 'express';

/** Starts a server of one answer. `name` is that of its files in the site's folder; no two share one. */
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
