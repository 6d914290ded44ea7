// Watches single files, existing or not. Only a hint: changes that it misses (a network disk, too many watches, a
// directory that is replaced as a whole) have to be found by polling.
import { watch } from 'chokidar';

interface FileWatchOptions {
  /**
   * Called when a file, or a symbolic link on its path, is created, changed, replaced or removed. Often several times
   * per change.
   */
  readonly changed: () => void;
  /** Called when something cannot be watched. May be called more than once. */
  readonly failed: (error: unknown) => void;
}

/** A running watch. */
export interface FileWatch {
  /** Resolves once changes are detected; earlier ones may be missed. Never resolves if watching failed. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** Returns a started watch on files, given by absolute paths. The caller has to close it. */
export function watchFiles(files: readonly string[], { changed, failed }: FileWatchOptions): FileWatch {
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const watcher = watch([...files], { ignoreInitial: true });
  watcher.on('all', () => changed());
  watcher.on('error', failed);
  watcher.on('ready', resolve);
  return { ready, close: () => watcher.close() };
}
