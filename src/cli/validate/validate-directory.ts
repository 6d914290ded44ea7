// Validates working directories, or a commit of the repository around them: what their controllers would say of them. Servers that
// two of them make are found only here, since no controller knows the others.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { countOf } from '../../base/wording.ts';
import { wantsBlob } from '../../catalog/load-catalog.ts';
import { derive, problemsOf } from '../../derive.ts';
import type { Unit } from '../../desired/unit.ts';
import { isFolderProblem, type Problem, sortProblems } from '../../model/problem.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { isBare, openLocalRepository } from '../../repository/local-repository.ts';
import { SourceError } from '../../repository/source.ts';
import { CommandFailure, expecting } from '../command-failure.ts';
import { fromUserDirectory, readStacksDirectory } from '../user-directory.ts';
import type { Report } from './report.ts';
import { linesOf } from './snippet.ts';

const TREE_FILE = 'tree.yaml';

/** A directory and what was found in it. */
interface Validated extends Report {
  readonly directory: string;
  /** The path of the Git repository around it; the directory itself where there is none. */
  readonly root: string;
  /** None where the controller would not follow it. */
  readonly units: readonly Unit[];
}

/**
 * Returns the problems of directories, as absolute paths; with a revision, those of that commit and not of the files that
 * stand there. Files of several directories are named from the one repository around them, or else from where the user stands.
 * Throws CommandFailure where one cannot be read.
 */
export async function validateDirectories(directories: readonly string[], revision?: string): Promise<Report> {
  const all: Validated[] = [];
  for (const directory of directories) all.push(await validateDirectory(directory, revision));
  const places = directories.map((directory) => realpathSync(directory));
  const same = directories.find((_directory, index) => places.indexOf(places[index] ?? '') < index);
  if (same !== undefined) throw new CommandFailure(`${same} is given twice: name each directory once`);
  const [first] = all;
  if (first !== undefined && all.length === 1) return first;
  const isOneRepository = all.every(({ root }) => root === first?.root);
  const root = isOneRepository && first !== undefined ? first.root : fromUserDirectory('.');
  const named = all.map((one) => ({ ...one, name: relative(root, one.directory).split(sep).join('/') }));
  return {
    files: all.reduce((sum, { files }) => sum + files, 0),
    problems: sortProblems([
      ...named.flatMap(({ name, problems }) => problems.map((problem) => below(name, problem))),
      ...madeTwice(named),
    ]),
    prefix: '',
    linesOf(file) {
      const inside = named.filter(({ name }) => file.startsWith(pathBelow(name, '')));
      return inside.map(({ name, linesOf }) => linesOf(file.slice(pathBelow(name, '').length))).find(Boolean);
    },
  };
}

function pathBelow(name: string, file: string): string {
  return name === '' ? file : `${name}/${file}`;
}

/** What is wrong with a layout as a whole is told at its first file. */
function below(name: string, problem: Problem): Problem {
  const isLayout = isFolderProblem(problem) && problem.file.length <= 1;
  return { ...problem, file: pathBelow(name, isLayout ? TREE_FILE : problem.file) };
}

/** An instance, by the path of its file from where the report begins. */
interface Maker {
  readonly file: string;
  readonly unit: Unit;
  /** The directory that it is in. */
  readonly name: string;
}

/** An instance, one of another directory, and the servers that both make. */
interface Clash {
  readonly at: Maker;
  readonly other: Maker;
  readonly servers: string[];
}

/** Returns a problem for each two instances of different directories that make a server of the same name, at each of them. */
function madeTwice(directories: readonly (Validated & { readonly name: string })[]): readonly Problem[] {
  const makers = new Map<string, Maker[]>();
  for (const { name, units } of directories) {
    for (const unit of units) {
      const maker = { file: pathBelow(name, unit.entry.path), unit, name };
      for (const server of unit.servers.keys()) makers.set(server, [...(makers.get(server) ?? []), maker]);
    }
  }
  const clashes = new Map<string, Clash>();
  for (const [server, all] of makers) {
    for (const at of all) {
      for (const other of all.filter(({ name }) => name !== at.name)) {
        const key = `${at.file}\n${other.file}`;
        const clash = clashes.get(key) ?? { at, other, servers: [] };
        clash.servers.push(server);
        clashes.set(key, clash);
      }
    }
  }
  return [...clashes.values()].map(problemOfClash);
}

function problemOfClash({ at, other, servers }: Clash): Problem {
  const [server] = servers;
  const more = servers.length === 1 ? '' : ` and ${countOf(servers.length - 1, 'other server')}`;
  return {
    ...{ code: 'made_by_two', severity: 'error', file: at.file, line: 1, column: 1, pointer: '' },
    message: `"${server}"${more} of "${at.unit.name}" would be made by two controllers: "${other.unit.name}" in ${other.file} makes the same`,
    hint: 'give the servers of one of them other names, or remove it',
    instances: [at.unit.name],
  };
}

/**
 * Returns the problems of a directory, as an absolute path; with a revision, those of that commit and not of the files that
 * stand there. Throws CommandFailure where it cannot be read.
 */
export async function validateDirectory(directory: string, revision?: string): Promise<Validated> {
  const isCommit = revision !== undefined;
  if (!isCommit && isBare(directory)) {
    const advice = 'check a commit of it with --rev, such as --rev main, or a clone';
    throw new CommandFailure(`${directory} is a bare repository, and holds no files to check: ${advice}`);
  }
  const snapshot = isCommit ? await readCommit(directory, revision) : await readStacksDirectory(directory);
  const derivation = derive(snapshot);
  return {
    directory,
    root: rootAround(directory) ?? directory,
    units: derivation.isFollowed ? [...derivation.desired.units.values()] : [],
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
  const path = relative(rootAround(directory) ?? directory, directory);
  return path === '' ? '' : `${path.split(sep).join('/')}/`;
}

/** Returns the root of the Git repository around a directory; undefined where there is none. */
function rootAround(directory: string): string | undefined {
  const above = dirname(directory);
  if (existsSync(join(directory, '.git'))) return directory;
  return above === directory ? undefined : rootAround(above);
}
