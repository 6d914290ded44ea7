// Ends the process at a run that never ends: one whose promises settle one another for ever lets nothing else of its thread
// happen, so another thread looks at it.
import { writeSync } from 'node:fs';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

/** The most processor time of a run, in seconds. The longest that is known takes two. */
const SECONDS_MAX = 60;
const LOOK_MS = 1_000;
const STDOUT = 1;

/** Returns a function to call at the start of each run, with its seed. The process is killed at one that does not end, and tells so. */
export function watchEndlessRuns(secondsMax: number = SECONDS_MAX): (seed: number) => void {
  // The seed that is played, and the number of runs: shortening a script plays the same seed again and again.
  const shared = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT);
  const played = new Float64Array(shared);
  const worker = new Worker(new URL(import.meta.url), { workerData: { shared, secondsMax } });
  worker.unref();
  return (seed) => {
    played[0] = seed;
    played[1] = (played[1] ?? 0) + 1;
  };
}

/** Looks at the run that is played, and how much processor time the process has used since it is that one. */
function watch(played: Float64Array, secondsMax: number): void {
  let [known, began] = [0, 0];
  setInterval(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    const [seed = 0, run = 0] = played;
    if (run !== known) [known, began] = [run, seconds];
    else if (run > 0 && seconds - began > secondsMax) {
      writeSync(STDOUT, `seed ${seed} does not end: it took ${secondsMax} s of processor time\n`);
      process.kill(process.pid, 'SIGKILL');
    }
  }, LOOK_MS);
}

if (!isMainThread && workerData?.shared instanceof SharedArrayBuffer)
  watch(new Float64Array(workerData.shared), workerData.secondsMax);
