// Several directories, each followed by a controller of its own: their problems in one report, and the servers that two would make.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_PAINT } from '../../../src/cli/format-problem.ts';
import { githubReport, jsonReport, textReport } from '../../../src/cli/validate/report.ts';
import { validateDirectories } from '../../../src/cli/validate/validate-directory.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SAMPLE = join(import.meta.dirname, '..', '..', '..', 'sample-repo');

/** Returns a repository with the sample in two directories; the second has no instance of the first but `orders-db`. */
function twoSites(): { readonly root: string; readonly north: string; readonly south: string } {
  const root = temporaryDirectory();
  const [north, south] = [join(root, 'sites/north'), join(root, 'sites/south')];
  for (const site of [north, south]) cpSync(SAMPLE, site, { recursive: true });
  rmSync(join(south, 'stacks/instances/shop'), { recursive: true });
  execFileSync('git', ['init', '--quiet', root]);
  return { root, north, south };
}

describe('several directories', () => {
  it('have the servers that two make told at both instances, from the root of their repository', async () => {
    const { north, south } = twoSites();
    const report = await validateDirectories([north, south]);
    const other = (site: string): string => `sites/${site}/stacks/instances/orders-db.yaml`;
    const errors = report.problems.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ file, code, message, instances }) => ({ file, code, message, instances }))).toEqual(
      ['north', 'south'].map((site, index, sites) => ({
        file: other(site),
        code: 'made_by_two',
        message: `"orders-db" of "orders-db" would be made by two controllers: "orders-db" in ${other(sites[1 - index] ?? '')} makes the same`,
        instances: ['orders-db'],
      })),
    );
    expect(githubReport(report)).toContain('::error file=sites/north/stacks/instances/orders-db.yaml,line=1,col=1,');
    expect(textReport(report, NO_PAINT)).toMatch(/^ {4}1 \| \S/m);
  });

  it('are right together where no server is in two', async () => {
    const { north, south } = twoSites();
    rmSync(join(south, 'stacks/instances/orders-db.yaml'));
    const report = await validateDirectories([north, south]);
    const [first, second] = [await validateDirectories([north]), await validateDirectories([south])];
    expect(report.problems.map(({ code }) => code)).toEqual(
      [...first.problems, ...second.problems].map(({ code }) => code),
    );
    expect(report.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(report.files).toBe(first.files + second.files);
  });

  it('have each problem told in its own directory, with its line, and that of a folder without one', async () => {
    const { north, south } = twoSites();
    rmSync(join(north, 'stacks/instances/orders-db.yaml'));
    writeFileSync(join(south, 'stacks/instances/orders-db.yaml'), 'stackTemplate: nothing\n');
    rmSync(join(south, 'clients'), { recursive: true });
    const lines = textReport(await validateDirectories([north, south]), NO_PAINT).split('\n');
    expect(lines).toContain(
      'sites/south/stacks/instances/orders-db.yaml:1:16: error: there is no stack template "nothing" [unknown_template]',
    );
    expect(lines).toContain('    1 | stackTemplate: nothing');
    expect(lines.filter((line) => line.startsWith('sites/south/clients: warning: no client'))).toHaveLength(1);
  });

  it('are named from where the user stands, if they are in several repositories', async () => {
    const { north, south } = twoSites();
    for (const site of [north, south]) execFileSync('git', ['init', '--quiet', site]);
    const { problems } = JSON.parse(jsonReport(await validateDirectories([north, south]))) as {
      readonly problems: readonly { readonly file: string }[];
    };
    expect(problems.length).toBeGreaterThan(0);
    for (const { file } of problems) expect(file).toMatch(/^[^/].*\/sites\/(north|south)\/(stacks|types)\//);
  });

  it('say of a directory that is no layout which one it is', async () => {
    const { root, north } = twoSites();
    mkdirSync(join(root, 'empty'));
    const report = await validateDirectories([north, join(root, 'empty')]);
    expect(report.problems).toMatchObject([{ code: 'tree_missing', file: 'empty/tree.yaml' }]);
  });

  it('may be nested, but not given twice, whatever a link calls one', async () => {
    const { root, north } = twoSites();
    symlinkSync(north, join(root, 'link'));
    await expect(validateDirectories([north, north])).rejects.toThrow(/given twice: name each directory once/);
    await expect(validateDirectories([north, join(root, 'link')])).rejects.toThrow(/given twice/);
  });
});
