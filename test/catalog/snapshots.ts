// Makes snapshots out of texts, as a source would from a commit.
import { createHash } from 'node:crypto';
import type { FileMode, Snapshot, SnapshotFile } from '../../src/model/snapshot.ts';

export const TREE = 'name: global\ntype: common\n';

const MARK = '\u0000mode ';

/** Returns a text that stands for an entry of another mode, wherever texts make up a repository. */
export function linkTo(target: string, mode: '120000' | '160000' = '120000'): string {
  return `${MARK}${mode} ${target}`;
}

export interface SnapshotParts {
  /** Modes of paths that are no plain files. */
  readonly modes?: Readonly<Record<string, FileMode>>;
  /** Whether a blob is read; all are if left out. */
  readonly wants?: (path: string, oid: string) => boolean;
}

/** Returns a snapshot of files, each with the oid that Git gives its content. */
export function snapshotOf(texts: Readonly<Record<string, string>>, parts: SnapshotParts = {}): Snapshot {
  const files = new Map<string, SnapshotFile>();
  const blobs = new Map<string, Uint8Array>();
  for (const [path, text] of Object.entries(texts)) {
    const link = text.startsWith(MARK);
    const content = Buffer.from(link ? text.slice(MARK.length + 7) : text);
    const oid = oidOf(content);
    const mode = link ? (text.slice(MARK.length, MARK.length + 6) as FileMode) : '100644';
    files.set(path, { oid, mode: parts.modes?.[path] ?? mode });
    if (parts.wants?.(path, oid) ?? true) blobs.set(oid, content);
  }
  return { commit: 'c0ffee', time: '2026-11-20T10:13:56Z', files, blobs };
}

function oidOf(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}
