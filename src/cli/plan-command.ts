// `treeline plan`: prints what merging one commit into another does to servers, configuration, access and safety. Reads
// the commits from a local repository, and nothing else.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { DELETE_BUDGET } from '../load-settings.ts';
import { isError } from '../model/problem.ts';
import type { Plan } from '../plan/plan.ts';
import { hasNoEffect } from '../plan/plan-digest.ts';
import { planMerge } from '../plan/plan-merge.ts';
import { openLocalRepository } from '../source/local-repository.ts';
import { SourceError } from '../source/source.ts';
import { expecting } from './command-failure.ts';
import { print } from './output.ts';
import { PLAN_REPORTS } from './plan/plan-report.ts';
import { readMerge } from './plan/read-merge.ts';
import { fromUserDirectory } from './user-directory.ts';

const EXIT_PROBLEMS = 1;
const EXIT_CHANGES = 2;

interface PlanOptions {
  readonly base: string;
  readonly head: string;
  readonly format: keyof typeof PLAN_REPORTS;
  readonly deleteBudget?: number;
}

const HELP = `
The files of the merge are those of base, with every file that head has changed since both parted.

Exit code 0: no effect, 1: new errors, 2: changes, 3: could not run.

Example: treeline plan --base origin/main --head HEAD`;

/** Adds the command. */
export function addPlanCommand(program: Command): void {
  program
    .command('plan')
    .description('show what a merge does to servers, configuration, access and safety, before it is merged')
    .argument('[directory]', 'where the layout begins', '.')
    .requiredOption('--base <revision>', 'the commit to merge into, such as origin/main')
    .option('--head <revision>', 'the commit to merge', 'HEAD')
    .addOption(new Option('--format <format>', 'how to print').choices(Object.keys(PLAN_REPORTS)).default('text'))
    .addOption(
      new Option(
        '--delete-budget <number>',
        'how many deletes need no approval; default: as without settings',
      ).argParser(countOf),
    )
    .addHelpText('after', HELP)
    .action(async (directory: string, options: PlanOptions) => {
      const plan = await expecting([SourceError], () => planOf(fromUserDirectory(directory), options));
      print(PLAN_REPORTS[options.format](plan));
      process.exitCode = exitCodeOf(plan);
    });
}

async function planOf(directory: string, { base, head, deleteBudget }: PlanOptions): Promise<Plan> {
  const repository = await openLocalRepository(directory);
  try {
    return planMerge(await readMerge(repository, { base, head, budget: deleteBudget ?? DELETE_BUDGET }));
  } finally {
    repository.close();
  }
}

function exitCodeOf(plan: Plan): number {
  if (plan.problems.some(isError)) return EXIT_PROBLEMS;
  return hasNoEffect(plan) ? 0 : EXIT_CHANGES;
}

function countOf(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It takes a number of servers.');
}
