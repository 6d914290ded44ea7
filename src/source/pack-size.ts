// A limit to what another program writes: git itself has none for packs that it fetches.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SourceError } from './source.ts';

export interface SizeWatch {
  /** Aborts, with a SourceError as its reason, when the packs have become too large. */
  readonly signal: AbortSignal;
  /** Looks once more, and then no longer: what was written quickly was never looked at. */
  stop(): Promise<void>;
}

export interface SizeLimit {
  readonly bytesMax: number;
  /** The remote's, for messages. */
  readonly name: string;
}

const LOOK_MS = 500;

/** Watches the packs of a bare repository, finished or not, until it is stopped. */
export function watchPackSize(gitDirectory: string, { bytesMax, name }: SizeLimit): SizeWatch {
  const large = new AbortController();
  const look = async (): Promise<void> => {
    if ((await packBytes(gitDirectory)) <= bytesMax) return;
    large.abort(new SourceError(`"${name}" sends more than the ${bytesMax} bytes that are taken at once`));
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return {
    signal: large.signal,
    async stop() {
      clearInterval(timer);
      await look();
    },
  };
}

/** Files that come and go while they are counted count as nothing. */
async function packBytes(gitDirectory: string): Promise<number> {
  const folder = join(gitDirectory, 'objects', 'pack');
  const names = await readdir(folder).catch(() => []);
  const sizes = await Promise.all(
    names.map((file) =>
      stat(join(folder, file)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
