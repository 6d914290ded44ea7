// Limits how far the heap grows before Node collects garbage, less far once much of it is in use, and how large its
// young generation becomes. By itself, Node lets a heap grow to about four times what is in use where the machine has
// the memory. ARCHITECTURE.md, "Memory".
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { isMap } from '../model/json.ts';

const MIB = 1024 * 1024;
/** All garbage is collected whenever the heap has grown by so much of what was in use. */
const GROWTH_PERCENT = { small: 100, large: 30 };
/** A heap with less in use is small: collecting more often would cost more than the memory is worth. */
const SMALL_BYTES_MAX = 128 * MIB;
/**
 * Both halves of the young generation. A larger one takes more memory and longer pauses, and saves no processor time.
 */
const YOUNG_BYTES_MAX = 16 * MIB;

/** The parts that tests replace. */
interface HeapGrowthOptions {
  readonly smallBytesMax?: number;
  readonly youngBytesMax?: number;
  /** Sets a flag of V8. */
  readonly setFlag?: (flag: string) => void;
}

/**
 * Limits the growth of the heap from now on, and more strictly from the first full collection that leaves much in use.
 * The young generation stops growing once it has its size.
 */
export function limitHeapGrowth(options: HeapGrowthOptions = {}): void {
  const { smallBytesMax = SMALL_BYTES_MAX, youngBytesMax = YOUNG_BYTES_MAX, setFlag = setFlagsFromString } = options;
  setFlag(`--heap-growing-percent=${GROWTH_PERCENT.small}`);
  afterCollections((isFull) => {
    if (!isFull || process.memoryUsage().heapUsed <= smallBytesMax) return false;
    setFlag(`--heap-growing-percent=${GROWTH_PERCENT.large}`);
    return true;
  });
  // Its size itself can be limited only on the command line of Node.
  afterCollections(() => {
    if (youngBytes() < youngBytesMax) return false;
    setFlag('--semi-space-growth-factor=1');
    return true;
  });
}

/** Calls `act` after each collection, until it returns true. */
function afterCollections(act: (isFull: boolean) => boolean): void {
  const observer = new PerformanceObserver((list) => {
    const isFull = list.getEntries().some((entry) => kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (act(isFull)) observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}

/** Returns the size of the young generation, in bytes. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}

/** Returns which garbage was collected. */
function kindOf(entry: object): unknown {
  const { detail } = 'detail' in entry ? entry : { detail: undefined };
  return isMap(detail) ? detail.kind : undefined;
}
