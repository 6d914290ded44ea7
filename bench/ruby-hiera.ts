// Ruby Hiera 3 on the same layers: the peer of the benchmark `records`. Debian has it as the package `hiera`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { printedResult } from './printed-result.ts';
import { KEYS, LAYERS, objectFiles, selectedBy, serversOf } from './records-files.ts';

const PROGRAM = join(import.meta.dirname, 'ruby-hiera.rb');
const RUN_MS_MAX = 20 * 60_000;

export interface RubyResult {
  readonly cpuSeconds: number;
  /** The digest of the values of all servers, in the form of `records-run.ts`. */
  readonly digest: string;
}

/** Returns the version of Ruby's Hiera; undefined if there is none. */
export function rubyHieraVersion(): string | undefined {
  try {
    const args = ['-e', 'require "hiera"; print Hiera.version'];
    return execFileSync('ruby', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  } catch {
    // Missing or broken: in both cases, there is no peer.
    return undefined;
  }
}

/** Looks up every key of all servers separately, Hiera's only way, with files already in its cache. */
export function measureRubyHiera(folder: string, servers: number): Promise<RubyResult> {
  const datadir = join(folder, 'hieradata');
  for (const [path, text] of Object.entries(objectFiles())) {
    mkdirSync(dirname(join(datadir, path)), { recursive: true });
    writeFileSync(join(datadir, path), text ?? '');
  }
  const scopes = serversOf(servers).flatMap((names, instance) => names.map(() => selectedBy(instance)));
  const hierarchy = LAYERS.toReversed().map((type) => `types/${type}/%{${type}}`);
  const input = join(folder, 'ruby-hiera.json');
  writeFileSync(input, JSON.stringify({ datadir, hierarchy, keys: KEYS, scopes }));
  return printedResult(folder, { file: 'ruby', args: [PROGRAM, input], msMax: RUN_MS_MAX });
}
