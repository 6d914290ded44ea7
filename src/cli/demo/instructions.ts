// Prints the instructions of the demo: where everything is, and lines to paste. No line is wider than a usual terminal.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { Controller } from '../../compose.ts';
import type { DemoCredentials } from './credentials.ts';
import type { LocalServer } from './local-servers.ts';

/** The sources run in a clone, which has no command on the path; a package that npx runs has none either. */
const INSTALLED = process.env.npm_command === 'exec' ? 'npx treeline' : 'treeline';
const COMMAND = extname(import.meta.filename) === '.ts' ? 'npm run -s treeline --' : INSTALLED;
const CLONE = 'my-stacks';
/** The files that the demo has made, where its folder may hold other files too. */
const OWN_FILES = 'pki, stacks.git, state, lab, stage-web-1, local-server* and treeline.*';
const STAGING = 'stacks/instances/shop/shop-staging.yaml';
const GIT_TIMEOUT_MS = 5_000;
const SHOWN_SERVERS: readonly string[] = ['orders-db', 'prod-web-4', 'stage-web-1'];
const SERVER_WIDTH = 11;
/** The server that the lines about drift change and end; its instance is shop-staging. */
const DRIFTING = 'stage-web-1';

interface DemoPlaces {
  /** Absolute. */
  readonly folder: string;
  readonly repository: string;
  readonly log: string;
  /** The management listener serves the page. */
  readonly hasPage: boolean;
  /** The file that is made of the record of a server, if there is one. */
  readonly rendered: string | undefined;
  readonly credentials: DemoCredentials;
  /** First that of the controller, then that of the proxy, if there is one. */
  readonly sites: readonly ShownSite[];
}

/** A place that has servers, and the folder of its program. */
interface ShownSite {
  readonly folder: string;
  readonly servers: readonly LocalServer[];
}

/** Returns the text. Commands in it work from the folder in which the user stands, `from`, also at a later start. */
export async function instructions(controller: Controller, places: DemoPlaces, from: string): Promise<string> {
  const url = `https://localhost:${controller.api.port}`;
  const management = `http://${controller.management.host}:${controller.management.port}`;
  const { folder, repository, log, hasPage } = places;
  return [
    'Treeline is running.',
    `  REST API    ${url} (mutual TLS)`,
    ...(hasPage ? [`  page        ${management}/ui/`] : []),
    `  health      ${management}/readyz`,
    `  repository  ${shortest(from, repository)}`,
    `  log         ${shortest(from, log)}`,
    ...serverLines(places, from),
    ...renderedLines(places, from),
    '',
    'In a second terminal, in this folder, say who asks (an administrator):',
    ...clientLines(url, places.credentials, from),
    '',
    'Ask:',
    '  ask /stacks/instances/shop-staging/status',
    "  ask '/hiera/prod-web-4/log_level?info=true'",
    `  ${COMMAND} status`,
    '',
    ...(await changes(controller, places, from)),
    ...driftLines(places, from),
    '',
    `${CLONE}/README.md explains the files.`,
    'Ctrl-C stops; the next start goes on from here.',
    `To start over, remove ${folder === from ? OWN_FILES : quote(shortest(from, folder))}.`,
  ].join('\n');
}

/** A few of the servers that run here, one of each instance where there are many. */
function serverLines({ sites: [main, proxied] }: DemoPlaces, from: string): readonly string[] {
  return [
    ...siteLines('Servers are processes here, and show their own configuration:', main, from),
    ...siteLines('Those of the location lab are made by a proxy (treeline proxy):', proxied, from),
  ];
}

function siteLines(title: string, site: ShownSite | undefined, from: string): readonly string[] {
  if (site === undefined || site.servers.length === 0) return [];
  const shown = site.servers.filter(({ name }) => SHOWN_SERVERS.includes(name));
  const lines = (shown.length === 0 ? site.servers.slice(0, SHOWN_SERVERS.length) : shown).map(
    ({ name, url }) => `  ${name.padEnd(SERVER_WIDTH)} ${url}`,
  );
  return ['', title, ...lines, `  all: ${programOf(site, from)} list`];
}

function renderedLines({ rendered }: DemoPlaces, from: string): readonly string[] {
  if (rendered === undefined) return [];
  return [
    '',
    'A file of stage-web-1 follows its record, by treeline render:',
    `  cat ${quote(shortest(from, rendered))}`,
  ];
}

