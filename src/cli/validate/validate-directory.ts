// Validates a working directory, or a commit of the repository around it: what the controller would say of it.
import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { wantsBlob } from '../../catalog/load-catalog.ts';
import { derive, problemsOf } from '../../derive.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { isBare, openLocalRepository } from '../../repository/local-repository.ts';
import { SourceError } from '../../repository/source.ts';
import { CommandFailure, expecting } from '../command-failure.ts';
import { fromUserDirectory, readStacksDirectory } from '../user-directory.ts';
import type { Report } from './report.ts';
import { linesOf } from './snippet.ts';

const TREE_FILE = 'tree.yaml';

/**
 * Returns the problems of a directory, as an absolute path; with a revision, those of that commit and not of the files that
 * stand there. Throws CommandFailure where it cannot be read.
 */
export async function validateDirectory(directory: string, revision?: string): Promise<Report> {
  const isCommit = revision !== undefined;
  if (!isCommit && isBare(directory)) {
    const advice = 'check a commit of it with --rev, such as --rev main, or a clone';
    throw new CommandFailure(`${directory} is a bare repository, and holds no files to check: ${advice}`);
  }
  const snapshot = isCommit ? await readCommit(directory, revision) : await readStacksDirectory(directory);
  const derivation = derive(snapshot);
  return {
    files: derivation.isFollowed ? derivation.desired.catalog.files.size : derivation.filesCount,
    problems: problemsOf(derivation).map((one) =>
      one.code === 'tree_missing' ? { ...one, hint: layoutHint(directory, snapshot) ?? one.hint } : one,
    ),
    prefix: prefixOf(directory),
    linesOf: lineReader(snapshot),
  };
}

async function readCommit(directory: string, revision: string): Promise<Snapshot> {
  return await expecting([SourceError], async () => {
    const repository = await openLocalRepository(directory);
    try {
      return await repository.snapshot(await repository.resolve(revision), wantsBlob());
    } finally {
      repository.close();
    }
  });
}

/** Returns where the layout seems to begin, in a folder above or below; undefined where nothing is found. */
function layoutHint(directory: string, { files }: Snapshot): string | undefined {
  const below = [...files.keys()].map((path) => (path.endsWith(`/${TREE_FILE}`) ? dirname(path) : path));
  const folders = [...parentsOf(directory), ...below.map((path) => join(directory, path))];
  const found = folders.find((folder) => existsSync(join(folder, TREE_FILE)));
  if (found === undefined) return undefined;
  const shown = relative(fromUserDirectory('.'), found) || '.';
  return `the layout begins where ${TREE_FILE} is, and one is in ${shown}: treeline validate ${shown}`;
}

/** Returns the folders above, the nearest first, up to the root of the Git repository around them. */
function parentsOf(directory: string): readonly string[] {
  const above = dirname(directory);
  return above === directory || existsSync(join(directory, '.git')) ? [] : [above, ...parentsOf(above)];
}

/** Returns a function that reads the lines of files. It keeps those of one file: sorted problems need no more. */
function lineReader(snapshot: Snapshot): Report['linesOf'] {
  let last: { readonly file: string; readonly lines: readonly string[] | undefined } | undefined;
  return (file) => {
    if (last?.file !== file) {
      const content = snapshot.blobs.get(snapshot.files.get(file)?.oid ?? '');
      // Of a file that is not UTF-8, the text before the first wrong byte is right, and so is the column of that byte.
      last = { file, lines: content === undefined ? undefined : linesOf(new TextDecoder().decode(content)) };
    }
    return last.lines;
  };
}

/** Returns the path from the root of the Git repository around a directory; '' where there is none. */
function prefixOf(directory: string): string {
  for (let folder = directory; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) {
      const path = relative(folder, directory).split(sep).join('/');
      return path === '' ? '' : `${path}/`;
    }
    if (dirname(folder) === folder) return '';
  }
}
