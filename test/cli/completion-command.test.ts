// The scripts of `treeline completion`, in the shells that they are for; and the length of what they and the help show.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/run.ts';
import { treeline } from '../support/command-here.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SCRIPTS = { bash: '', zsh: '' };
beforeAll(async () => {
  for (const shell of ['bash', 'zsh'] as const) {
    const { stdout, stderr, code } = await treeline(['completion', shell]);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    SCRIPTS[shell] = stdout;
  }
});

const hasZsh = spawnSync('zsh', ['-f', '-c', 'true']).status === 0;
const ASKING = {
  bash: `COMP_WORDS=(treeline "$@"); COMP_CWORD=$#; _treeline; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // The functions of zsh's own completion exist only within it.
  zsh: 'words=(treeline "$@"); CURRENT=$#words; _treeline',
};
const BEFORE = {
  bash: '',
  zsh: `compdef() { : }; _files() { print -- }; compadd() { shift; print -l -- \${(M)@:#\${words[CURRENT]}*} }\n`,
};

/** Returns what is offered for the last of these words. */
function offered(shell: 'bash' | 'zsh', typed: readonly string[]): string[] {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'script'), `${BEFORE[shell]}${SCRIPTS[shell]}${ASKING[shell]}\n`);
  const { stdout, stderr } = spawnSync(shell, [...(shell === 'zsh' ? ['-f'] : []), 'script', ...typed], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

describe.each(['bash', 'zsh'] as const)('in %s', (shell) => {
  const inShell = it.skipIf(shell === 'zsh' && !hasZsh);

  inShell.each([
    [['sta'], ['status']],
    [['accept'], ['accept-history']],
    [
      ['status', '--wa'],
      ['--wait', '--watch'],
    ],
    [['client', 'n'], ['new']],
    [['client', 'list', '--for'], ['--format']],
    [['status', 'demo', '--time'], ['--timeout']],
  ])('%j is completed to %j', (typed, words) => {
    expect(offered(shell, typed)).toEqual(words);
  });

  inShell('a file is left to the shell', () => {
    expect(offered(shell, ['status', '--cert', ''])).toEqual([]);
    expect(offered(shell, ['serve', '--config', ''])).toEqual([]);
  });
});

it('treeline completion lists the supported shells', async () => {
  const { code, stderr } = await treeline(['completion', 'powershell']);
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: expect.stringContaining('Allowed choices are bash, zsh.'),
  });
});

/** Returns the texts of a command and its subcommands in the help. */
function helpOf(command: Command): readonly string[] {
  const { commands, options, registeredArguments } = command;
  const own = [command, ...options, ...registeredArguments].map((each) =>
    typeof each.description === 'function' ? each.description() : each.description,
  );
  return [...own.map(String), ...commands.flatMap(helpOf)];
}

it('every line of the help has at most 60 characters of text', async () => {
  expect(helpOf(await createProgram()).filter((text) => text.length > 60)).toEqual([]);
});
