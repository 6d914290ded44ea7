// The documents against what they speak of: links, headings, tables. Also what no file of the repository may hold.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { listCommands, renderCli } from '../scripts/write-cli.ts';
import { renderProblems } from '../scripts/write-problems.ts';
import { renderRest } from '../scripts/write-rest.ts';
import { createProgram } from '../src/cli/run.ts';
import { PROBLEM_CODES } from '../src/cli/validate/problem-codes.ts';
import { folderOf, readSources } from './architecture/source-file.ts';

const MACHINE_PATH = /(?<![\w.~<-])\/(?:work|root|home|Users|builds)\/[\w.]/;

/** All commands load the whole program. */
const LOADING_MS = 180_000;

const sources = readSources();
const documents = [
  ...globSync('*.md'),
  ...globSync('docs/**/*.md'),
  ...globSync('sample-repo/*.md'),
  ...globSync('contrib/**/*.md'),
].sort();

function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsIn(text: string): readonly string[] {
  const headings = withoutCode(text).match(/(?<=^#+ ).*$/gm) ?? [];
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, '').replaceAll(/`[^`\n]*`/g, '');
}

/** The links of a document that lead nowhere. */
function deadLinks(path: string, text: string): readonly string[] {
  const targets = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [file = '', anchor] = target.split('#');
    const at = file === '' ? path : posix.join(posix.dirname(path), file);
    if (!existsSync(at)) return true;
    return anchor !== undefined && !anchorsIn(textOf(at)).includes(anchor);
  });
}

/** The rows of the table below a heading, as cells; without its head. */
function tableAfter(text: string, heading: string): readonly (readonly string[])[] {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const rows = section.split('\n').filter((line) => /^\| (?!---)/.test(line));
  return rows.slice(1).map((row) => row.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')));
}

function codeSpans(text: string): readonly string[] {
  return text.match(/(?<=`)[^`]+(?=`)/g)?.filter((span) => !/^[,\s]+$/.test(span)) ?? [];
}

describe('links', () => {
  it('without a target are found', () => {
    const text =
      '[a](no-such.md) [b](README.md) [c](README.md#no-such) [d](https://x) `[e](no)` [f](README.md#treeline)';
    expect(deadLinks('CHANGELOG.md', text)).toEqual(['no-such.md', 'README.md#no-such']);
  });

  it.each(documents)('of %s have a target', (path) => {
    expect(deadLinks(path, textOf(path))).toEqual([]);
  });

  it('in comments of the sources name an existing document and heading', () => {
    const references = sources.flatMap(({ path, comments }) => {
      const text = comments.map(({ value }) => value.replaceAll(/\n\s*\*/g, ' ')).join(' ');
      return [...text.matchAll(/docs\/([\w-]+)\.md(?:,\s+([a-z]+(?: [a-z]+)*))?/g)].map(([, document = '', words]) => ({
        path,
        document: `docs/${document}.md`,
        headings: words?.split(' and ') ?? [],
      }));
    });
    expect(references.length).toBeGreaterThan(20);
    const wrong = references.filter(
      ({ document, headings }) =>
        !existsSync(document) ||
        !headings.every((heading) => anchorsIn(textOf(document)).includes(heading.trim().replaceAll(' ', '-'))),
    );
    expect(wrong).toEqual([]);
  });
});

describe('docs/dependencies.md', () => {
  const text = textOf('docs/dependencies.md');

  it('names every production dependency, and the files that import it', () => {
    const told = tableAfter(text, 'In production');
    expect(told.flatMap(([name = '']) => codeSpans(name))).toEqual(Object.keys(packageJson.dependencies).sort());
    for (const [name = '', places = ''] of told) {
      const target = codeSpans(name)[0] ?? '';
      const importers = sources.filter(({ imports }) => imports.some((one) => one.target === target));
      const known = codeSpans(places);
      const strangers = importers.filter(({ path }) => !known.some((at) => path === at || isBelow(path, at)));
      expect(
        strangers.map(({ path }) => path),
        `${target} is imported elsewhere`,
      ).toEqual([]);
      const unused = known.filter((at) => !importers.some(({ path }) => path === at || isBelow(path, at)));
      expect(unused, `${target} is not imported there`).toEqual([]);
    }
  });

  it('names every development dependency', () => {
    const told = tableAfter(text, 'For development');
    expect(told.flatMap(([names = '']) => codeSpans(names)).sort()).toEqual(
      Object.keys(packageJson.devDependencies).sort(),
    );
  });
});

