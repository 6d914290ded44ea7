// The command `npm run simulate -- --plans`: merges, each compared with its plan; or one with its story.
import { planAndApply } from './plan-run.ts';

interface Options {
  readonly from: number;
  readonly seeds: number;
  readonly seed?: number | undefined;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Returns true if every merge did what its plan says. */
export async function runPlans({ from, seeds, seed }: Options): Promise<boolean> {
  if (seed !== undefined) return tellOne(seed);
  const kinds = new Map<string, number>();
  const began = performance.now();
  let wrong = 0;
  for (let next = from; next < from + seeds; next += 1) {
    const { kind, differences } = await planAndApply(next);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (differences.length === 0) continue;
    wrong += 1;
    print(`seed ${next}:\n  ${differences.join('\n  ')}`);
  }
  const counts = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
  print(`${seeds} seeds in ${((performance.now() - began) / 1000).toFixed(1)} s: ${counts}; ${wrong} not as planned`);
  return wrong === 0;
}

async function tellOne(seed: number): Promise<boolean> {
  const { kind, plan, differences, story } = await planAndApply(seed, { isTold: true });
  print(story.join('\n'));
  if (plan !== undefined) print(JSON.stringify(plan, null, 2));
  print([`seed ${seed}: ${kind}`, ...differences].join('\n  '));
  return differences.length === 0;
}
