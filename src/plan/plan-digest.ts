// Computes the digest of a plan: equal for equal effects, whichever commits they come from.
import { createHash } from 'node:crypto';
import type { Plan } from './plan.ts';

/** The effects that count: no commit, no line, no sentence. */
type DigestedPlan = Pick<Plan, 'access' | 'safety' | 'changes' | 'retained' | 'nodes' | 'configuration'>;

/** Returns SHA-256 over the sorted changes, in hexadecimal. */
export function planDigest({ access, safety, changes, retained, nodes, configuration }: DigestedPlan): string {
  const effects = [
    access,
    safety,
    changes.map(({ action, resource, instance, group, properties }) => [action, resource, instance, group, properties]),
    retained.map(({ resource }) => resource),
    nodes.map(({ action, node }) => [action, node]),
    configuration.map(({ key, from, to, isSecret, nodes: count, examples }) => [
      key,
      from,
      to,
      isSecret,
      count,
      examples,
    ]),
  ];
  return createHash('sha256').update(JSON.stringify(effects)).digest('hex');
}

/** Returns true where a plan has no effect at all; problems and holds are none. */
export function hasNoEffect(plan: DigestedPlan): boolean {
  const { access, safety, changes, retained, nodes, configuration } = plan;
  return [access, safety, changes, retained, nodes, configuration].every((list) => list.length === 0);
}
