// Lists the formats of a plan, and formats it as JSON. docs/pull-requests.md lists the fields.

import type { Plan } from '../../plan/plan.ts';
import { publicProblem } from '../validate/report.ts';
import { type MarkdownOptions, markdownReport } from './markdown-report.ts';
import { textPlan } from './text-plan.ts';

/** Returns a plan in one format. */
export type PlanReport = (plan: Plan, options: MarkdownOptions) => string;

/** The formats of `treeline plan --format`, the default first. */
export const PLAN_REPORTS = {
  text: textPlan,
  json: jsonPlan,
  markdown: markdownReport,
} as const satisfies Record<string, PlanReport>;

/** Returns the plan as JSON. Its size depends on distinct changes; files are named from the layout. */
export function jsonPlan(plan: Plan): string {
  const problems = plan.problems.map((one) => ({ ...publicProblem(one), instances: one.instances ?? [] }));
  return JSON.stringify({ ...plan, problems }, null, 2);
}
