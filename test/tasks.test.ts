// The commands that docs/tasks.md names, against what there is.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listCommands } from '../scripts/write-cli.ts';
import { createProgram } from '../src/cli/run.ts';
import { ROOT } from './support/command-line.ts';

const TASKS = readFileSync(join(ROOT, 'docs/tasks.md'), 'utf8');

it('docs/tasks.md names only existing commands and options', async () => {
  const commands = listCommands(await createProgram());
  const named = TASKS.replaceAll('\\\n', ' ').match(/(?<=[`( ])(?<!-[gu] |--user )treeline [a-z][^`\n|;]*/g) ?? [];
  expect(named.length).toBeGreaterThan(20);
  const wrong = named.filter((text) => {
    const words = text.split(/\s+/).slice(1);
    const found =
      commands.find(({ name }) => name === words.slice(0, 2).join(' ')) ??
      commands.find(({ name }) => name === words[0]);
    const options = words.filter((word) => word.startsWith('--'));
    const known = new Set(found?.command.options.map(({ long }) => long));
    return found === undefined || options.some((option) => !known.has(option));
  });
  expect(wrong).toEqual([]);
});
