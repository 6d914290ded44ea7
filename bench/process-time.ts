// Processor time as Linux counts it.
import { readFileSync } from 'node:fs';

/** Linux has counted processor time for programs in hundredths of a second on every common machine. */
export const MS_A_TICK = 10;

/**
 * Returns the processor time of a process, by default this one, and of all processes below it that have ended and were
 * waited for, ms.
 */
export function familyCpuMs(pid: number | 'self' = 'self'): number {
  return ticksOf(pid, 11, 15) * MS_A_TICK;
}

/** `from` and `to` select the fields, counted from 0 after the program's name. */
function ticksOf(pid: number | 'self', from: number, to: number): number {
  // The second field is the program's name in brackets, and may hold anything.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  return fields.slice(from, to).reduce((sum, ticks) => sum + Number(ticks), 0);
}
