// Streams of events for tests of the API, with a store of their own.
import { EventStreams } from '../../src/api/event-streams.ts';
import { withoutPause } from '../../src/base/breathe.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { MemoryStore } from './memory-store.ts';
import { COMMIT } from './sample-reader.ts';

export interface SampleStreams {
  readonly streams: EventStreams;
  /** Events that are recorded here are sent. */
  readonly ledger: Ledger;
  /** The followed commit. */
  commit: string | undefined;
}

export function createSampleStreams(clock: Clock = systemClock): SampleStreams {
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  const sample = { ledger, commit: COMMIT as string | undefined };
  const streams = new EventStreams({ ledger, commit: () => sample.commit, clock });
  return Object.assign(sample, { streams });
}
