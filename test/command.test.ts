// Tests the command line in a process of its own: output, streams and exit codes. Other tests cover the findings of the
// commands. Where it says so, it runs the sources, of which the types are only stripped; else it runs the bundle.
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { ROOT, run, SOURCE, treeline } from './support/command-line.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const SAMPLE = join(ROOT, 'sample-repo');

const COMMANDS = [
  'provider',
  ...['demo', 'serve', 'validate', 'plan', 'explain', 'schemas', 'store', 'status', 'held', 'problems'],
  ...['approve', 'accept-history', 'suspend', 'resume', 'retry', 'adopt'],
];

/** A copy of the sample in which one instance names a template that is not there. */
function sampleWithMistake(): string {
  const directory = temporaryDirectory();
  cpSync(SAMPLE, directory, { recursive: true });
  writeFileSync(join(directory, 'stacks/instances/wrong.yaml'), 'description: Wrong\nstackTemplate: shopp\n');
  return directory;
}

function textsIn(directory: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

describe('treeline', () => {
  it('tells its commands and its version, out of the sources', async () => {
    // The help loads every command.
    const help = await run(process.execPath, [SOURCE, '--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const command of COMMANDS) {
      expect(help.stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    }
    expect(await run(process.execPath, [SOURCE, '--version'])).toMatchObject({
      code: 0,
      stdout: `${packageJson.version}\n`,
    });
  });

  it.each([
    ['no command that it has', ['bogus'], "unknown command 'bogus'"],
    [
      'sync',
      ['sync', '--now'],
      "unknown command 'sync'\n(the branch is followed by itself. To wait for a commit: treeline status --wait",
    ],
    ['rollback', ['rollback'], "unknown command 'rollback'\n(revert the commit and push: git revert COMMIT)"],
    ['get', ['get', 'nodes'], "unknown command 'get'\n(all instances, or one with its servers: treeline status;"],
    ['plan without a base', ['plan', ROOT], '--base <revision>'],
    ['plan of a revision that is none', ['plan', ROOT, '--base=-x', '--head', 'HEAD'], '"-x" is no revision of git'],
    ['proxy without settings', ['proxy'], 'treeline: say where the settings of the proxy are: --config FILE'],
    ['no option that it has', ['validate', '--bogus'], "unknown option '--bogus'"],
    ['no argument where one is needed', ['explain'], "missing required argument 'node'"],
    ['a format that it has not', ['validate', '--format', 'xml'], 'xml'],
    ['a missing required option', ['serve'], '--config'],
    ['a settings file that is not there', ['serve', '--config', 'no-such.yaml'], 'no-such.yaml'],
    ['a directory that is not there', ['validate', 'no-such-directory'], 'no-such-directory'],
    ['a node that is not there', ['explain', 'prod-web-5', '--dir', SAMPLE], 'did you mean "prod-web-'],
    ['a key that is not there', ['explain', 'prod-web-4', 'cpu', '--dir', SAMPLE], 'did you mean "cpus"'],
  ])('called with %s ends with 3 and says so', async (_, args, words) => {
    const ended = await treeline(args);
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toMatch(/^ +at /m);
  });
});

describe('treeline validate', () => {
  it('ends with 0 for a right directory', async () => {
    expect(await treeline(['validate', SAMPLE])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+ files, 0 errors, 0 warnings\n$/),
      stderr: '',
    });
  });

  it('says what to do in a folder without tree.yaml, and with a bare repository', async () => {
    const root = temporaryDirectory();
    for (const name of ['bare/objects', 'bare/refs']) mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, 'bare/HEAD'), 'ref: refs/heads/main\n');
    const [above, bare] = await Promise.all([
      treeline(['validate'], { cwd: root }),
      treeline(['validate', 'bare'], { cwd: root }),
    ]);
    expect([above.code, above.stdout]).toEqual([1, expect.stringContaining('name that one (treeline validate DIR')]);
    expect(bare).toMatchObject({ code: 3, stderr: expect.stringContaining('bare is a bare repository, and holds no') });
  });

  it('ends with 1 for a wrong one, and prints place, message, hint and whom it stops', async () => {
    const { code, stdout, stderr } = await treeline(['validate', sampleWithMistake()]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout.split('\n').slice(0, 5)).toEqual([
      'stacks/instances/wrong.yaml:2:16: error: there is no stack template "shopp" [unknown_template]',
      '    2 | stackTemplate: shopp',
      '      |                ^',
      '    hint: did you mean "shop"?',
      '    stops: wrong',
    ]);
    expect(stdout).toMatch(/files, 1 error, 0 warnings\n$/);
  });

  it('warns of what is right and most likely not meant, a folder without a place in it', async () => {
    const directory = sampleWithMistake();
    rmSync(join(directory, 'stacks/instances/wrong.yaml'));
    rmSync(join(directory, 'clients'), { recursive: true });
    const layers = join(directory, 'types/configuration');
    renameSync(join(layers, 'production-frankfurt.yaml'), join(layers, 'production-frankfrut.yaml'));
    const { code, stdout } = await treeline(['validate', directory]);
    expect({ code, lines: stdout.split('\n') }).toEqual({
      code: 0,
      lines: [
        'clients: warning: no client is registered, so the interface admits no client [no_administrator]',
        '    hint: add clients/<serial>.yaml with "role: administrator", where <serial> is that of your certificate',
        'types/configuration/production-frankfrut.yaml:3:1: warning: no node selects the configuration "production-frankfrut" [unused_object]',
        '    3 | description: Production in Frankfurt',
        '      | ^',
        '    hint: did you mean "production-frankfurt"?',
        expect.stringMatching(/^\d+ files, 0 errors, 2 warnings$/),
        '',
      ],
    });
  });

  it('prints JSON for programs', async () => {
    const { code, stdout } = await treeline(['validate', '--format', 'json', sampleWithMistake()]);
    expect(code).toBe(1);
    const answer: unknown = JSON.parse(stdout);
    expect(answer).toEqual({
      files: expect.any(Number),
      problems: [
        {
          code: 'unknown_template',
          severity: 'error',
          file: 'stacks/instances/wrong.yaml',
          line: 2,
          column: 16,
          pointer: '/stackTemplate',
          message: 'there is no stack template "shopp"',
          hint: 'did you mean "shop"?',
        },
      ],
    });
  });

  it.each(['github', 'gitlab', 'sarif'])('names files from the root of the Git repository: %s', async (format) => {
    const root = temporaryDirectory();
    mkdirSync(join(root, '.git'));
    renameSync(sampleWithMistake(), join(root, 'infra'));
    const { code, stdout, stderr } = await treeline(['validate', '--format', format, 'infra'], { cwd: root });
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toContain('infra/stacks/instances/wrong.yaml');
    expect(stdout).not.toContain('\u001b');
  });

  it('explains a code, and suggests one for a slip', async () => {
    const { code, stdout } = await treeline(['validate', '--explain', 'unknown_template']);
    expect({ code, lines: stdout.split('\n').slice(0, 5) }).toEqual({
      code: 0,
      lines: [
        'unknown_template (error)',
        '',
        'an instance names a template that does not exist.',
        '',
        'What to do: correct the name, or add the file.',
      ],
    });
    expect(await treeline(['validate', '--explain', 'unknown_tmplate'])).toEqual({
      code: 3,
      stdout: '',
      stderr: 'treeline: there is no problem code "unknown_tmplate": did you mean "unknown_template"?\n',
    });
  });

  it('begins where the person stands, also as a script of npm', async () => {
    const directory = sampleWithMistake();
    expect((await treeline(['validate'], { cwd: directory })).stdout).toContain('wrong.yaml:2:16');
    const asScript = await run('npm', ['--prefix', ROOT, 'run', '-s', 'treeline', '--', 'validate', '.'], {
      cwd: directory,
    });
    expect(asScript.stdout).toContain('wrong.yaml:2:16');
    expect(asScript.code).toBe(1);
  });

  it("takes no notice of another package's npm", async () => {
    const env = { INIT_CWD: SAMPLE, npm_package_name: 'other', npm_lifecycle_event: 'test' };
    const { stdout } = await treeline(['validate'], { cwd: sampleWithMistake(), env });
    expect(stdout).toContain('wrong.yaml:2:16');
  });
});

