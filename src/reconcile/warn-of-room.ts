// Says in the log that the room for servers becomes short, before an instance is refused for want of it.
import type { Estate, Standing } from '../estate/estate.ts';
import { EMPTY_STANDING } from '../estate/estate.ts';
import { ROOM_BYTES_MAX, roomTaken } from '../estate/room.ts';
import type { Logger } from '../log.ts';

/** Percent at which it is said, once each time the room taken grows beyond it. */
const WARNINGS = [90, 75];
const MIB = 2 ** 20;

export interface RoomTaken {
  /** What was in force before, and what all rows took then. */
  readonly before: Standing | undefined;
  readonly bytesBefore: number;
  readonly limit?: number;
}

/** Logs a warning where a commit brought the estate beyond a threshold. At a start that is said again. */
export function warnOfRoom(
  estate: Estate,
  { before, bytesBefore, limit = ROOM_BYTES_MAX }: RoomTaken,
  log: Logger,
): void {
  const recorded = { standing: before ?? EMPTY_STANDING, bytes: before === undefined ? 0 : bytesBefore };
  const taken = roomTaken(estate.units.values(), recorded);
  const takenBefore = before === undefined ? 0 : roomTaken(before.units.values(), recorded);
  const passed = WARNINGS.find((percent) => percentOf(taken) >= percent && percentOf(takenBefore) < percent);
  if (passed === undefined) return;
  const fields = { percent: Math.floor(percentOf(taken)), mebibytes: Math.ceil(taken / MIB), limit: limit / MIB };
  log.warn(fields, 'the room for servers becomes short; beyond the limit instances are refused');

  function percentOf(bytes: number): number {
    return (bytes * 100) / limit;
  }
}
