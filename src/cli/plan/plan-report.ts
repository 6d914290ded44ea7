// Lists the formats of a plan.
import type { Plan } from '../../plan/plan.ts';
import { jsonPlan } from './json-plan.ts';
import { type MarkdownOptions, markdownReport } from './markdown-report.ts';
import { type TextOptions, textPlan } from './text-plan.ts';

/** The facts that the reports tell beside the plan. */
type ReportOptions = MarkdownOptions & TextOptions;

/** Returns a plan in one format. */
export type PlanReport = (plan: Plan, options: ReportOptions) => string;

/** The formats of `treeline plan --format`, the default first. */
export const PLAN_REPORTS = {
  text: textPlan,
  json: jsonPlan,
  markdown: markdownReport,
} as const satisfies Record<string, PlanReport>;
