// Watches single files, whether they exist yet or not, and nothing beside them. Only a hint: what it misses (a network
// disk, too many watches, a directory that is exchanged as a whole) has to be found by looking now and then.
import { watch } from 'chokidar';

export interface FileWatchOptions {
  /** A file was made, changed, replaced or removed; also a symbolic link on the way to it. Often several times a change. */
  readonly changed: () => void;
  /** Something cannot be watched. May come more than once. */
  readonly failed: (error: unknown) => void;
}

export interface FileWatch {
  /** Resolves once changes are seen; those of before may have been missed. Not at all where watching failed. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** Returns a watch on files, given by absolute paths, that has begun. Close it in the end. */
export function watchFiles(files: readonly string[], { changed, failed }: FileWatchOptions): FileWatch {
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const watcher = watch([...files], { ignoreInitial: true });
  watcher.on('all', () => changed());
  watcher.on('error', failed);
  watcher.on('ready', resolve);
  return { ready, close: () => watcher.close() };
}
