// Defines work in steps: a pure stage yields between two steps, so that its caller can let other work run in between. The
// stage does not know whether anything did, and its result does not depend on it.

/** Work that ends with a result. It yields nothing: each yield is a place at which the caller may pause. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** How many items of a long list are one step. */
const ITEMS_A_STEP = 100;

/** Returns the result of work that nothing interrupts. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Returns work whose result is known already. */
export function* withResult<Result>(result: Result): Steps<Result> {
  yield;
  return result;
}

/** Calls `visit` with every item, in steps of many items. */
export function* visitAll<Item>(items: Iterable<Item>, visit: (item: Item) => void): Steps<void> {
  let count = 0;
  for (const item of items) {
    visit(item);
    count += 1;
    if (count % ITEMS_A_STEP === 0) yield;
  }
}
