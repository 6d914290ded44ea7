// The text that the demo prints once it runs: addresses, and how to continue.
import { existsSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { productPath } from '../../base/product-files.ts';
import type { Settings } from '../../model/settings.ts';
import { shellWord } from '../output.ts';
import { LAB, RENDERED_FILE } from './demo-program.ts';

/** The sources run in a clone, which has no command on the path; a package that npx runs has none either. */
const INSTALLED = process.env.npm_command === 'exec' ? 'npx treeline' : 'treeline';
const COMMAND = extname(import.meta.filename) === '.ts' ? 'npm run -s treeline --' : INSTALLED;
/** The files that the demo has made: its folder may hold other files too. */
const OWN_FILES = 'pki, stacks.git, state, lab, stage-web-1, local-server* and treeline.*';

/** Returns the text. Commands in it work in the folder `from`, in which the user started the demo. */
export function instructions({ api, management }: Settings, folder: string, from: string): string {
  const shown = (path: string): string => shellWord(shortest(from, join(folder, path)));
  const page = `http://${management.host}:${management.port}`;
  return [
    'Treeline is running.',
    `  REST API    https://localhost:${api.port} (mutual TLS)`,
    `  page        ${page}/ui/`,
    `  health      ${page}/readyz`,
    `  repository  ${shown('stacks.git')}`,
    `  log         ${shown('treeline.log')}`,
    ...(existsSync(join(folder, LAB))
      ? [`  servers     ${program(folder, from)} list`, `  of a proxy  ${program(join(folder, LAB), from)} list`]
      : []),
    `  a file      ${shown(RENDERED_FILE)}, by treeline render`,
    '',
    'In a second terminal, in this folder:',
    `  ${COMMAND} status`,
    `  git clone ${shown('stacks.git')} my-stacks`,
    'Then change a file in my-stacks, commit and push, and ask for the status again.',
    'Commands to paste: "Quick start" in the README:',
    `  ${shortest(from, productPath('README.md'))}`,
    'Ctrl-C stops the demo; the next start continues from here.',
    `To start over, remove ${folder === from ? OWN_FILES : shellWord(shortest(from, folder))}.`,
  ].join('\n');
}

/** Returns the provider program of a folder as a shell runs it: a path with a slash. */
function program(folder: string, from: string): string {
  const path = shortest(from, join(folder, 'local-server'));
  return shellWord(path.includes('/') ? path : `./${path}`);
}

function shortest(from: string, target: string): string {
  const path = relative(from, target);
  return path.startsWith('..') ? target : path || '.';
}
