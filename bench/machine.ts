// Helps every benchmark: describes the machine, reads numbers from the command line, and reports progress.
import { availableParallelism, totalmem } from 'node:os';

/** Returns the machine in a few words. */
export function machineOf(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${availableParallelism()} processors, ${memory} GiB, ${process.platform}, Node ${process.versions.node}`;
}

/** Returns the number of an option. Throws where it is none from 1 to `max`. */
export function wholeNumber(text: string, { option, max }: { readonly option: string; readonly max: number }): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw new Error(`${option}: "${text}" is no whole number from 1 to ${max}`);
  return number;
}

/** Prints how far it is on standard error, with the time. */
export function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}
