// The contract of a store where other work runs at every place at which it may pause.
// `npm run test:long`; test/store/lowdb-store.test.ts runs it on the store as a controller opens it, and tests each by itself.
import { afterAll, beforeAll } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { describeStore } from '../contract/store.ts';
import { pausing } from '../support/pausing.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { storePlace } from '../support/store-place.ts';

describeStore('lowdb, with all pauses', async () => storePlace({ breathe: pausing() }));

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

describeStore('PostgreSQL, with all pauses', async () => {
  const url = await server.create();
  return { open: () => openPostgresStore({ url }, { breathe: pausing() }), remove: async () => undefined };
});
