// Limits the size of packs that another program writes: git itself has no limit for packs that it fetches.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from './git-process.ts';
import { type PackLimits, refuseTooMany } from './index-pack.ts';
import { readPackHeader } from './pack-files.ts';
import { PACK_HEADER_BYTES } from './pack-format.ts';

interface SizeWatch {
  /** Aborts, with a GitError as its reason, when the packs exceed the limit. */
  readonly signal: AbortSignal;
  /** Checks once more, and ends the watch: packs that were written quickly may not be checked yet. */
  stop(): Promise<void>;
}

interface SizeLimit extends PackLimits {
  /** The remote's name, for messages. */
  readonly name: string;
}

const CHECK_MS = 500;

/** Watches the packs of a bare repository, finished or not, until it is stopped. */
export function watchPackSize(gitDirectory: string, limit: SizeLimit): SizeWatch {
  const large = new AbortController();
  const measure = async (): Promise<void> => {
    try {
      await refuseLargePacks(gitDirectory, limit);
    } catch (error) {
      large.abort(error);
    }
  };
  const timer = setInterval(measure, CHECK_MS);
  timer.unref();
  return {
    signal: large.signal,
    async stop() {
      clearInterval(timer);
      await measure();
    },
  };
}

async function refuseLargePacks(gitDirectory: string, { packBytesMax, objectsMax, name }: SizeLimit): Promise<void> {
  const folder = join(gitDirectory, 'objects', 'pack');
  let bytes = 0;
  for (const file of await readdir(folder)) {
    const pack = await readPackHeader(join(folder, file));
    // Files that disappear during the check count as nothing.
    bytes += pack.bytes;
    if (pack.header.length === PACK_HEADER_BYTES) refuseTooMany(pack.header, { name, objectsMax });
  }
  if (bytes <= packBytesMax) return;
  throw new GitError(`"${name}" sends more than the ${packBytesMax} bytes that are taken at once`);
}
