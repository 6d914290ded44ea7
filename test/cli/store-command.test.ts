// `treeline store` as an operator uses it, beside a real controller.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesOf, serversOf } from '../support/churned-repository.ts';
import { treeline } from '../support/command-here.ts';
import { itInFull } from '../support/count-runs.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite } from '../support/site.ts';
import { releasesIn, runStore, serveUntilDone, WANTED } from '../support/store-operator.ts';

itInFull(
  'backup and restore keep all servers next to a working controller',
  async () => {
    const site = await createSite(filesOf(WANTED));
    const controller = await serveUntilDone(site);
    const commit = await site.repository.head();

    const backup = await runStore(site, 'backup', 'mine');
    expect(backup).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(
          `^backed up \\d+ rows, followed commit ${commit}\nto ${join(site.folder, 'mine')} \\([\\d,]+ bytes\\)\n$`,
        ),
      ),
      stderr: '',
    });
    expect(statSync(join(site.folder, 'mine')).mode & 0o777).toBe(0o600);

    const beside = await runStore(site, 'restore', 'mine', '--force');
    expect(beside).toMatchObject({ code: 3, stdout: '' });
    expect(beside.stderr).toContain('Stop that controller first. Nothing was restored.');

    expect(await controller.end('SIGTERM')).toBe(0);
    const refused = await runStore(site, 'restore', 'mine');
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    expect(refused.stderr).toMatch(/^treeline: The store in \S+ has \d+ commits already\. .*--force/);

    // The machine is lost; the servers are not.
    for (const name of ['store.sqlite', 'repository']) rmSync(join(site.state, name), { recursive: true });
    await site.repository.commit(filesOf({ ...WANTED, release: 2 }));
    const restored = await runStore(site, 'restore', 'mine');
    expect(restored).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^restored \\d+ rows, followed commit ${commit}\nto ${site.state}\n$`)),
      stderr: '',
    });
    const again = await serveUntilDone(site);
    expect(again.lines.filter(({ to }) => to === 'creating')).toEqual([]);
    expect(again.lines.filter(({ to }) => to === 'updating')).toHaveLength(Object.keys(serversOf(WANTED)).length);
    expect(await again.end('SIGTERM')).toBe(0);
    expect(releasesIn(site)).toEqual(serversOf({ ...WANTED, release: 2 }));
  },
  120_000,
);

describe('treeline store', () => {
  it('names the backup after controller and time in a folder, and prints the path', async () => {
    const site = await createSite(filesOf(WANTED));
    const controller = new ServingProcess(site.config);
    const { commit } = await controller.logged('commit followed');
    const { code, stdout } = await runStore(site, 'backup', '--format', 'json');
    expect(code).toBe(0);
    const answer: unknown = JSON.parse(stdout);
    expect(answer).toEqual({
      file: expect.stringMatching(/\/treeline-main-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.backup$/),
      bytes: expect.any(Number),
      rows: expect.any(Number),
      commit,
    });

    // A target with "/" at its end is a folder, which is made, as often as it is asked for.
    for (let count = 0; count < 2; count++)
      expect(await runStore(site, 'backup', 'all/kept/')).toMatchObject({ code: 0 });
    const kept = readdirSync(join(site.folder, 'all/kept'));
    expect(kept).toHaveLength(2);
    expect(kept.filter((name) => !/^treeline-main-.*\.backup$/.test(name))).toEqual([]);
    expect(statSync(join(site.folder, 'all/kept')).mode & 0o777).toBe(0o700);
    expect(await runStore(site, 'backup', 'treeline.yaml/')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^treeline: .*treeline\.yaml cannot be used: /),
    });
    await controller.end('SIGKILL');
    // SQLite would read the log of a killed controller into the new file.
    writeFileSync(join(site.folder, 'old-wal'), '');
    expect(await runStore(site, 'backup', 'old')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/old-wal is there/),
    });

    // The replica may have used a database since: what it has seen there holds no more.
    writeFileSync(join(site.state, 'database-seen.json'), '{}');
    expect(await runStore(site, 'restore', join('all/kept', kept[0] ?? ''), '--force')).toMatchObject({ code: 0 });
    expect(readdirSync(site.state)).not.toContain('database-seen.json');
  });

  it.each([
    [['backup'], 'There is no store in'],
    [['backup', 'treeline.yaml'], 'treeline.yaml is there already; name another file'],
    [['restore', 'no-such-file'], 'There is no backup'],
    [['restore', 'treeline.yaml'], 'or is not a backup'],
    [['restore'], "missing required argument 'backup'"],
    [['backup', 'a', 'b'], 'too many arguments'],
    [['export'], 'There is no store in'],
    [['import', 'treeline.yaml'], 'or is not a backup'],
    [['bogus'], "unknown command 'bogus'"],
  ])('ends with 3 and names the reason: %j', async (args, words) => {
    const site = await createSite(filesOf(WANTED));
    const before = readFileSync(site.config, 'utf8');
    const ended = await runStore(site, ...args);
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toContain(words);
    expect(readFileSync(site.config, 'utf8')).toBe(before);
    expect(ended.stderr).not.toMatch(/^ +at /m);
    expect(readdirSync(site.state)).toEqual([]);
  });

  it('reports mistakes in the settings', async () => {
    const site = await createSite(filesOf(WANTED));
    writeFileSync(site.config, 'api: {}\n');
    const { code, stderr } = await runStore(site, 'backup');
    expect(code).toBe(3);
    expect(stderr).toContain('The settings cannot be used');
    expect(await treeline(['store', 'backup'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("'--config <file>' not specified"),
    });
  });
});