/** Returns the program as a person types it: a path that has a slash. */
function programOf({ folder }: ShownSite, from: string): string {
  const path = shortest(from, join(folder, 'local-server'));
  return quote(path.includes('/') ? path : `./${path}`);
}

/** The lines that change a server behind the controller's back; those of a server that is healed by the proxy. */
function driftLines({ sites }: DemoPlaces, from: string): readonly string[] {
  const site = sites.at(-1);
  if (site === undefined || !site.servers.some(({ name }) => name === DRIFTING)) return [];
  return [
    '',
    'End a server by hand: within seconds it is found gone, and made again:',
    `  kill $(${programOf(site, from)} pid ${DRIFTING})`,
    `  ${COMMAND} check shop-staging`,
    `  sleep 5; ${COMMAND} events shop-staging | tail -n 4`,
  ];
}

/** Returns the lines that say who asks: the administrator. They define `ask`, and `treeline` where there is no such command. */
export function clientLines(url: string, credentials: DemoCredentials, from: string): readonly string[] {
  const { cert, key } = credentials.clients.administrator;
  const path = (target: string): string => quote(shortest(from, target));
  return [
    `  export TREELINE_SERVER=${url}`,
    `  export TREELINE_CA=${path(credentials.ca)}`,
    `  export TREELINE_CERT=${path(cert)}`,
    `  export TREELINE_KEY=${path(key)}`,
    '  ask() { path=$1; shift; curl -sS --cacert "$TREELINE_CA" \\',
    '    --cert "$TREELINE_CERT" --key "$TREELINE_KEY" \\',
    '    "$TREELINE_SERVER$path" "$@"; echo; }',
    // What Treeline advises names the command so.
    ...(COMMAND === 'treeline' ? [] : [`  treeline() { ${COMMAND} "$@"; }`]),
  ];
}

/** The lines that change something; they begin with a clone, or with the one that is there. */
async function changes(controller: Controller, { repository }: DemoPlaces, from: string): Promise<readonly string[]> {
  const isCloned = await isClone(join(from, CLONE), repository);
  const staging = controller.reader.instances().find(({ name }) => name === 'shop-staging');
  const count = Number(staging?.parameters.web_count ?? '2');
  return [
    'Change something (one web server more), and see it happen:',
    isCloned ? `  git -C ${CLONE} pull` : `  git clone ${quote(shortest(from, repository))} ${CLONE}`,
    ...(await identity(from)),
    `  sed -i 's/web_count: "${count}"/web_count: "${count + 1}"/' \\`,
    `    ${CLONE}/${STAGING}`,
    `  git -C ${CLONE} commit -am "One web server more"`,
    ...pushAndWait(),
    '',
    'Make a mistake: look for it, push it all the same, and ask why:',
    `  sed -i 's/stackTemplate: shop/stackTemplate: shoop/' \\`,
    `    ${CLONE}/${STAGING}`,
    `  ${COMMAND} validate ${CLONE}`,
    `  git -C ${CLONE} commit -am "A mistake"`,
    ...pushAndWait(),
    `  ${COMMAND} why shop-staging`,
    '',
    'Take it back:',
    `  git -C ${CLONE} revert --no-edit HEAD`,
    ...pushAndWait(),
  ];
}

/** A read right after a push would show what was before it. */
function pushAndWait(): readonly string[] {
  return [
    `  git -C ${CLONE} push`,
    `  ${COMMAND} status shop-staging \\`,
    `    --wait "$(git -C ${CLONE} rev-parse HEAD)"`,
  ];
}

/** Git refuses to commit without a name. */
async function identity(from: string): Promise<readonly string[]> {
  if ((await gitOutput(from, 'config', 'user.email')) !== undefined) return [];
  return [`  git -C ${CLONE} config user.name "Your Name"`, `  git -C ${CLONE} config user.email you@example.org`];
}

async function isClone(folder: string, repository: string): Promise<boolean> {
  return existsSync(join(folder, '.git')) && (await gitOutput(folder, 'config', 'remote.origin.url')) === repository;
}

/** Returns what git prints, as the user has set it up; undefined where it ends with a failure. */
async function gitOutput(folder: string, ...args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('git', ['-C', folder, ...args], { timeout: GIT_TIMEOUT_MS });
    return stdout.trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}

function shortest(from: string, target: string): string {
  const path = relative(from, target);
  return path.startsWith('..') ? target : path || '.';
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
