// A controller and proxies under kill -9. KILLS chooses how many kills, and FAULTS_SEED repeats the choices of a run. `npm run test:long`.
import { expect, it } from 'vitest';
import { killProcesses } from '../support/killed-processes.ts';

const KILLS = Number(process.env.KILLS ?? 300);
const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));

it(`${KILLS} kills of controller and proxies lose, leak and repeat no server`, {
  timeout: 5_400_000,
}, async () => {
  await killProcesses(KILLS, SEED);
  expect.hasAssertions();
});
