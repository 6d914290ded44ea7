// Warns in the log that the capacity of the store becomes short, before an instance is refused for it.

import type { Logger } from '../base/log.ts';
import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import { EMPTY_BASELINE } from '../desired/desired-state.ts';
import { capacityUsed, ROWS_BYTES_MAX } from '../desired/store-capacity.ts';

/** The warning is logged each time the capacity used grows beyond this percentage. */
const WARNINGS = [90, 75];
const MIB = 2 ** 20;

interface CapacityUsed {
  /** The desired state that was active before, and what all rows took then. */
  readonly before: Baseline | undefined;
  readonly bytesBefore: number;
  readonly limit?: number;
}

/** Logs a warning where a commit brought the desired state beyond a threshold. At a start that is said again. */
export function warnOfCapacity(
  desired: DesiredState,
  { before, bytesBefore, limit = ROWS_BYTES_MAX }: CapacityUsed,
  log: Logger,
): void {
  const recorded = { baseline: before ?? EMPTY_BASELINE, bytes: before === undefined ? 0 : bytesBefore };
  const used = capacityUsed(desired.units.values(), recorded);
  const usedBefore = before === undefined ? 0 : capacityUsed(before.units.values(), recorded);
  const passed = WARNINGS.find((percent) => percentOf(used) >= percent && percentOf(usedBefore) < percent);
  if (passed === undefined) return;
  const fields = { percent: Math.floor(percentOf(used)), mebibytes: Math.ceil(used / MIB), limit: limit / MIB };
  log.warn(fields, 'the room for servers becomes short; beyond the limit instances are refused');

  function percentOf(bytes: number): number {
    return (bytes * 100) / limit;
  }
}
