// Formats a plan for people in a terminal, and as JSON. docs/pull-requests.md lists the fields.

import { quote, shortOid } from '../../base/wording.ts';
import { hasNoEffect, isKnownAfter, type Plan } from '../../plan/plan.ts';
import { formatProblem } from '../format-problem.ts';
import { visibleLine } from '../output.ts';
import { publicProblem } from '../validate/report.ts';
import { knownProblemsText, type PlanStyle, planHeadline, planSections, type Section } from './plan-sections.ts';

const STYLE: PlanStyle = {
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
    ...planSections(plan, STYLE).map(writeSection),
    ...problems.map((problem) => formatProblem(problem)),
    ...(known === undefined ? [] : [known]),
  ].join('\n\n');
}

function writeSection({ title, note, items }: Section): string {
  const lines = items.flatMap(({ line, details }) => [`  - ${line}`, ...details.map((detail) => `      ${detail}`)]);
  return [title, ...(note === undefined ? [] : [`  ${note}`]), ...lines].join('\n');
}

/** Returns the plan as JSON. Its size depends on distinct changes; files are named from the layout. */
export function jsonPlan(plan: Plan): string {
  const problems = plan.problems.map((one) => ({ ...publicProblem(one), instances: one.instances ?? [] }));
  return JSON.stringify({ ...plan, problems }, null, 2);
}
