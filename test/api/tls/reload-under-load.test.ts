// Key, certificate, authorities and revocation list are exchanged again and again while clients ask all the time: no
// request fails, and not one is repeated.
import { Agent } from 'node:https';
import { expect, test, vi } from 'vitest';
import { askOn, EXCHANGES, emptyTally, exchangeUnderLoad, serveSite } from '../../support/exchanged-tls-files.ts';
import { createTlsSite, replace } from '../../support/tls-site.ts';

/** The authorities and the revocation list are one and two in turn. */
const SWAPS = 2;

test.each(EXCHANGES)(`${SWAPS} exchanges under load, %s, fail no request`, async (_, how) => {
  await exchangeUnderLoad(SWAPS, how);
  expect.hasAssertions();
});

test('a revoked client is refused while the others go on', async () => {
  const site = await createTlsSite(Date.now());
  const { port, register, lines } = await serveSite(site);
  const [bad, good] = await Promise.all([register('bad'), register('good')]);
  const tallies = { bad: emptyTally(), good: emptyTally() };
  let isOver = false;
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
  const options = { port, ca: site.authority.cert };
  const running = [
    askOn(tallies.bad, { ...options, ...bad, agent: agents[0] }, () => isOver || tallies.bad.failures.length > 5),
    askOn(tallies.good, { ...options, ...good, agent: agents[1] }, () => isOver),
  ];
  await vi.waitFor(() => expect(tallies.bad.answered).toBeGreaterThan(10), 20_000);
  replace(site.directory, { 'ca.crl': await site.crl({ revoked: [bad] }) });
  await vi.waitFor(() => expect(tallies.bad.failures.length).toBeGreaterThan(5), { timeout: 10_000 });
  const answered = tallies.good.answered;
  await vi.waitFor(() => expect(tallies.good.answered).toBeGreaterThan(answered + 10), 20_000);
  isOver = true;
  await Promise.all(running);
  for (const agent of agents) agent.destroy();
  // The connection that it has may end with the answer that is under way; all others are refused in the handshake.
  expect(tallies.bad.failures[0]).toMatch(/^(kept|new) connection: /);
  expect(tallies.bad.failures.slice(1)).toEqual(Array(5).fill(expect.stringMatching(/^new connection: /)));
  expect(tallies.good.failures).toEqual([]);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'connection refused', reason: 'CERT_REVOKED' }));
});
