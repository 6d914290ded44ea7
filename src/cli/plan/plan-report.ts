// Lists the formats of a plan.
import type { Plan } from '../../plan/plan.ts';
import { jsonPlan } from './json-plan.ts';
import { markdownReport } from './markdown-report.ts';
import { textPlan } from './text-plan.ts';

/** What a report tells beside the plan. */
export interface PlanPlace {
  /** The path from the root of the repository to the layout: '' or one that ends in `/`. */
  readonly prefix: string;
  /** Tells a comment from those of other plans for the same pull request. */
  readonly id: string;
  /** True if the plan compares with what a controller has recorded. */
  readonly isRecorded: boolean;
}

/** Prints a plan in one format. */
export type PlanReport = (plan: Plan, place: PlanPlace) => string;

/** The formats of `treeline plan --format`, the default first. */
export const PLAN_REPORTS = {
  text: textPlan,
  json: jsonPlan,
  markdown: markdownReport,
} as const satisfies Record<string, PlanReport>;
