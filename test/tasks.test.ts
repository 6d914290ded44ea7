// docs/tasks.md as an operator follows it, with a quick npm; test/long/tasks.long.ts installs what npm packs. And what the document says of
// alerts, commands and the status, against what there is.
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { listCommands } from '../scripts/write-cli.ts';
import { createProgram } from '../src/cli/run.ts';
import { readSources } from './architecture/source-file.ts';
import { ROOT } from './support/command-line.ts';
import { operator, TASK_BLOCKS, TASK_ORDER, TASKS } from './support/followed-tasks.ts';

const WIDTH = 80;

function sectionOf(heading: string): string {
  return TASKS.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? '';
}

it('works as it is written, from the first installation to the last of its tasks', async () => {
  const { follow, ask } = await operator();
  for (const task of TASK_ORDER) await follow(task);
  await follow('Ten faults');
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
  expect(headings).toEqual([...TASK_ORDER, 'What to alert on', 'Ten faults']);
  expect(TASK_BLOCKS.flatMap(({ text }) => text.split('\n')).filter((line) => line.length > WIDTH)).toEqual([]);
});

describe('what to alert on', () => {
  const { groups } = load(readFileSync(`${ROOT}/contrib/prometheus/treeline.rules.yml`, 'utf8')) as {
    readonly groups: readonly {
      readonly rules: readonly { readonly alert: string; readonly labels: { readonly severity: string } }[];
    }[];
  };
  const rules = groups.flatMap((group) => group.rules);

  it.each(['critical', 'warning', 'info'])('lists every rule that is %s', (severity) => {
    const table = sectionOf('What to alert on').split(`(\`${severity}\`)`)[1]?.split('\n\n')[0] ?? '';
    const wanted = rules.filter(({ labels }) => labels.severity === severity).map(({ alert }) => alert);
    expect((table.match(/(?<=\[)\w+(?=\])/g) ?? []).toSorted()).toEqual(wanted.toSorted());
  });

  it('names no other alert among the faults', () => {
    const named = new Set(sectionOf('Ten faults').match(/\bTreeline[A-Z]\w+/g));
    expect(named.size).toBeGreaterThan(8);
    expect([...named].filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([]);
  });
});

describe('ten faults', () => {
  const rows = sectionOf('Ten faults').match(/^\| \*\*.*$/gm) ?? [];

  it('are ten', () => expect(rows).toHaveLength(10));

  it('quote what the status says', () => {
    const texts = readSources().map(({ text }) => text);
    const quoted = rows.flatMap((row) =>
      [...(row.split(' | ')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
    );
    // Between what is different each time, the words of the source.
    const words = quoted.flatMap((text) => text.split(/…|"?\b[A-Z]+\b:?"?/)).filter((part) => part.trim().length > 12);
    expect(words.length).toBeGreaterThan(5);
    expect(words.filter((part) => !texts.some((text) => text.includes(part.trim().replace(/:$/, ''))))).toEqual([]);
  });
});

it('names only commands and options that there are', async () => {
  const commands = listCommands(await createProgram());
  const named = TASKS.replaceAll('\\\n', ' ').match(/(?<=[`( ])(?<!-[gu] |--user )treeline [a-z][^`\n|;]*/g) ?? [];
  expect(named.length).toBeGreaterThan(30);
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
