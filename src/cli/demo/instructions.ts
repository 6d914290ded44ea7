// What the demo tells its user: where everything is, and lines to paste.
import { relative } from 'node:path';
import type { Controller } from '../../compose.ts';
import { ROLES } from '../../model/names.ts';
import type { DemoCredentials } from './credentials.ts';

export interface DemoPlaces {
  /** Absolute. */
  readonly folder: string;
  readonly repository: string;
  readonly log: string;
  readonly credentials: DemoCredentials;
}

/** Returns the text. Commands in it work from the folder in which the user stands, `from`. */
export function instructions(controller: Controller, places: DemoPlaces, from: string): string {
  const path = (target: string): string => quote(shortest(from, target));
  const url = `https://localhost:${controller.api.port}`;
  const curl = (role: keyof DemoCredentials['clients'], what: string): string => {
    const { cert, key } = places.credentials.clients[role];
    const certificates = `--cacert ${path(places.credentials.ca)} --cert ${path(cert)} --key ${path(key)}`;
    // Some shells take a bare question mark for a file pattern.
    return `  curl ${certificates} ${what.includes('?') ? `'${url}${what}'` : `${url}${what}`}`;
  };
  const [administrator, automation, proxy] = ROLES;
  return [
    'Treeline is running.',
    `  REST API    ${url} (mutual TLS)`,
    `  health      http://${controller.management.host}:${controller.management.port}/readyz`,
    `  repository  ${shortest(from, places.repository)}`,
    `  log         ${shortest(from, places.log)}`,
    '',
    'Ask it, as each role:',
    curl(administrator, '/stacks/instances/shop-staging/status'),
    curl(automation, '/stacks/instances/shop-staging/status/full'),
    curl(proxy, '/hiera/all?info=true'),
    '',
    'Change something (one server more), and watch it follow:',
    `  git clone ${path(places.repository)} my-stacks`,
    `  sed -i 's/web_count: "2"/web_count: "3"/' my-stacks/stacks/instances/shop/shop-staging.yaml`,
    `  git -C my-stacks commit -am "One web server more" && git -C my-stacks push`,
    curl(administrator, '/stacks/instances/shop-staging/status/full'),
    '',
    `my-stacks/README.md explains the files. Ctrl-C stops; the next start goes on from here. To begin anew, remove ${shortest(from, places.folder)}.`,
  ].join('\n');
}

function shortest(from: string, target: string): string {
  const path = relative(from, target);
  return path.startsWith('..') ? target : path || '.';
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
