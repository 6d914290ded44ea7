// A database behind PgBouncer in transaction mode, where nothing is left of a session.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Lease } from '../../../src/store/postgres/lease.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-adapter.ts';
import { refusal } from '../../support/database-refusal.ts';
import { startPgbouncer, WITHOUT_PGBOUNCER } from '../../support/pgbouncer.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { writeText } from '../../support/rows.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

describe.skipIf(WITHOUT_PGBOUNCER !== undefined)(
  `behind PgBouncer${WITHOUT_PGBOUNCER ? `: ${WITHOUT_PGBOUNCER}` : ''}`,
  () => {
    it('migrations run behind a pooler', async () => {
      const pooled = await startPgbouncer(await server.create('empty'));
      expect(await migrate({ url: pooled })).toEqual(['0001_store']);
      expect(await migrate({ url: pooled })).toEqual([]);
    });

    it('a store behind a pooler commits, and others see it', async () => {
      const pooled = await startPgbouncer(await server.create());
      const stores = await Promise.all([1, 2, 3].map(() => openPostgresStore({ url: pooled })));
      for (const name of ['a', 'b']) await stores[0]?.commit([writeText(name, 'one')]);
      await Promise.all(stores.map((store) => store.refresh()));
      expect(stores.map(({ revision }) => revision)).toEqual([2, 2, 2]);
      await Promise.all(stores.map((store) => store.close()));
    });

    it('leaders follow each other behind a pooler', async () => {
      const pooled = await startPgbouncer(await server.create());
      const taken: string[] = [];
      const leases = ['one', 'two'].map((name) => {
        const options = {
          name,
          leaseSeconds: 2,
          onTaken: () => void taken.push(name),
          onLost: () => undefined,
          onOver: () => undefined,
        };
        const lease = new Lease({ url: pooled }, options);
        lease.start();
        return lease;
      });
      await expect.poll(() => taken, PATIENCE).toHaveLength(1);
      await leases.find((lease) => lease.fencing !== undefined)?.close();
      await expect.poll(() => [...taken].sort(), PATIENCE).toEqual(['one', 'two']);
      await Promise.all(leases.map((lease) => lease.close()));
    });

    it('a wrong password behind a pooler is reported without retries', async () => {
      const wrong = new URL(await startPgbouncer(await server.create()));
      wrong.password = 'se%25cret';
      const message = await refusal({ url: wrong.href });
      expect(message).toContain(
        `at 127.0.0.1:${wrong.port} needs a user with its password. Correct user and password in the URL`,
      );
      expect(message).not.toContain('continues automatically');
    });
  },
);
