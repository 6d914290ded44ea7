// Defines a case of the conformance test.
import type { Trial } from './trial.ts';

/** One case of the conformance test. */
export interface ConformanceCase {
  readonly title: string;
  /** Throws Deviation if the provider does not keep the contract, Skipped if that cannot be tried. */
  readonly run: (trial: Trial) => Promise<void>;
}
