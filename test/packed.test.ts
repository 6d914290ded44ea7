// The package as npm would publish it: plain JavaScript, everything the command needs, and nothing that it does not.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { OLD_NODE, type ProcessResult, ROOT, run } from './support/command-line.ts';

let folder = '';
let installed = '';

/** Packs, and unpacks below a node_modules, where Node strips no types. Beside it is what package.json asks for, no more. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'treeline-packed-'));
  installed = join(folder, 'node_modules/treeline');
  mkdirSync(installed, { recursive: true });
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: ROOT });
  expect(packed.code, packed.stderr).toBe(0);
  const file = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  const unpacked = await run('tar', ['-xzf', file, '-C', installed, '--strip-components=1'], { cwd: folder });
  expect(unpacked.code, unpacked.stderr).toBe(0);
  for (const name of Object.keys(packageJson.dependencies)) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function treeline(...args: readonly string[]): Promise<ProcessResult> {
  return run(process.execPath, [join(installed, packageJson.bin.treeline), ...args], { cwd: folder });
}

it('has a command with its name', () => {
  const command = join(installed, packageJson.bin.treeline);
  expect(statSync(command).mode & 0o111).toBe(0o111);
  expect(readFileSync(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env (?:-S )?node /);
});

it('contains no TypeScript, no tests, and no files that only a clone needs', () => {
  const files = readdirSync(installed, { recursive: true }).map(String);
  expect(files.filter((name) => /\.ts$|^src|^test|tsconfig|biome|vitest|package-lock/.test(name))).toEqual([]);
  expect(readdirSync(installed).sort()).toEqual([
    'ARCHITECTURE.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'contrib',
    'dist',
    'docs',
    'migrations',
    'package.json',
    'sample-repo',
    'schemas',
  ]);
});

it('has a README whose links lead to packed files', () => {
  const links = [...readFileSync(join(installed, 'README.md'), 'utf8').matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(
    ([, to]) => to,
  );
  const relative = links.filter((to = '') => !/^[a-z]+:/.test(to));
  expect(relative.length).toBeGreaterThan(10);
  expect(relative.filter((to = '') => !existsSync(join(installed, to)))).toEqual([]);
});

it('shows its help and its version', async () => {
  const help = await treeline('--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toMatch(/^Usage: treeline /);
  expect(await treeline('--version')).toMatchObject({ code: 0, stdout: `${packageJson.version}\n` });
});

it('validates the packed sample', async () => {
  const ended = await treeline('validate', join(installed, 'sample-repo'));
  expect(ended).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(' 0 errors, 0 warnings') });
});

it('writes the packed schemas', async () => {
  const ended = await treeline('schemas', folder);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(existsSync(join(folder, 'schemas/stack-instance.schema.json'))).toBe(true);
});

it('finds the packed migrations', async () => {
  const [files, migrate] = ['base/product-files.js', 'store/postgres/migrate.js'].map((path) =>
    pathToFileURL(join(installed, 'dist/src', path)),
  );
  const program = `
    import { readdirSync } from 'node:fs';
    import { productPath } from '${files}';
    import { migrate } from '${migrate}';
    console.log(typeof migrate, ...readdirSync(productPath('migrations')));`;
  const ended = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder });
  expect(ended).toMatchObject({ code: 0, stderr: '', stdout: 'function 0001_store.sql\n' });
});

it('contains the page with its packages', async () => {
  const page = pathToFileURL(join(installed, 'dist/src/page/serve-page.js'));
  const program = `import { pageFiles } from '${page}'; console.log([...pageFiles().keys()].sort().join(' '));`;
  const ended = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder });
  const files = readdirSync(join(ROOT, 'src/page/browser'));
  const names = [...files, 'preact.js', 'htm.js', '/ui/api'].sort().join(' ');
  expect(ended).toMatchObject({ code: 0, stderr: '', stdout: `${names}\n` });
});

it('contains providers that answer', async () => {
  const { code, stderr } = await run(process.execPath, [
    join(installed, 'contrib/providers/local-server/local-server.mjs'),
    'list',
  ]);
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: 'LOCAL_SERVER_DIRECTORY is not set: add it to the environment of the provider entry\n',
  });
});

it('reports an old Node without advice for clones', async () => {
  const cli = join(installed, packageJson.bin.treeline);
  const result = await run(process.execPath, ['--import', OLD_NODE, cli, '--version']);
  expect(result).toMatchObject({ code: 3, stdout: '' });
  expect(result.stderr).toMatch(/^treeline: Node 24 or newer is needed, and this is .*\.\n$/);
});

it('loads all modules of the controller', async () => {
  const ended = await treeline('serve', '--config', 'no-such.yaml');
  expect(ended.code).toBe(3);
  expect(ended.stderr).toContain('no-such.yaml');
});
