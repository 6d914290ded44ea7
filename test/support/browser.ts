// A real browser for the tests of the page: the system's Chromium, with a fresh profile, driven by playwright-core.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
];
const AXE = createRequire(import.meta.url).resolve('axe-core');

/** Why the page cannot be looked at here; undefined where it can. */
export const NO_BROWSER = existsSync(CHROMIUM) ? undefined : `there is no Chromium at ${CHROMIUM}`;

/** Sizes of a window: that of a desk, and that of a small phone. */
export const DESK = { width: 1180, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Returns a browser; whoever starts it closes it. `program` starts Chromium with the arguments that it is given. */
export function startBrowser(program = CHROMIUM): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: FLAGS });
}

/** A page, and all that went wrong in it. */
export interface OpenPage {
  readonly page: Page;
  /** What was thrown, and what the policy refused; empty. */
  readonly faults: readonly string[];
}

/** Opens an address in a window of its own, which does not outlive the test. */
export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: DESK, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (line) => {
    if (line.type() === 'error' && !line.text().includes('Failed to load resource')) faults.push(line.text());
  });
  await page.goto(address);
  return { page, faults };
}

/** Returns what axe finds that keeps somebody from using the page. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  // As the inspector's own script, which no policy of the page concerns.
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: { run(): Promise<AxeResult> } }).axe.run();
    return violations;
  });
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}
