// `treeline plan`: prints the effect of a merge on servers, configuration, access and safety. Reads the commits from a
// local repository and, if a controller is named, the recorded servers from it.
import { type Command, Option } from 'commander';
import { quote, shortOid } from '../base/wording.ts';
import { isError } from '../model/problem.ts';
import { ServiceError } from '../model/service-error.ts';
import { hasNoEffect, isKnownAfter, type Plan } from '../plan/plan.ts';
import { planMerge } from '../plan/plan-merge.ts';
import { type LocalRepository, openLocalRepository } from '../repository/local-repository.ts';
import { SourceError } from '../repository/source.ts';
import type { RecordedState } from '../service/answers.ts';
import { DELETE_BUDGET } from '../settings/load-settings.ts';
import { CommandFailure, EXIT_PROBLEMS, expecting } from './command-failure.ts';
import { formatProblem } from './format-problem.ts';
import { print, visibleLine, wholeNumber } from './output.ts';
import { type MarkdownOptions, markdownReport, markdownWithoutPlan } from './plan/markdown-report.ts';
import { knownProblemsText, type PlanStyle, planHeadline, planSections, type Section } from './plan/plan-sections.ts';
import { planOnRecorded, type RecordedOrder, readMerge } from './plan/read-merge.ts';
import { addOptionalServerOptions, getFrom, type ServerOptions, serverIn } from './server-connection.ts';
import { fromUserDirectory } from './user-directory.ts';
import { publicProblem } from './validate/report.ts';

const EXIT_CHANGES = 2;
const DELETES_MAX = 999_999;
/** The default first. */
const FORMATS = { text: textPlan, json: jsonPlan, markdown: markdownReport } as const satisfies Record<
  string,
  (plan: Plan, options: MarkdownOptions) => string
>;

interface PlanOptions extends Partial<ServerOptions> {
  readonly base?: string;
  readonly head: string;
  readonly node?: string;
  readonly format: keyof typeof FORMATS;
  readonly deleteBudget?: number;
  readonly commentId?: string;
}

const HELP = `
Git merges head into base in a temporary repository (git 2.38 or newer).
Uncommitted changes are not planned.

With --server, base is the commit that the controller follows, and servers are
compared with their recorded state. --base ignores the controller, even if the
environment names one.

Exit code 0: no effect, 1: new errors, 2: changes, 3: could not run.

Examples:
  treeline plan --base origin/main
  treeline plan --base origin/main --head feature stacks --format json
  treeline plan --base v1 --head v2 --node web-1
  treeline plan --server https://treeline.example:8443 \\
    --cert me.crt --key me.key --ca ca.crt`;

/** Adds the command. */
export function addPlanCommand(program: Command): void {
  const command = program
    .command('plan')
    .description('show what a merge changes, before it is merged')
    .argument('[directory]', 'the directory of the layout', '.')
    .option('--base <revision>', 'the commit to merge into, such as origin/main')
    .option('--head <revision>', 'the commit to merge', 'HEAD')
    .option('--node <name>', 'only the server and the record of this name')
    .addOption(new Option('--format <format>', 'how to print').choices(Object.keys(FORMATS)).default('text'))
    .option('--delete-budget <number>', 'how many deletes need no approval', wholeNumber(0, DELETES_MAX))
    .option('--comment-id <id>', 'names a comment in Markdown (default: the folder)');
  addOptionalServerOptions(command)
    .addHelpText('after', HELP)
    .action(async (directory: string, options: PlanOptions) => {
      // True if the command line, not only the environment, names the controller.
      const isAsked = command.getOptionValueSource('server') === 'cli';
      await expecting([SourceError, ServiceError], async () => {
        using repository = await openLocalRepository(fromUserDirectory(directory));
        const { prefix } = repository;
        const id = options.commentId ?? prefix.replace(/\/$/, '');
        try {
          const server = await controllerIn(options, isAsked);
          const plan = await readPlan(repository, options, server);
          print(FORMATS[options.format](plan, { prefix, id, isRecorded: server !== undefined }));
          process.exitCode = exitCodeOf(plan);
        } catch (error) {
          if (options.format === 'markdown') print(markdownWithoutPlan(id));
          throw error;
        }
      });
    });
}

