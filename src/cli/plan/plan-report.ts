// Lists the formats of a plan.
import type { Plan } from '../../plan/plan.ts';
import { jsonPlan } from './json-plan.ts';
import { textPlan } from './text-plan.ts';

/** Prints a plan in one format. */
export type PlanReport = (plan: Plan) => string;

/** The formats of `treeline plan --format`, the default first. */
export const PLAN_REPORTS = { text: textPlan, json: jsonPlan } as const satisfies Record<string, PlanReport>;
