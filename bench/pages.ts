// The benchmark `pages`: a small read every 20 ms while all instances change, and real pages in a browser show it.
// docs/benchmarks.md says how to read it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { CHROMIUM, DESK, NO_BROWSER, startBrowser } from '../test/support/browser.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { absentRow, type PartRow, rowOf } from './bench-row.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './installation-size.ts';
import { identityFiles } from './load.ts';
import { markdownTable } from './markdown-table.ts';
import { ServedController } from './served-controller.ts';
import { createSite } from './site.ts';
import { delaysOf, READ_NODE, type ReadsMeanwhile, readWhile } from './small-reader.ts';

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
      help: 'open pages, each with connections of its own',
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
  const controller = new ServedController(site, 'pages');
  await controller.ready();
  await controller.quiet(DONE_MS_MAX);
  const alone = await measureChanges(controller, instances, []);
  say(`no page: ${cellsOf(alone).join(' | ')}`);
  const browser = await startBrowser(politeBrowser(folder));
  try {
    const open = await openPages(browser, controller, pages);
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

/** Writes the program of a browser that leaves the processors to the controller, as browsers on other machines do. */
function politeBrowser(folder: string): string {
  const program = join(folder, 'browser');
  // Linux shares the processors between sessions first, where it groups by them, and the browser gets one of its own.
  const yieldAll = 'echo 19 > /proc/self/autogroup';
  writeFileSync(program, `#!/bin/sh\n{ ${yieldAll}; } 2>/dev/null\nexec nice -n 19 '${CHROMIUM}' "$@"\n`, {
    mode: 0o700,
  });
  return program;
}

/** Opens pages, each in a profile of its own, with the administrator's certificate: pages of one profile share six connections. */
async function openPages(browser: Browser, controller: ServedController, count: number): Promise<readonly Page[]> {
  const origin = `https://localhost:${await controller.apiPort()}`;
  const { key, cert } = identityFiles(controller.site);
  const clientCertificates = [{ origin, keyPath: key, certPath: cert }];
  const pages: Page[] = [];
  for (let number = 0; number < count; number += 1) {
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
