// Many more exchanges of TLS files under load than test/api/tls/reload-under-load.test.ts has time for. `npm run test:long`.
import { expect, it } from 'vitest';
import { EXCHANGES, exchangeUnderLoad } from '../support/exchanged-tls-files.ts';

const SWAPS = 50;

it.each(EXCHANGES)(`${SWAPS} exchanges under load, %s, fail no request`, async (_, how) => {
  await exchangeUnderLoad(SWAPS, how);
  expect.hasAssertions();
});
