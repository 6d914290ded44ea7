// The memory of the processes that another one starts, by looking at /proc again and again.
import { readdirSync, readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 10;

/** Looks at the processes below one process until it is stopped. A peak of a process's last 10 ms can be missed. */
export class ChildPeaks {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #peakBytes = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.#look(pid), LOOK_EVERY_MS);
  }

  /** The most memory (`VmHWM`) that a single one of them ever had, bytes. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(pid: number): void {
    for (const task of orNothing(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
      const children = orNothing(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1')) ?? '';
      for (const child of children.split(' ').filter((each) => each !== '')) this.#look(Number(child));
    }
    if (pid === this.#pid) return;
    const status = orNothing(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
    const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    this.#peakBytes = Math.max(this.#peakBytes, peak);
  }
}

/** Undefined where the process has ended meanwhile. */
function orNothing<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) {
      return undefined;
    }
    throw error;
  }
}
