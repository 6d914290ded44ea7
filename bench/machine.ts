// Facts about the machine that a report has to name, and how busy others kept it meanwhile.
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

/** Linux has counted processor time for programs in hundredths of a second on every common machine. */
const MS_A_TICK = 10;
/** Beyond this share of the processors for others, seconds say little. */
const OTHERS_SHARE_MAX = 0.1;

export interface Machine {
  readonly date: string;
  readonly processor: string;
  readonly processors: number;
  readonly memoryGib: number;
  readonly kernel: string;
  readonly node: string;
  /** Of one minute. */
  readonly loadAtStart: number;
  readonly loadAtEnd: number;
  /** Of all processors' time in between, what processes of others took. */
  readonly othersShare: number;
  readonly isBusy: boolean;
}

/** Returns a function that returns the machine, to be called when everything was measured. */
export function watchMachine(): () => Machine {
  const [loadAtStart = Number.NaN] = loadavg();
  const before = ticks();
  const familyBefore = familyCpuMs();
  return () => {
    const [loadAtEnd = Number.NaN] = loadavg();
    const after = ticks();
    const others = (after.busy - before.busy) * MS_A_TICK - (familyCpuMs() - familyBefore);
    const othersShare = Math.max(0, others / Math.max((after.all - before.all) * MS_A_TICK, 1));
    return {
      date: new Date().toISOString().slice(0, 10),
      processor: cpus()[0]?.model.trim() ?? 'unknown',
      processors: availableParallelism(),
      memoryGib: Math.round(totalmem() / 2 ** 30),
      kernel: `${process.platform} ${release().split('-', 1)[0]}`,
      node: process.versions.node,
      ...{ loadAtStart, loadAtEnd, othersShare, isBusy: othersShare > OTHERS_SHARE_MAX },
    };
  };
}

/** Returns the machine in two sentences, or three where it was busy. */
export function machineText(machine: Machine): string {
  const { date, processor, processors, memoryGib, kernel, node, loadAtStart, loadAtEnd, othersShare } = machine;
  const others = `${Math.round(othersShare * 100)} %`;
  return [
    `${date}: ${processors} × ${processor}, ${memoryGib} GiB, ${kernel}, Node ${node}.`,
    `Load ${loadAtStart.toFixed(1)} at the start, ${loadAtEnd.toFixed(1)} at the end; other work took ${others} of the processors.`,
    ...(machine.isBusy ? ['**The machine was busy**: compare ratios, and do not trust seconds.'] : []),
  ].join(' ');
}

/** Processor time since the start of the machine, of all processors. */
function ticks(): { readonly busy: number; readonly all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n');
  // The first eight: user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already.
  const fields = line.trim().split(/\s+/).slice(1, 9).map(Number);
  const all = fields.reduce((sum, each) => sum + each, 0);
  return { busy: all - (fields[3] ?? 0) - (fields[4] ?? 0), all };
}

/** Returns the processor time of this process, and of all processes below it that have ended and were waited for, ms. */
function familyCpuMs(): number {
  // The second field is the program's name in brackets, and may hold anything.
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * MS_A_TICK;
}
