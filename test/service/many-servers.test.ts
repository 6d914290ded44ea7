// Tests that each server is read as often, however many clients or servers there are.
import { expect, it } from 'vitest';
import type { ServerRow } from '../../src/model/rows.ts';
import { createOperator } from '../../src/service/operate/operator.ts';
import { ADMINISTRATOR, open } from './service.ts';

it('the list of clients reads the action of each server once for all proxies', async () => {
  const proxies = Array.from({ length: 20 }, (_, at) => `D1${at + 10}`);
  const service = await open(
    Object.fromEntries(proxies.map((serial) => [`clients/${serial}.yaml`, 'role: proxy\ntags: [lab]\n'])),
  );
  const row = service.ledger.server('web-1') as ServerRow;
  let reads = 0;
  const counted = (client: string): ServerRow => ({
    ...row,
    get action(): ServerRow['action'] {
      reads += 1;
      return { operation: 'create', started: '2026-11-20T10:00:00.000Z', claim: { client } } as ServerRow['action'];
    },
  });
  const servers = new Map(proxies.map((serial) => [`of-${serial}`, counted(serial)]));
  const rows = {
    index: service.ledger.index,
    server: (name: string) => servers.get(name),
    read: () => undefined,
    list: () => servers,
  };
  const desired = (): typeof service.desired => service.desired;
  const operator = createOperator({ desired, rows, now: () => 0, refused: () => undefined } as never);
  const working = operator.clients(ADMINISTRATOR).filter(({ work }) => work !== undefined && work.length > 0);
  expect(working.map(({ serial, work }) => [serial, work])).toEqual(
    proxies.map((serial) => [
      serial,
      [{ server: `of-${serial}`, operation: 'create', since: '2026-11-20T10:00:00.000Z' }],
    ]),
  );
  expect(reads).toBeLessThanOrEqual(2 * proxies.length);
});
