// The benchmark `pages`: a small read every 20 ms while all instances change, and real pages in a browser show it.
// docs/benchmarks.md says how to read it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { issueClientCertificate, type KeyPair } from '../src/base/development-pki.ts';
import { readAuthority } from '../src/cli/credential-files.ts';
import { CHROMIUM, DESK, NO_BROWSER, startBrowser } from '../test/support/browser.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { absentRow, type PartRow, rowOf } from './bench-row.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './installation-size.ts';
import { markdownTable } from './markdown-table.ts';
import { ServedController } from './served-controller.ts';
import { createSite, type Site } from './site.ts';
import { delaysOf, READ_NODE, type ReadsMeanwhile, readWhile } from './small-reader.ts';

/** Whether Linux shares the processors between sessions before it looks at what is idle. */
const AUTOGROUP = '/proc/sys/kernel/sched_autogroup_enabled';
const KINDS = 10;
const SERVERS_MAX = 100_000;
const PAGES_MAX = 200;
const DONE_MS_MAX = 5 * 60_000;
/** Two processors draw fifty pages of a thousand instances in a minute or two. */
const SHOWN_MS_MAX = 5 * 60_000;
const WORST_MS_MAX = 50;
/** Commits that change all instances, one after the other. */
const COMMITS = 2;

interface PagesOptions {
  readonly servers: number;
  readonly pages: number;
}

/** Returns the part `pages` of the table. */
export const PAGES = definePart({
  name: 'pages',
  summary: 'a small read every 20 ms while all instances change, and real pages in a browser show it',
  options: {
    servers: { kind: 'number', default: 10_000, quick: 200, max: SERVERS_MAX, help: 'servers of the installation' },
    pages: {
      kind: 'number',
      default: 50,
      quick: 3,
      max: PAGES_MAX,
      help: 'open pages, each of another person',
    },
  },
  run: benchPages,
});

async function benchPages({ servers, pages }: PagesOptions, { folder, say }: BenchContext): Promise<PartReport> {
  const work = `small read, ${servers.toLocaleString('en')} servers, while all instances change and ${pages} pages are open`;
  if (NO_BROWSER !== undefined) return { rows: [absentRow(work, NO_BROWSER)], text: NO_BROWSER, failures: [] };
  const instances = instancesFor(servers);
  const files = repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE, kinds: KINDS });
  const site = await createSite(folder, { ...files, ...READ_NODE });
  const people = await registerPeople(site, pages);
  if (hasAutogroup()) say(`the browser may keep the controller waiting: set ${AUTOGROUP} to 0`);
  const controller = new ServedController(site, 'pages');
  await controller.ready();
  await controller.quiet(DONE_MS_MAX);
  const alone = await measureChanges(controller, instances, []);
  say(`no page: ${cellsOf(alone).join(' | ')}`);
  const browser = await startBrowser(idleBrowser(folder));
  try {
    const open = await openPages(browser, controller, people);
    const shown = await measureChanges(controller, instances, open);
    say(`${pages} pages: ${cellsOf(shown).join(' | ')}`);
    const [delays, delaysAlone] = [delaysOf(shown.reads), delaysOf(alone.reads)];
    const rows = (['p99', 'worst'] as const).map((field) =>
      rowAgainst(`${work}: ${field}`, delays[field], delaysAlone[field]),
    );
    const table = [
      ['no page', ...cellsOf(alone)],
      [`${pages} pages`, ...cellsOf(shown)],
    ];
    return { rows, text: markdownTable(['open', 'seconds', 'reads', 'p99, ms', 'worst'], table), failures: [] };
  } finally {
    await browser.close();
    await controller.stop();
  }
}

function rowAgainst(work: string, value: number, alone: number): PartRow {
  return rowOf({ work, value, unit: 'ms', target: { atMost: WORST_MS_MAX }, peer: { name: 'no page', value: alone } });
}

/** Writes the program of a browser that gets what the controller leaves of the processors: people look at pages on other machines. */
function idleBrowser(folder: string): string {
  const program = join(folder, 'browser');
  writeFileSync(program, `#!/bin/sh\nexec chrt --idle 0 '${CHROMIUM}' "$@"\n`, { mode: 0o700 });
  return program;
}

function hasAutogroup(): boolean {
  try {
    return readFileSync(AUTOGROUP, 'utf8').trim() === '1';
  } catch {
    // Not Linux, or built without it.
    return false;
  }
}

/** Registers people, administrators, and returns their certificates. */
async function registerPeople({ folder, repository }: Site, count: number): Promise<readonly KeyPair[]> {
  const authority = await readAuthority(join(folder, 'pki'));
  const now = Date.now();
  const people = await Promise.all(
    Array.from({ length: count }, (_, number) =>
      issueClientCertificate(authority, { now, commonName: `person ${number}` }),
    ),
  );
  const files = people.map(({ serial }) => [`clients/${serial}.yaml`, 'role: administrator\n']);
  await repository.commit(Object.fromEntries(files));
  return people;
}

/** Opens a page for each person, in a profile of its own: pages of one profile share six connections. */
async function openPages(
  browser: Browser,
  controller: ServedController,
  people: readonly KeyPair[],
): Promise<readonly Page[]> {
  const origin = `https://localhost:${await controller.apiPort()}`;
  const pages: Page[] = [];
  for (const { key, cert } of people) {
    const clientCertificates = [{ origin, key: Buffer.from(key), cert: Buffer.from(cert) }];
    const context = await browser.newContext({ viewport: DESK, ignoreHTTPSErrors: true, clientCertificates });
    const page = await context.newPage();
    await page.goto(`${origin}/ui/`);
    await page.locator('#instances').waitFor({ timeout: SHOWN_MS_MAX });
    pages.push(page);
  }
  return pages;
}

/** Measures reads while commits change all instances, each once every page shows the one before. */
async function measureChanges(controller: ServedController, instances: number, pages: readonly Page[]) {
  return await readWhile(controller, async () => {
    for (let round = 0; round < COMMITS; round += 1) {
      const version = `${pages.length}.${round}`;
      const changed = Array.from({ length: instances }, (_, number) => [
        instancePath(number),
        instanceText({ kind: number % KINDS, servers: SERVERS_AN_INSTANCE, version }),
      ]);
      const commit = await controller.follow(Object.fromEntries(changed), instances * SERVERS_AN_INSTANCE, DONE_MS_MAX);
      await Promise.all(pages.map((page) => showsCommit(page, commit)));
    }
  });
}

/** Rejects where a page does not show the commit as the followed one. */
async function showsCommit(page: Page, commit: string): Promise<void> {
  await page.locator(`[data-text="${commit}"]`).first().waitFor({ timeout: SHOWN_MS_MAX });
}

function cellsOf({ reads, from, to }: ReadsMeanwhile): string[] {
  const { p99, worst } = delaysOf(reads);
  return [((to - from) / 1000).toFixed(1), String(reads.length), p99.toFixed(0), worst.toFixed(0)];
}
