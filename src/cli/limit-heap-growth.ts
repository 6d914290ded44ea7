// Limits how far the heap grows before Node collects garbage, once much of it is in use. By itself Node lets a heap grow to about
// four times of what is in use where the machine has room: docs/decisions/0068-memory.md.
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { isMap } from '../model/json.ts';

/** A heap with less in use grows as Node likes: collecting would cost more than the memory is worth. */
const IN_USE_BYTES = 128 * 1024 * 1024;
/** From then on, all garbage is collected whenever the heap has grown by so much of what was in use. */
const GROWTH_PERCENT = 40;

/** What tests replace. */
export interface HeapGrowthOptions {
  readonly inUseBytes?: number;
  /** Sets a flag of V8. */
  readonly setFlag?: (flag: string) => void;
}

/** Looks at the heap after each full collection, and limits its growth from the first one that leaves much in use. */
export function limitHeapGrowth({
  inUseBytes = IN_USE_BYTES,
  setFlag = setFlagsFromString,
}: HeapGrowthOptions = {}): void {
  const observer = new PerformanceObserver((list) => {
    const isFull = list.getEntries().some((entry) => kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (!isFull || process.memoryUsage().heapUsed < inUseBytes) return;
    observer.disconnect();
    setFlag(`--heap-growing-percent=${GROWTH_PERCENT}`);
  });
  observer.observe({ entryTypes: ['gc'] });
}

/** Returns which garbage was collected. */
function kindOf(entry: object): unknown {
  const { detail } = 'detail' in entry ? entry : { detail: undefined };
  return isMap(detail) ? detail.kind : undefined;
}
