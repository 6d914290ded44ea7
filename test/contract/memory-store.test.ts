import { type MemoryRows, MemoryStore } from '../support/memory-store.ts';
import { describeStore } from './store.ts';

describeStore('memory', async () => {
  const rows: MemoryRows = new Map();
  return { open: async () => new MemoryStore(rows), remove: async () => rows.clear() };
});
