// Makes a failing script small: leaves actions out, halves first, as long as the same promise is broken.
import type { Action } from './actions.ts';
import type { Script } from './script.ts';
import { type Run, simulate } from './simulate.ts';

const RUNS_MAX = 400;

/** Returns the smallest script found that breaks the same promise, with the story of its run. */
export async function shrunk(run: Run, script: Script): Promise<{ readonly script: Script; readonly run: Run }> {
  let actions = script.actions;
  let runs = 0;
  for (let size = Math.ceil(actions.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < actions.length && runs < RUNS_MAX; ) {
      const fewer = without(actions, at, size);
      const again = await simulate(run.seed, { script: { ...script, actions: fewer } });
      runs += 1;
      if (again.violation?.promise === run.violation?.promise) actions = fewer;
      else at += size;
    }
  }
  const small = { ...script, actions };
  return { script: small, run: await simulate(run.seed, { script: small, isTold: true }) };
}

/** What follows keeps its time: the gaps of those left out go to the next one. */
function without(actions: readonly Action[], at: number, size: number): readonly Action[] {
  const gap = actions.slice(at, at + size).reduce((sum, { after }) => sum + after, 0);
  const [next, ...rest] = actions.slice(at + size);
  return [...actions.slice(0, at), ...(next === undefined ? [] : [{ ...next, after: next.after + gap }]), ...rest];
}
