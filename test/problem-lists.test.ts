// The same files have the same problems whoever looks: `validate` of a directory and of a commit, the controller, and the
// refusal of a write.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { FILE_BYTES_MAX } from '../src/catalog/decode-text.ts';
import { wantsBlob } from '../src/catalog/load-catalog.ts';
import { isObjectPath, placePath } from '../src/catalog/paths.ts';
import { parseYaml } from '../src/catalog/yaml.ts';
import { validateDirectory } from '../src/cli/validate-command.ts';
import { derive, problemsOf } from '../src/derive.ts';
import { type DesiredState, EMPTY_BASELINE } from '../src/desired/desired-state.ts';
import { isMap } from '../src/model/json.ts';
import { isError, type Problem } from '../src/model/problem.ts';
import { canonicalSerial } from '../src/model/serial.ts';
import { ServiceError } from '../src/model/service-error.ts';
import { createGitSource } from '../src/repository/git-source.ts';
import { desiredAfter } from '../src/service/write/check-edits.ts';
import type { Draft } from '../src/service/write/draft.ts';
import {
  putClientDraft,
  putInstanceDraft,
  putObjectDraft,
  putTreeDraft,
  writableType,
} from '../src/service/write/drafts.ts';
import { snapshotOf } from './catalog/snapshots.ts';
import { createGitRepository } from './support/git-repository.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';
import { type TextChanges, TextRepository, textsAfter } from './support/text-repository.ts';
import { RIGHT, WRONG_FILES } from './texts/wrong-files.ts';

const MARK = '\u0000mode ';

/** Every mistake that plain files of some size can have, as the files of one commit. */
const MISTAKES = Object.values(WRONG_FILES)
  .flat()
  .map(([title, ...commits]) => [title, textsAfter(RIGHT, Object.assign({}, ...commits))] as const)
  .filter(
    ([, texts]) => Object.keys(texts).length < 1_000 && !Object.values(texts).some((text) => text.startsWith(MARK)),
  );

/** What stands only where people do not look. */
const ODD: readonly (readonly [title: string, texts: Readonly<Record<string, string>>])[] = [
  ['a folder of packages in the layout', textsAfter(RIGHT, { 'types/role/node_modules/db.yaml': 'port: [[]]\n' })],
  ['a file of 1 MiB', textsAfter(RIGHT, { 'types/role/web.yaml': `# ${'x'.repeat(FILE_BYTES_MAX - 3)}\n` })],
  ['a file of 1 MiB and a byte', textsAfter(RIGHT, { 'types/role/web.yaml': `# ${'x'.repeat(FILE_BYTES_MAX - 2)}\n` })],
];

const CASES = [...MISTAKES, ...ODD];

it.each(CASES)('a directory has the problems that the controller finds: %s', async (_title, texts) => {
  expect((await validateDirectory(directoryOf(texts))).problems).toEqual(problemsIn(texts));
});

it('a commit has the problems that the controller finds, from any working directory', async () => {
  const folder = temporaryDirectory();
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  const url = repository.path;
  const source = await createGitSource({ url, branch: 'main', directory: '.', cache: join(folder, 'cache') });
  let last: TextChanges = {};
  for (const [title, texts] of CASES.filter((_, index) => index % 40 === 0 || index >= MISTAKES.length)) {
    const gone = Object.keys(last).filter((path) => !Object.hasOwn(texts, path));
    const commit = await repository.commit({ ...texts, ...Object.fromEntries(gone.map((path) => [path, null])) });
    last = texts;
    await source.fetch(null);
    const followed = derive(await source.snapshot(commit, wantsBlob()), { baseline: EMPTY_BASELINE });
    expect(problemsOf(followed), title).toEqual(problemsIn(texts));
    expect((await validateDirectory(url, commit)).problems, title).toEqual(problemsIn(texts));
  }
  await source.close();
});

/** As the controller derives it; larger files than any place reads are left out, as every source does. */
function problemsIn(texts: Readonly<Record<string, string>>): readonly Problem[] {
  const wants = (path: string): boolean => Buffer.byteLength(texts[path] ?? '') <= FILE_BYTES_MAX;
  return problemsOf(derive(snapshotOf(texts, { wants }), { baseline: EMPTY_BASELINE }));
}

function directoryOf(texts: Readonly<Record<string, string>>): string {
  const directory = temporaryDirectory();
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

it('a write is refused exactly if its commit would add an error, with the same place', () => {
  const before = new TextRepository().commit(RIGHT);
  const refusals: string[] = [];
  for (const [title, texts] of MISTAKES) {
    const [changed, ...others] = Object.entries(texts).filter(([path, text]) => (RIGHT as TextChanges)[path] !== text);
    if (changed === undefined || others.length > 0) continue;
    const [path, text] = changed;
    const { value, problems } = parseYaml(path, text);
    const draft = draftOf(path, value);
    // A body has no syntax of YAML and no place of its own, and none of this length is read.
    if (problems.some(isError) || draft === undefined || text.length > FILE_BYTES_MAX) continue;
    const repository = new TextRepository();
    repository.commit(RIGHT);
    const errors = problemsOf(repository.try({ [path]: text })).filter(isError);
    const refused = refusalOf(before, draft);
    expect(refused !== undefined, `${title}: ${refused}`).toBe(errors.length > 0);
    if (refused === undefined) continue;
    refusals.push(title);
    expect(
      errors.map(({ pointer }) => pointer),
      title,
    ).toEqual(expect.arrayContaining([...refused]));
  }
  expect(refusals.length).toBeGreaterThan(30);
});

function draftOf(path: string, value: unknown): (() => Draft) | undefined {
  const [, folder = '', name = ''] = /^(.*?)\/?([^/]*)\.yaml$/.exec(path) ?? [];
  if (!isMap(value) || !isObjectPath(placePath(path, '100644')) || (value.name ?? value.serial ?? name) !== name)
    return undefined;
  if (path === 'tree.yaml') return () => putTreeDraft(value);
  if (folder === 'clients')
    return name === canonicalSerial(name) ? () => putClientDraft({ serial: name, ...value }) : undefined;
  if (folder === 'stacks/instances') return () => putInstanceDraft(name, value, { force: true });
  if (folder === 'stacks/templates') return () => putObjectDraft('stack-template', { name, ...value });
  if (folder.startsWith('types/')) return () => putObjectDraft(writableType(folder.slice(6)), { name, ...value });
  return undefined;
}

/** Returns the pointers that a refusal names, none where no commit was judged; undefined: the draft is written. */
function refusalOf(desired: DesiredState, draft: () => Draft): readonly string[] | undefined {
  let isJudged = false;
  try {
    const made = draft();
    const edits = made.edits(desired);
    isJudged = true;
    desiredAfter(desired, edits, made);
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return isJudged ? error.details.map(({ pointer }) => pointer) : [];
    throw error;
  }
}
