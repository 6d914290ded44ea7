// docs/tasks.md as an operator follows it, with a quick npm; test/long/tasks.long.ts installs what npm packs. And the
// commands that the document names, against what there is.
import { expect, it } from 'vitest';
import { listCommands } from '../scripts/write-cli.ts';
import { createProgram } from '../src/cli/run.ts';
import { operator, TASK_BLOCKS, TASK_ORDER, TASKS } from './support/followed-tasks.ts';

const WIDTH = 80;

it('works as it is written, from the first installation to the last of its tasks', async () => {
  const { follow, ask } = await operator();
  for (const task of TASK_ORDER) await follow(task);
  expect(await ask(TASK_BLOCKS[0]?.text ?? '')).toBe('');
  // What is seen of two of the faults.
  await ask(`echo 'stackTemplate: wob' > stacks/stacks/instances/lost.yaml
sed -i 's/count: "3"/count: "1"/' stacks/stacks/templates/web.yaml
git -C stacks add --all; git -C stacks commit --quiet -m Faults; git -C stacks push --quiet
treeline status --wait "$(git -C stacks rev-parse HEAD)" || true`);
  const status = await ask('treeline status');
  expect(status).toMatch(/the newest version of lost is wrong: stacks\/instances\/lost\.yaml:1:16/);
  expect(status).toMatch(/^shop: Awaiting approval/m);
  expect(await ask('treeline problems')).toContain('did you mean "web"?');
  expect(await ask('treeline held')).toMatch(/treeline approve [0-9a-f]+/);
});

it('has every task in its order, and blocks that fit a terminal', () => {
  const headings = TASKS.match(/(?<=^## ).*/gm);
  expect(headings).toEqual(TASK_ORDER);
  expect(TASK_BLOCKS.flatMap(({ text }) => text.split('\n')).filter((line) => line.length > WIDTH)).toEqual([]);
});

it('names only commands and options that there are', async () => {
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
