// The contract of a store on the embedded one where it does everything in many steps, and where it changes nothing in place.
// `npm run test:long`; test/store/lowdb-store.test.ts runs it on the store as a controller opens it, and tests each by itself.
import { afterAll, beforeAll } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { describeStore } from '../contract/store.ts';
import { pausingSlices } from '../support/pausing-slices.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { storePlace } from '../support/store-place.ts';

describeStore('lowdb, with a pause after every step of work', async () => storePlace({ inSlices: pausingSlices() }));
describeStore('lowdb, with tables that every commit replaces', async () => storePlace({ changedInPlace: 0 }));

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

describeStore('PostgreSQL, with a pause after every step of work', async () => {
  const url = await server.create();
  const inSlices = pausingSlices();
  return { open: () => openPostgresStore({ url }, { inSlices }), remove: async () => undefined };
});

describeStore('PostgreSQL, with tables that every commit replaces', async () => {
  const url = await server.create();
  return { open: () => openPostgresStore({ url }, { changedInPlace: 0 }), remove: async () => undefined };
});
