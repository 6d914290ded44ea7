// docs/operations.md and the units of contrib/ against what they speak of: settings, defaults, lines of the log.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import schema from '../schemas/settings.schema.json' with { type: 'json' };
import { createAuthority } from '../src/base/development-pki.ts';
import { EXIT_FAILED } from '../src/cli/command-failure.ts';
import { isMap } from '../src/model/json.ts';
import { findRefusals } from '../src/settings/refuse-settings.ts';
import { readSources } from './architecture/source-file.ts';
import { ROOT, run } from './support/command-line.ts';
import { createCrl } from './support/create-crl.ts';
import { blocksIn } from './support/document-blocks.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

/** One key of the schema. */
interface Key {
  readonly path: string;
  /** As the document writes it; undefined where the schema has none and does not ask for the key. */
  readonly defaultCell: string | undefined;
}

const LEVELS: Readonly<Record<string, string>> = { info: '30', warn: '40', error: '50' };

const operations = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');

function sectionOf(heading: string): string {
  return operations.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? '';
}

/** The cells of all rows of a section's tables that begin with a code span or a number. */
function rowsOf(section: string): string[][] {
  const rows = section.match(/^\| (`|\d).*$/gm) ?? [];
  return rows.map((row) => row.split('|').map((cell) => cell.trim())).map((cells) => cells.slice(1, -1));
}

function codeIn(cell = ''): string[] {
  return cell.match(/(?<=`)[^`, ][^`]*(?=`)/g) ?? [];
}

/** Every key that holds a value of its own, such as `api.port` and `execution.providers[].name`. */
function keysOf(node: unknown, prefix = ''): Key[] {
  if (!isMap(node) || !isMap(node.properties)) return [];
  const required: readonly unknown[] = Array.isArray(node.required) ? node.required : [];
  return Object.entries(node.properties).flatMap(([name, child]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    if (!isMap(child)) return [];
    const below = isMap(child.properties) ? keysOf(child, path) : keysOf(child.items, `${path}[]`);
    return isMap(child.properties) && below.length > 0
      ? below
      : [keyOf(path, child, required.includes(name)), ...below];
  });
}

function keyOf(path: string, { default: value }: Readonly<Record<string, unknown>>, isRequired: boolean): Key {
  if (isRequired) return { path, defaultCell: 'required' };
  if (value === undefined) return { path, defaultCell: undefined };
  return { path, defaultCell: `\`${typeof value === 'string' ? value : JSON.stringify(value)}\`` };
}

/** Settings in which nothing but this key is written. */
function withKey(path: string): unknown {
  const [first = '', ...rest] = path.split('.');
  const value = rest.length === 0 ? true : withKey(rest.join('.'));
  return first.endsWith('[]') ? { [first.slice(0, -2)]: [value] } : { [first]: value };
}

describe('the settings', () => {
  const keys = keysOf(schema);
  const rows = rowsOf(sectionOf('Settings'));
  const present = rows.filter((row) => row.length === 3);
  const later = rows.filter((row) => row.length === 2).flatMap(([cell]) => codeIn(cell));

  it('are all of those of the schema, and no others', () => {
    const told = [...present.flatMap(([cell]) => codeIn(cell)), ...later];
    expect(keys.length).toBeGreaterThan(50);
    expect(told.toSorted()).toEqual(keys.map(({ path }) => path).toSorted());
  });

  it('have the defaults of the schema', () => {
    const told = new Map(present.map(([cell, value]) => [codeIn(cell)[0], value]));
    const wrong = keys.filter(({ path, defaultCell }) => {
      return told.has(path) && defaultCell !== undefined && told.get(path) !== defaultCell;
    });
    expect(wrong).toEqual([]);
  });

  it.each(later)('of later versions are refused: %s', (path) => {
    expect(findRefusals(withKey(path), {})).not.toEqual([]);
  });
});

describe('the lines of the log', () => {
  const texts = readSources().map(({ text }) => text);
  const rows = rowsOf(sectionOf('What to watch')).filter(([level]) => level !== undefined && /^\d/.test(level));

  it('are told', () => expect(rows.length).toBeGreaterThan(10));

  it.each(rows)('at level %s: %s', (level, message) => {
    const quoted = `'${codeIn(message)[0]}'`;
    const levels = texts
      .filter((text) => text.includes(quoted))
      .flatMap(
        (text) =>
          text
            .slice(0, text.indexOf(quoted))
            .match(/(?<=log\??\.)(info|warn|error)(?=\()/g)
            ?.at(-1) ?? [],
      );
    expect(levels.map((name) => LEVELS[name])).toContain(level);
  });
});

describe.each([
  ['contrib/treeline.service', operations, schema.properties.shutdownSeconds.default],
  ['contrib/treeline-proxy.service', operations, schema.properties.shutdownSeconds.default],
  ['contrib/treeline-render.service', readFileSync(join(ROOT, 'docs/render.md'), 'utf8'), 25],
])('%s', (file, document, stopSeconds) => {
  const unit = readFileSync(join(ROOT, file), 'utf8');
  const setting = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

  it('waits longer for a stop than the program may take', () => {
    const requestSeconds = 10;
    expect(Number(setting('TimeoutStopSec'))).toBeGreaterThan(stopSeconds + requestSeconds);
  });

  it('uses the places of the document', () => {
    expect(document).toContain(setting('ExecStart').split(' ')[0]);
    expect(document).toContain(setting('ExecStart').split(' ').at(-1));
    expect(document).toContain(`/var/lib/${setting('StateDirectory')}`);
  });
});

it.each(['treeline', 'treeline-proxy', 'treeline-render'])('%s is not started again after wrong settings', (name) => {
  const unit = readFileSync(join(ROOT, `contrib/${name}.service`), 'utf8');
  expect(/^RestartPreventExitStatus=(.*)$/m.exec(unit)?.[1]).toBe(String(EXIT_FAILED));
  expect(/^Restart=(.*)$/m.exec(unit)?.[1]).toBe('on-failure');
});

it('fetches a revocation list without a file that others could have put there', async () => {
  const [recipe = ''] = blocksIn(operations).flatMap(({ text }) =>
    text.includes('openssl crl -inform') ? [text] : [],
  );
  const folder = temporaryDirectory();
  const now = Date.now();
  const list = await createCrl(await createAuthority({ commonName: 'CA', now }), { now, revoked: [] });
  writeFileSync(join(folder, 'list.pem'), list);
  await run('openssl', ['crl', '-in', 'list.pem', '-outform', 'DER', '-out', 'list.crl'], { cwd: folder });
  const fetch = (from: string) =>
    run('sh', ['-c', recipe.replace('http://ca.example/', `file://${from}/`).replaceAll('/etc/treeline', folder)]);
  expect(recipe).not.toContain('/tmp');
  expect(await fetch(folder)).toMatchObject({ code: 0 });
  expect(readFileSync(join(folder, 'ca.crl'), 'utf8')).toContain('-----BEGIN X509 CRL-----');
  expect(readdirSync(folder).sort()).toEqual(['ca.crl', 'list.crl', 'list.pem']);
  expect((await fetch(join(folder, 'nowhere'))).code).not.toBe(0);
  expect(readFileSync(join(folder, 'ca.crl'), 'utf8')).toContain('-----BEGIN X509 CRL-----');
});
