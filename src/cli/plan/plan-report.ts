// Lists the formats of a plan.
import type { Plan } from '../../plan/plan.ts';
import { jsonPlan } from './json-plan.ts';
import { type MarkdownOptions, markdownReport } from './markdown-report.ts';
import { textPlan } from './text-plan.ts';

/** Returns a plan in one format. The formats other than Markdown need no options. */
export type PlanReport = (plan: Plan, options: MarkdownOptions) => string;

/** The formats of `treeline plan --format`, the default first. */
export const PLAN_REPORTS = {
  text: textPlan,
  json: jsonPlan,
  markdown: markdownReport,
} as const satisfies Record<string, PlanReport>;
