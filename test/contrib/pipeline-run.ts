// Runs shell scripts of the pipelines and hooks of contrib/ in a copy of sample-repo, with a `treeline` and a `docker`.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect } from 'vitest';
import { BUNDLED, type ProcessResult, ROOT, run } from '../support/command-line.ts';
import { prepareOnce } from '../support/prepared-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The folder contrib/. */
export const CONTRIB = join(ROOT, 'contrib');
/** The instance that tests edit. */
export const STAGING = 'stacks/instances/shop/shop-staging.yaml';

/** Returns a pipeline as data. */
export function pipeline<Pipeline>(path: string): Pipeline {
  return load(readFileSync(join(CONTRIB, path), 'utf8')) as Pipeline;
}

/** A folder for the path with a `treeline`, and a `docker` that runs it on the folder that is mounted at /stacks. */
function programs(): string {
  const folder = temporaryDirectory();
  const treeline = `exec "${process.execPath}" "${BUNDLED}"`;
  // The mount is the only argument that ends so; the command of the image stands behind its name.
  const docker = `for part; do case $part in *:/stacks:ro) stacks=\${part%:/stacks:ro} ;; esac; done
while [ "$1" != "$TREELINE_IMAGE" ]; do shift; done
shift
count=$#
while [ "$count" -gt 0 ]; do
  part=$1; shift; count=$((count - 1))
  if [ "$part" = /stacks ]; then set -- "$@" .; else set -- "$@" "$part"; fi
done
cd "$stacks" && ${treeline} "$@"`;
  const scripts = { treeline: `${treeline} "$@"`, docker };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return folder;
}

const GIT = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};

/** Runs a script as runners do: it ends with the first command that fails. */
export function shell(script: string, cwd: string, env: Readonly<Record<string, string>> = {}): Promise<ProcessResult> {
  // The Node that runs the tests stands before another one of the machine.
  const node = join(process.execPath, '..');
  return run('sh', ['-e', '-c', script], {
    cwd,
    env: { PATH: `${programs()}:${node}:${process.env.PATH}`, ...GIT, TREELINE_IMAGE: 'treeline:0.1.0', ...env },
  });
}

const copySample = prepareOnce(async (directory) => {
  cpSync(join(ROOT, 'sample-repo'), directory, { recursive: true });
  expect(await shell('git init --quiet && git add --all', directory)).toMatchObject({ code: 0 });
});

/** Returns a Git repository with the sample, staged. */
export async function repository(): Promise<string> {
  const directory = temporaryDirectory();
  await copySample(directory);
  return directory;
}

/** Replaces a text of a file, which stands there. */
export function edit(directory: string, file: string, [from, to]: readonly [from: string, to: string]): void {
  const path = join(directory, file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
}
