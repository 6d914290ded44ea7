import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IndexedHeap } from '../../src/reconcile/indexed-heap.ts';

it('says the largest number of all names but one, whatever came and went', () => {
  const name = fc.nat(12).map(String);
  const step = fc.record({ name, value: fc.option(fc.nat(20), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), name, (steps, besides) => {
      const heap = new IndexedHeap();
      const model = new Map<string, number>();
      for (const { name: changed, value } of steps) {
        heap.set(changed, value);
        if (value === undefined) model.delete(changed);
        else model.set(changed, value);
        const others = [...model].filter(([other]) => other !== besides).map(([, number]) => number);
        expect(heap.besides(besides)).toBe(others.length === 0 ? undefined : Math.max(...others));
      }
    }),
  );
});

it('has the one first that was set first of those that are equal, whatever came and went', () => {
  const name = fc.nat(12).map(String);
  const step = fc.record({ name, value: fc.option(fc.nat(3), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new IndexedHeap();
      const model = new Map<string, number>();
      for (const { name: changed, value } of steps) {
        heap.set(changed, value);
        model.delete(changed);
        if (value !== undefined) model.set(changed, value);
        const largest = Math.max(...model.values());
        expect(heap.first()?.name).toBe([...model].find(([, number]) => number === largest)?.[0]);
      }
    }),
  );
});
