// A process that leads when it can, once. In each turn it appends the moment and its fencing number to a file, and commits a row with that number.
import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Lease } from '../../src/store/postgres/lease.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { writeText } from './rows.ts';

const [url = '', file = '', seconds = '1'] = process.argv.slice(2);
const lease = new Lease(
  { url },
  {
    name: `${process.pid}`,
    leaseSeconds: Number(seconds),
    onTaken: () => undefined,
    onLost: () => undefined,
    onOver: () => undefined,
  },
);
const store = await openPostgresStore({ url, limits: { pauseMs: 20 } }, { lease });
lease.start();
for (let turn = 0; process.ppid !== 1; turn++) {
  // Not after the look: the process may be stopped at any moment.
  const at = process.hrtime.bigint();
  const { fencing } = lease;
  appendFileSync(file, `${at} ${fencing ?? 'none'}\n`);
  if (fencing !== undefined) {
    await store.commit([writeText(`${fencing}-${process.pid}-${turn}`, 'x')]).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
    });
  }
  await setTimeout(5);
}
process.exit();
