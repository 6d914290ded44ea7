// Limits how far the heap grows before Node collects garbage: less far once much of it is in use. By itself, Node lets a heap
// grow to about four times what is in use where the machine has the memory. docs/decisions/0068-memory.md.
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { isMap } from '../model/json.ts';

/** All garbage is collected whenever the heap has grown by so much of what was in use. */
const GROWTH_PERCENT = { small: 100, large: 30 };
/** A heap with less in use is small: collecting more often would cost more than the memory is worth. */
const SMALL_BYTES_MAX = 128 * 1024 * 1024;

/** The parts that tests replace. */
interface HeapGrowthOptions {
  readonly smallBytesMax?: number;
  /** Sets a flag of V8. */
  readonly setFlag?: (flag: string) => void;
}

/** Limits the growth of the heap from now on, and more strictly from the first full collection that leaves much in use. */
export function limitHeapGrowth(options: HeapGrowthOptions = {}): void {
  const { smallBytesMax = SMALL_BYTES_MAX, setFlag = setFlagsFromString } = options;
  setFlag(`--heap-growing-percent=${GROWTH_PERCENT.small}`);
  const observer = new PerformanceObserver((list) => {
    const isFull = list.getEntries().some((entry) => kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (!isFull || process.memoryUsage().heapUsed <= smallBytesMax) return;
    observer.disconnect();
    setFlag(`--heap-growing-percent=${GROWTH_PERCENT.large}`);
  });
  observer.observe({ entryTypes: ['gc'] });
}

/** Returns which garbage was collected. */
function kindOf(entry: object): unknown {
  const { detail } = 'detail' in entry ? entry : { detail: undefined };
  return isMap(detail) ? detail.kind : undefined;
}
