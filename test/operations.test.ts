// docs/install.md, docs/operate.md and the units of contrib/ against what they describe: commands, quotes, lines of the log.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import schema from '../schemas/settings.schema.json' with { type: 'json' };
import { renderSettings } from '../scripts/write-settings.ts';
import { createAuthority } from '../src/base/development-pki.ts';
import { EXIT_FAILED } from '../src/cli/command-failure.ts';
import { readSources } from './architecture/source-file.ts';
import { ROOT, run } from './support/command-line.ts';
import { createCrl } from './support/create-crl.ts';
import { blocksIn } from './support/document-blocks.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const LEVELS: Readonly<Record<string, string>> = { info: '30', warn: '40', error: '50' };

const install = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
const operate = readFileSync(join(ROOT, 'docs/operate.md'), 'utf8');

function sectionOf(heading: string): string {
  return operate.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? '';
}

/** The cells of all rows of a section's tables that begin with a code span or a number. */
function rowsOf(section: string): string[][] {
  const rows = section.match(/^\| (`|\d).*$/gm) ?? [];
  return rows.map((row) => row.split('|').map((cell) => cell.trim())).map((cells) => cells.slice(1, -1));
}

function codeIn(cell = ''): string[] {
  return cell.match(/(?<=`)[^`, ][^`]*(?=`)/g) ?? [];
}

it('docs/settings.md is what `npm run docs:settings` writes', () => {
  expect(readFileSync(join(ROOT, 'docs/settings.md'), 'utf8')).toBe(renderSettings());
});

it('docs/operate.md quotes the messages of the program', () => {
  const rows =
    sectionOf('Causes and remedies')
      .split('\n### ')[0]
      ?.match(/^\| .*$/gm) ?? [];
  const texts = readSources().map(({ text }) => text);
  const quoted = rows.flatMap((row) => codeIn(row.split(' | ')[0]));
  // Between what is different each time, the words of the source.
  const words = quoted.flatMap((text) => text.split(/…|"?\b[A-Z]+\b:?"?/)).filter((part) => part.trim().length > 12);
  expect(words.length).toBeGreaterThan(20);
  expect(words.filter((part) => !texts.some((text) => text.includes(part.trim().replace(/:$/, ''))))).toEqual([]);
});

describe('the log lines of docs/operate.md', () => {
  const texts = readSources().map(({ text }) => text);
  const rows = rowsOf(sectionOf('What to watch')).filter(([level]) => level !== undefined && /^\d/.test(level));

  it('exist in the sources', () => expect(rows.length).toBeGreaterThan(10));

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
  ['contrib/treeline.service', install, schema.properties.shutdownSeconds.default],
  ['contrib/treeline-proxy.service', install, schema.properties.shutdownSeconds.default],
  ['contrib/treeline-render.service', readFileSync(join(ROOT, 'docs/render.md'), 'utf8'), 25],
])('%s', (file, document, stopSeconds) => {
  const unit = readFileSync(join(ROOT, file), 'utf8');
  const setting = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

  it('waits longer for a stop than the program may take', () => {
    const requestSeconds = 10;
    expect(Number(setting('TimeoutStopSec'))).toBeGreaterThan(stopSeconds + requestSeconds);
  });

  it('uses the paths of the document', () => {
    expect(document).toContain(setting('ExecStart').split(' ')[0]);
    expect(document).toContain(setting('ExecStart').split(' ').at(-1));
    expect(document).toContain(`/var/lib/${setting('StateDirectory')}`);
  });
});

it.each(['treeline', 'treeline-proxy', 'treeline-render'])('%s is not restarted after wrong settings', (name) => {
  const unit = readFileSync(join(ROOT, `contrib/${name}.service`), 'utf8');
  expect(/^RestartPreventExitStatus=(.*)$/m.exec(unit)?.[1]).toBe(String(EXIT_FAILED));
  expect(/^Restart=(.*)$/m.exec(unit)?.[1]).toBe('on-failure');
});

it('fetches a revocation list without a file that others could create', async () => {
  const [recipe = ''] = blocksIn(install).flatMap(({ text }) => (text.includes('openssl crl -inform') ? [text] : []));
  const folder = temporaryDirectory();
  const now = Date.now();
  const list = createCrl(await createAuthority({ commonName: 'CA', now }), { now, revoked: [] });
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
