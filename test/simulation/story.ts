// Writes the log of a run, one line an event: time, actor, event. Only where somebody wants to read it.

export class Story {
  readonly lines: string[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  tell(who: string, what: string): void {
    this.lines.push(`${timeOf(this.#now())}  ${who.padEnd(10)}  ${what}`);
  }
}

/** `1:02:03.004` since the run began. */
function timeOf(ms: number): string {
  const seconds = (ms / 1000) % 60;
  const minutes = Math.floor(ms / 60_000) % 60;
  const hours = Math.floor(ms / 3_600_000);
  return `${hours}:${String(minutes).padStart(2, '0')}:${seconds.toFixed(3).padStart(6, '0')}`.padStart(13);
}
