// Tests the command line in a process of its own: output, streams and exit codes. Other tests cover the findings of the
// commands. Where it says so, it runs the sources, of which the types are only stripped; else it runs the bundle.
import { copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { treeline } from './support/command-here.ts';
import { ROOT, run, SOURCE } from './support/command-line.ts';
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

describe('treeline', () => {
  it('prints its commands and version from the sources', async () => {
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
    ['an unknown command', ['bogus'], "unknown command 'bogus'"],
    [
      'sync',
      ['sync', '--now'],
      "unknown command 'sync'\n(the controller follows the branch. To wait for a commit: treeline status --wait",
    ],
    ['a missing argument', ['explain'], "missing required argument 'node'"],
    ['a missing settings file', ['serve', '--config', 'no-such.yaml'], 'no-such.yaml'],
    ['an unknown node', ['explain', 'prod-web-5', '--dir', SAMPLE], 'did you mean "prod-web-'],
  ])('ends with 3 and names the mistake for %s', async (_, args, words) => {
    const ended = await treeline(args);
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toMatch(/^ +at /m);
  });
});

describe('treeline validate', () => {
  it('ends with 1 for a mistake, and prints place, message, hint and affected instances', async () => {
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

  it('explains a code, and suggests one for a misspelt code', async () => {
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

  it('starts in the working directory of the user, also as an npm script', async () => {
    const directory = sampleWithMistake();
    expect((await treeline(['validate'], { cwd: directory })).stdout).toContain('wrong.yaml:2:16');
    const asScript = await run('npm', ['--prefix', ROOT, 'run', '-s', 'treeline', '--', 'validate', '.'], {
      cwd: directory,
    });
    expect(asScript.stdout).toContain('wrong.yaml:2:16');
    expect(asScript.code).toBe(1);
  });
});

describe('npm run', () => {
  it('start reports missing packages', async () => {
    const clone = temporaryDirectory();
    mkdirSync(join(clone, 'scripts'));
    for (const file of ['package.json', 'scripts/need-packages.sh']) copyFileSync(join(ROOT, file), join(clone, file));
    expect(await run('npm', ['run', '-s', 'start'], { cwd: clone })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('treeline: run "npm ci" first, which installs its packages and the right Node\n'),
    });
  });
});
