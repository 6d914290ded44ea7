// Counts how often functions of packages are called, as V8 counts them. Nothing is replaced for it.
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

/** A function by its name and the place in `node_modules` that it comes from: `js-yaml parseEvents`. */
export type Counted = `${string} ${string}`;

/** Runs `work`, and returns how often each of the functions was called meanwhile in this thread. */
export async function countCalls<Name extends Counted>(
  names: readonly Name[],
  work: () => Promise<unknown>,
): Promise<Record<Name, number>> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const counts = names.map((name) => [name, countOf(result, name)] as const);
    return Object.fromEntries(counts) as Record<Name, number>;
  } finally {
    session.disconnect();
  }
}

function countOf(scripts: readonly Profiler.ScriptCoverage[], name: Counted): number {
  const [place, functionName] = name.split(' ');
  const counts = scripts
    .filter(({ url }) => url.includes(`/node_modules/${place}`))
    .flatMap(({ functions }) => functions)
    .filter((one) => one.functionName === functionName)
    .map(({ ranges: [range] }) => range?.count ?? 0);
  return counts.reduce((sum, count) => sum + count, 0);
}
