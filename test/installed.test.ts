// The Dockerfile and the files of the Debian package as they read. test/long/installed.long.ts builds both, and runs them.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { loadSettings } from '../src/settings/load-settings.ts';
import { ROOT } from './support/command-line.ts';

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The instructions of a Dockerfile, each on one line, with single spaces. */
function instructionsOf(dockerfile: string): string[] {
  const lines = dockerfile.split('\n').filter((line) => !line.startsWith('#'));
  const joined = lines.join('\n').replaceAll('\\\n', ' ').split('\n');
  return joined.map((line) => line.replaceAll(/ +/g, ' ').trim()).filter((line) => line !== '');
}

describe('the Dockerfile', () => {
  const instructions = instructionsOf(textOf('Dockerfile'));

  it('starts from a Node that package.json allows, the same in every stage', () => {
    const bases = instructions.filter((each) => each.startsWith('FROM ')).map((each) => each.split(' ')[1]);
    expect(new Set(bases).size).toBe(1);
    const major = Number(/^node:(\d+)-\w+-slim$/.exec(bases[0] ?? '')?.[1]);
    expect(major).toBeGreaterThanOrEqual(Number(/\d+/.exec(packageJson.engines.node)?.[0]));
  });

  it('has the version of the package', () => {
    expect(instructions.find((each) => each.startsWith('LABEL '))).toContain(
      `org.opencontainers.image.version="${packageJson.version}"`,
    );
  });

  it('runs as a numeric user other than root', () => {
    expect(instructions.findLast((each) => each.startsWith('USER '))).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
  });
});

describe('.dockerignore', () => {
  const lines = textOf('.dockerignore').split('\n');
  const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));

  it('allows single paths only', () => {
    expect(lines.filter((line) => !/^(#.*|\*|![\w.-]+|)$/.test(line))).toEqual([]);
    expect(lines.indexOf('*')).toBeLessThan(lines.findIndex((line) => line.startsWith('!')));
  });

  it('allows everything that the package ships', () => {
    const shipped = packageJson.files.filter((path) => path !== 'dist');
    expect(allowed).toEqual(expect.arrayContaining(shipped));
  });
});

describe('the Debian package', () => {
  const units = globSync('contrib/*.service', { cwd: ROOT }).map((path) => basename(path));
  const scripts = ['postinst', 'prerm', 'postrm'].map((name) => textOf(`packaging/deb/${name}`)).join('\n');

  it('has settings that this version reads', async () => {
    const { store, repository } = await loadSettings(join(ROOT, 'packaging/deb/treeline.yaml'));
    expect({ store, repository }).toMatchObject({
      store: { directory: '/var/lib/treeline' },
      repository: { branch: 'main' },
    });
  });

  it('stops and disables every unit that it installs', () => {
    expect(units.length).toBeGreaterThan(2);
    for (const unit of units) {
      expect(textOf('packaging/deb/prerm')).toMatch(new RegExp(`for unit in .*\\b${unit}\\b.*; do`));
      expect(textOf('packaging/deb/postrm')).toContain(`multi-user.target.wants/${unit}`);
    }
  });

  it('creates and removes the user of every unit', () => {
    const users = units.flatMap((unit) => textOf(`contrib/${unit}`).match(/(?<=^User=).*$/gm) ?? []);
    for (const list of scripts.match(/(?<=for user in ).*(?=; do)/g) ?? [])
      expect(list.split(' ').toSorted()).toEqual(users.toSorted());
    expect(scripts.match(/for user in/g)).toHaveLength(2);
  });
});
