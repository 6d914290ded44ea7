// The image, on machines without an engine: the Dockerfile is read. test/long/image.long.ts runs what comes out of its steps.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { ROOT } from './support/command-line.ts';

/** What decides over the image's files and how it runs. FROM, WORKDIR, LABEL, EXPOSE and VOLUME have nothing to do in a folder. */
const MIRRORED = /^(COPY|RUN|ENV|USER|HEALTHCHECK|STOPSIGNAL|ENTRYPOINT|CMD) /;

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

  it('has a step in scripts/image-steps.sh for each of its instructions', () => {
    const mirror = textOf('scripts/image-steps.sh').matchAll(/^ *# Dockerfile: (.*)\n/gm);
    const mirrored = [...mirror].map(([, instruction]) => instruction);
    expect(mirrored.toSorted()).toEqual(instructions.filter((each) => MIRRORED.test(each)).toSorted());
  });

  it('begins from a Node that package.json allows, the same in every stage', () => {
    const bases = instructions.filter((each) => each.startsWith('FROM ')).map((each) => each.split(' ')[1]);
    expect(new Set(bases).size).toBe(1);
    const major = Number(/^node:(\d+)-\w+-slim$/.exec(bases[0] ?? '')?.[1]);
    expect(major).toBeGreaterThanOrEqual(Number(/\d+/.exec(packageJson.engines.node)?.[0]));
  });

  it('bears the version of the package', () => {
    expect(instructions.find((each) => each.startsWith('LABEL '))).toContain(
      `org.opencontainers.image.version="${packageJson.version}"`,
    );
  });

  it('ends as a user who is a number and not root', () => {
    expect(instructions.findLast((each) => each.startsWith('USER '))).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
  });
});

describe('.dockerignore', () => {
  const lines = textOf('.dockerignore').split('\n');
  const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));

  it('lets in single paths only, as the script reads it', () => {
    expect(lines.filter((line) => !/^(#.*|\*|![\w.-]+|)$/.test(line))).toEqual([]);
    expect(lines.indexOf('*')).toBeLessThan(lines.findIndex((line) => line.startsWith('!')));
  });

  it('lets in what the package ships', () => {
    const shipped = packageJson.files.filter((path) => path !== 'dist');
    expect(allowed).toEqual(expect.arrayContaining(shipped));
  });
});
