// The controller as a process of its own: how it starts, stops and goes on. Kills, the lock of the store and the demo have
// tests of their own.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { effectsIn, PATIENCE, runController } from '../support/running-controller.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite, type Site } from '../support/site.ts';
import { SERVERS, STACKS } from './stacks.ts';

/** Rewrites the operator's settings. */
function change({ config }: Site, from: string | RegExp, to: string): void {
  const before = readFileSync(config, 'utf8');
  const after = before.replace(from, to);
  expect(after).not.toBe(before);
  writeFileSync(config, after);
}

describe('treeline serve', () => {
  it('stops cleanly in the middle of its work, and the next start finishes it', async () => {
    const site = await createSite(STACKS);
    change(site, 'createMs: 15', 'createMs: 2000');
    const serving = new ServingProcess(site.config);
    const isCreating = () => serving.lines.some(({ to }) => to === 'creating');
    await expect.poll(isCreating, PATIENCE).toBe(true);
    expect(await serving.end('SIGTERM')).toBe(0);
    expect(serving.stderr).toBe('');
    expect(serving.lines.at(-1)).toMatchObject({ msg: 'stopped' });
    const before = effectsIn(site).length;
    expect(before, 'all was done before it was asked to stop').toBeLessThan(SERVERS.length);

    const running = await runController(site);
    await running.untilDone(await site.repository.head(), 'office', 'shop');
    expect(
      effectsIn(site)
        .map(({ server, operation }) => `${operation} ${server}`)
        .sort(),
    ).toEqual(SERVERS.map((server) => `create ${server}`));
  });
});