const NO_BASE =
  'name the commit to merge into: --base <revision>, such as --base origin/main; or --server, to compare with a running controller';

/** With --base, a controller that only the environment names is ignored. */
async function controllerIn(options: PlanOptions, isAsked: boolean): Promise<ServerOptions | undefined> {
  if (options.base !== undefined && !isAsked) return undefined;
  return await serverIn(options);
}

async function readPlan(
  repository: LocalRepository,
  options: PlanOptions,
  server: ServerOptions | undefined,
): Promise<Plan> {
  const { base, head, node, deleteBudget: budget = DELETE_BUDGET } = options;
  if (server === undefined && base === undefined) throw new CommandFailure(NO_BASE);
  if (server === undefined) {
    return planMerge({ ...(await readMerge(repository, { base: base ?? '', head, budget })), node });
  }
  const recorded = await recordedState(server, { repository, base });
  const problems = (await getFrom(server, '/operations/problems')) as RecordedOrder['problems'];
  return await planOnRecorded(repository, { recorded, problems, budget, head, node });
}

interface KnownCommits {
  readonly repository: LocalRepository;
  readonly base: string | undefined;
}

/** Resolves with the recorded state. Throws CommandFailure if its commit is missing here, or is not base. */
async function recordedState(server: ServerOptions, { repository, base }: KnownCommits): Promise<RecordedState> {
  const recorded = (await getFrom(server, '/operations/recorded')) as RecordedState;
  const followed = `the controller follows ${recorded.commit}`;
  if (base !== undefined && (await repository.resolve(base)) !== recorded.commit) {
    throw new CommandFailure(`${followed}, which is not ${base}: leave --base out to compare with the controller`);
  }
  if (!(await repository.has(recorded.commit))) {
    throw new CommandFailure(`${followed}, which this repository does not have: "git fetch" brings it`);
  }
  return recorded;
}

function exitCodeOf(plan: Plan): number {
  if (plan.problems.some(isError)) return EXIT_PROBLEMS;
  return hasNoEffect(plan) ? 0 : EXIT_CHANGES;
}

const TEXT_STYLE: PlanStyle = {
  name: visibleLine,
  sentence: visibleLine,
  value(value) {
    if (isKnownAfter(value)) return visibleLine(value);
    return value === null ? 'none' : quote(value);
  },
  arrow: '->',
  prefix: '',
};

/** Returns the plan as text. */
export function textPlan(plan: Plan): string {
  const { base, head, problems } = plan;
  const [into, merged] = [base, head].map(shortOid);
  const isMerge = base !== head;
  const known = knownProblemsText(plan);
  return [
    `${isMerge ? `merging ${merged} into ${into}` : `what is left to do at ${into}`}\n${planHeadline(plan)}`,
    ...(isMerge || !hasNoEffect(plan) ? [] : ['Base and head are the same commit: uncommitted changes are in no plan']),
    ...planSections(plan, TEXT_STYLE).map(writeSection),
    ...problems.map((problem) => formatProblem(problem)),
    ...(known === undefined ? [] : [known]),
  ].join('\n\n');
}

function writeSection({ title, note, items }: Section): string {
  const lines = items.flatMap(({ line, details }) => [`  - ${line}`, ...details.map((detail) => `      ${detail}`)]);
  return [title, ...(note === undefined ? [] : [`  ${note}`]), ...lines].join('\n');
}

/** Returns the plan as JSON. Its size depends on distinct changes. Paths are relative to the layout. */
export function jsonPlan(plan: Plan): string {
  const problems = plan.problems.map((one) => ({ ...publicProblem(one), instances: one.instances ?? [] }));
  return JSON.stringify({ ...plan, problems }, null, 2);
}
