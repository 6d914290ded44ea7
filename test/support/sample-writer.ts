// A writer for tests of the API: it writes nothing, and remembers what it was asked.
import type { WriteOrder, WriteResult } from '../../src/service/write/draft.ts';
import type { Writer } from '../../src/service/write/writer.ts';

export interface SampleWriter extends Writer {
  /** Every write asked for: its name, then its arguments without the order. */
  readonly asked: unknown[][];
  /** The orders that came with them. */
  readonly orders: WriteOrder[];
  /** What the next writes come to; an error is thrown. */
  outcome: WriteResult | Error;
}

export function createSampleWriter(): SampleWriter {
  const asked: unknown[][] = [];
  const orders: WriteOrder[] = [];
  const note =
    (name: string) =>
    async (order: WriteOrder, ...given: unknown[]): Promise<WriteResult> => {
      asked.push([name, ...given]);
      orders.push(order);
      if (writer.outcome instanceof Error) throw writer.outcome;
      return writer.outcome;
    };
  const writer: SampleWriter = {
    asked,
    orders,
    outcome: { commit: 'c'.repeat(40), branch: null },
    putInstance: note('putInstance'),
    createInstance: note('createInstance'),
    deleteInstance: note('deleteInstance'),
    putObject: note('putObject'),
    deleteObject: note('deleteObject'),
    putClient: note('putClient'),
    deleteClient: note('deleteClient'),
    putTree: note('putTree'),
  };
  return writer;
}