function isBelow(path: string, folder: string): boolean {
  return folder.endsWith('/') && path.startsWith(folder);
}

it('ARCHITECTURE.md has a row for every folder and file of src/', () => {
  const told = tableAfter(textOf('ARCHITECTURE.md'), 'Code map').flatMap(([names = '']) => codeSpans(names));
  const known = new Set(told.map((name) => name.replace(/\/$/, '')));
  const folders = new Set(sources.map(({ path }) => folderOf(path)));
  expect([...folders].filter((folder) => !known.has(folder))).toEqual([]);
  expect([...known].filter((name) => !folders.has(name) && name !== 'src')).toEqual([]);
});

it.each(documents)('the sources that %s names exist', (path) => {
  const named = textOf(path).match(/(?<=`)src\/[\w./-]*\w(?=\/?`)/g) ?? [];
  expect(named.filter((file) => !existsSync(file))).toEqual([]);
});

describe('docs/decisions', () => {
  const names = readdirSync('docs/decisions').sort();

  it('have unique numbers of four digits', () => {
    const numbers = names.map((name) => /^\d{4}(?=-)/.exec(name)?.[0]);
    expect(new Set(numbers).size).toBe(names.length);
    expect(numbers).not.toContain(undefined);
  });

  it.each(names)('%s is short, with context, decision and consequences', (name) => {
    const text = textOf(`docs/decisions/${name}`);
    expect(text.match(/^#.*$/gm)?.map((line) => line.replace(/^# \d+\. .+/, '# title'))).toEqual([
      '# title',
      '## Context',
      '## Decision',
      '## Consequences',
    ]);
    expect(text).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `));
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(260);
  });
});

it('docs/cli.md is what `npm run docs:cli` writes', { timeout: LOADING_MS }, async () => {
  expect(textOf('docs/cli.md')).toBe(await renderCli());
});

it('every command ends with 0 for --help, and otherwise for an unknown option', { timeout: LOADING_MS }, async () => {
  const names = listCommands(await createProgram()).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(25);
  for (const name of names) {
    expect([name, await exitCodeOfHelp(name, '--help')]).toEqual([name, 0]);
    expect([name, await exitCodeOfHelp(name, '--no-such-option')]).toEqual([name, 1]);
  }
});

/** Returns the exit code that commander gives; test/command.test.ts sees that the process ends with 3 instead of 1. */
async function exitCodeOfHelp(name: string, option: string): Promise<unknown> {
  const program = await createProgram();
  const silent = { writeOut: () => undefined, writeErr: () => undefined };
  program.configureOutput(silent);
  for (const { command } of listCommands(program)) command.configureOutput(silent);
  try {
    await program.parseAsync([...name.split(' '), option], { from: 'user' });
    return null;
  } catch (error) {
    return (error as { readonly exitCode?: unknown }).exitCode;
  }
}

it('docs/problems.md is what `npm run docs:problems` writes', () => {
  expect(textOf('docs/problems.md')).toBe(renderProblems());
});

it('docs/rest-reference.md is what `npm run docs:rest` writes', () => {
  expect(textOf('docs/rest-reference.md')).toBe(renderRest());
});

it('docs/problems.md lists only codes that are used', () => {
  const texts = sources.filter(({ path }) => folderOf(path) !== 'model').map(({ text }) => text);
  const given = new Set(texts.flatMap((text) => text.match(/(?<=')[a-z0-9]+(?:_[a-z0-9]+)+(?=')/g) ?? []));
  expect(Object.keys(PROBLEM_CODES).filter((code) => !given.has(code))).toEqual([]);
});

describe('the repository', () => {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
    .toString()
    .split('\0')
    .filter((path) => path !== '' && existsSync(path));

  it('names no path of the machine where it was built', () => {
    const example = ['', 'root', 'project'].join('/');
    expect(`see ${example}`).toMatch(MACHINE_PATH);
    expect(`ssh://host${example}.git and ../..${['', 'work', 'x'].join('/')}`).not.toMatch(MACHINE_PATH);
    const named = files.flatMap((path) => {
      const text = textOf(path);
      const lines = text.includes('\0') ? [] : text.split('\n');
      return lines.flatMap((line, index) => (MACHINE_PATH.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));
    });
    expect(named).toEqual([]);
  });

  it('has no download addresses in its lock file', () => {
    expect(textOf('package-lock.json')).not.toMatch(/"resolved": *"https?:/);
  });
});