describe('treeline explain', () => {
  it('prints a whole record as JSON', async () => {
    const { stdout } = await treeline(['explain', 'lab-db', '--dir', SAMPLE, '--format', 'json']);
    const { layers, keys } = JSON.parse(stdout);
    expect(layers.slice(0, 2)).toEqual([
      { kind: 'computed', type: 'clientcert', name: 'lab-db', file: null, status: 'present' },
      {
        ...{ kind: 'object', type: 'clientcert', name: 'lab-db' },
        file: 'types/clientcert/lab-db.yaml',
        status: 'present',
      },
    ]);
    expect(keys).toMatchObject({
      name: { value: 'lab-db', statements: [{ layer: 0, at: null }] },
      location: { value: 'lab', statements: [{ layer: 1, at: { file: 'types/clientcert/lab-db.yaml' } }] },
    });
  });
});

describe('treeline schemas', () => {
  it('makes no folder for a name that is misspelt, and leaves its own schemas alone', async () => {
    const missing = join(temporaryDirectory(), 'stakcs');
    expect(await treeline(['schemas', missing])).toMatchObject({
      code: 3,
      stderr: `treeline: the folder ${missing} cannot be used: it is not there\n`,
    });
    expect(await treeline(['schemas'], { cwd: ROOT })).toMatchObject({
      code: 3,
      stderr: `treeline: ${join(ROOT, 'schemas')} is where Treeline keeps its own: name the folder of a stacks repository\n`,
    });
  });

  it('writes the schemas of all files of the layout, and nothing else', async () => {
    const directory = join(temporaryDirectory(), 'stacks');
    mkdirSync(directory);
    const { code, stdout } = await treeline(['schemas', '.'], { cwd: directory });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(join(directory, 'schemas')) });
    const schemas = textsIn(join(ROOT, 'schemas'));
    const operators = ['settings', 'proxy-settings', 'render-settings'].map((name) => `${name}.schema.json`);
    const others = ['api.json', 'openapi.json', 'problem-codes.json', ...operators];
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(others));
    const layout = Object.fromEntries(Object.entries(schemas).filter(([name]) => !others.includes(name)));
    expect(textsIn(join(directory, 'schemas'))).toEqual(layout);
  });
});

describe('treeline demo', () => {
  it('takes no empty name for its folder, and no file', async () => {
    expect(await treeline(['demo', '--dir', ''])).toMatchObject({
      code: 3,
      stderr: 'treeline: --dir is empty: name a folder, or leave it out\n',
    });
    const file = join(ROOT, 'package.json');
    expect(await treeline(['demo', '--dir', file])).toMatchObject({
      code: 3,
      stderr: `treeline: ${file} is there already, and is a file, not a folder\n`,
    });
  });
});

describe('npm run', () => {
  it.each(['start', 'treeline'])('%s says that the packages are missing', async (script) => {
    const clone = temporaryDirectory();
    mkdirSync(join(clone, 'scripts'));
    for (const file of ['package.json', 'scripts/need-packages.sh']) copyFileSync(join(ROOT, file), join(clone, file));
    expect(await run('npm', ['run', '-s', script], { cwd: clone })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('treeline: run "npm ci" first, which installs its packages and the right Node\n'),
    });
  });
});
