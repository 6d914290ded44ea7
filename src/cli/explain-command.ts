// `treeline explain`: prints where each value of a node's record comes from.
import type { Command } from 'commander';
import type { DesiredState } from '../desired/desired-state.ts';
import { nodeNames, nodeOf } from '../desired/node-records.ts';
import { explainRecord } from '../hiera/explain.ts';
import { buildRecord } from '../hiera/record.ts';
import { fieldOf } from '../model/json.ts';
import type { ExplainedValue } from '../model/record.ts';
import { didYouMean } from '../model/suggest.ts';
import { CommandFailure } from './command-failure.ts';
import { formatProblem } from './format-problem.ts';
import { type Format, formatOption, print, printJson } from './output.ts';
import { deriveDirectory, fromUserDirectory } from './user-directory.ts';

interface Options {
  readonly dir: string;
  readonly format: Format;
}

/** Adds the command. Exit code 0: explained; 3: could not run, also for an unknown node or key. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain')
    .description("show where each value of a node's record comes from, and what it hides")
    .argument('<node>', 'a server of a stack, or a hand-written clientcert')
    .argument('[key]', 'only this key')
    .option('--dir <directory>', 'where the layout begins', '.')
    .addOption(formatOption())
    .action(async (node: string, key: string | undefined, { dir, format }: Options) => {
      const record = explainNode(await desiredIn(fromUserDirectory(dir)), node);
      const keys = key === undefined ? Object.keys(record) : [key];
      const explained = keys.map((name) => [name, explainedKey(record, name)] as const);
      if (format === 'json') printJson(key === undefined ? Object.fromEntries(explained) : explained[0]?.[1]);
      else for (const [name, value] of explained) print(formatValue(name, value));
    });
}

async function desiredIn(directory: string): Promise<DesiredState> {
  const derivation = await deriveDirectory(directory);
  if (derivation.isFollowed) return derivation.desired;
  const problems = derivation.problems.map((problem) => formatProblem(problem)).join('\n');
  throw new CommandFailure(`nothing can be explained before this is mended:\n${problems}`);
}

function explainNode(desired: DesiredState, name: string): Readonly<Record<string, ExplainedValue>> {
  const node = nodeOf(desired, name);
  if (node !== undefined) return explainRecord(buildRecord(node, { outputs: {}, updated: desired.time }));
  const advice = didYouMean(name, nodeNames(desired)) ?? 'treeline validate tells what is wrong in the directory';
  throw new CommandFailure(`there is no node "${name}"; ${advice}`);
}

function explainedKey(record: Readonly<Record<string, ExplainedValue>>, key: string): ExplainedValue {
  const value = fieldOf(record, key);
  if (value !== undefined) return value;
  const advice = didYouMean(key, Object.keys(record)) ?? 'key names are case sensitive';
  throw new CommandFailure(`its record has no key "${key}"; ${advice}`);
}

function formatValue(key: string, explained: ExplainedValue): string {
  const merge = explained.merge === 'first' ? '' : `, merged as ${explained.merge}`;
  const lines = [`${key} = ${JSON.stringify(explained.value)}`, `    from ${sourceOf(explained)}${merge}`];
  for (const hidden of explained.overrides) lines.push(`    over ${sourceOf(hidden)}: ${JSON.stringify(hidden.value)}`);
  return lines.join('\n');
}

function sourceOf({ type, name, file, line }: Pick<ExplainedValue, 'type' | 'name' | 'file' | 'line'>): string {
  return file === null ? `${type} ${name} (computed)` : `${type} ${name} (${file}:${line})`;
}
