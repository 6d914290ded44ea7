// Runs work in one go.

import type { RunInSlices } from '../../src/base/slices.ts';
import { finish } from '../../src/base/steps.ts';

/** Runs work that nothing interrupts. */
export const runAtOnce: RunInSlices = async (steps) => finish(steps);
