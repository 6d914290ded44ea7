// Lists the formats of a plan.
import type { Plan } from '../../plan/plan.ts';
import { jsonPlan } from './json-plan.ts';
import { textPlan } from './text-plan.ts';

/** What a report tells beside the plan. */
export interface PlanPlace {
  /** The path from the root of the repository to the layout: '' or one that ends in `/`. */
  readonly prefix: string;
}

/** Prints a plan in one format. */
export type PlanReport = (plan: Plan, place: PlanPlace) => string;

/** The formats of `treeline plan --format`, the default first. */
export const PLAN_REPORTS = { text: textPlan, json: jsonPlan } as const satisfies Record<string, PlanReport>;
