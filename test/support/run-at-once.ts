// Runs work in one go.
import { finish } from '../../src/model/steps.ts';
import type { RunInSlices } from '../../src/slices.ts';

/** Runs work that nothing interrupts. */
export const runAtOnce: RunInSlices = async (steps) => finish(steps);
