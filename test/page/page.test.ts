// The page in a real browser, on a whole controller: what an operator sees, clicks and hears, while commits roll out and when the controller
// is gone. PAGE_PICTURES=1 writes the pictures of the documents.
import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headOf } from '../scenario/scene.ts';
import { instanceText, OFFICE, SHOP, STACKS, TEMPLATE, templateText } from '../scenario/stacks.ts';
import { findBarriers, NO_BROWSER, openPage, PHONE, startBrowser } from '../support/browser.ts';
import { ROOT } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';
import { type FileChanges, yamlFilesIn } from '../support/git-repository.ts';
import { PATIENCE, type RunningController, runController, withProvider } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';

const HOSTILE = `<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>`;
const IS_PICTURED = process.env.PAGE_PICTURES !== undefined;

let browser: Browser;
beforeAll(async () => {
  if (NO_BROWSER === undefined) browser = await startBrowser();
  else process.stderr.write(`The page is not looked at: ${NO_BROWSER}.\n`);
});
afterAll(() => browser?.close());

interface Served {
  readonly createMs?: number;
  readonly failRate?: number;
  /** One that was served before. */
  readonly site?: Shown['site'];
}

interface Shown {
  readonly running: RunningController;
  readonly site: Awaited<ReturnType<typeof createSite>>;
  readonly address: string;
}

/** Starts a controller with a dashboard on these files. Nothing of it takes long, unless `createMs` says so. */
async function served(files: FileChanges, options: Served = {}): Promise<Shown> {
  const site = options.site ?? (await createSite(files));
  const { createMs = 0, failRate = 0 } = options;
  const slowly = withProvider({ createMs, failRate }, { attempts: 1, failedSeconds: 3600 });
  const running = await runController(site, (settings) => {
    return slowly({ ...settings, management: { ...settings.management, dashboard: true } });
  });
  await expect.poll(() => running.controller.ready(), PATIENCE).toBe(true);
  return { running, site, address: `http://localhost:${running.controller.management.port}/ui/` };
}

/** Registers the site's proxy, and has it say that a node runs a record which nobody knows. */
async function confirmUnknown({ running, site }: Shown, node: string): Promise<void> {
  const read = (end: string): string => readFileSync(join(site.folder, 'pki', `proxy.${end}`), 'utf8');
  const identity = { key: read('key'), cert: read('crt') };
  const { serialNumber } = new X509Certificate(identity.cert);
  const commit = await site.repository.commit({ [`clients/${serialNumber}.yaml`]: `role: proxy\nnode: ${node}\n` });
  await running.untilDone(commit);
  const body = JSON.stringify({ digest: 'x'.repeat(22), outcome: 'applied' });
  const headers = { 'Content-Type': 'application/json' };
  const { status } = await running.request(`/hiera/${node}/applied`, { method: 'POST', identity, headers, body });
  expect(status).toBe(200);
}

/** Every view, and what it shows in the estate of the tests. */
const VIEWS = [
  ['', /Invalid files[\s\S]*Waits for approval/],
  ['servers?search=shop', /shop-web-1/],
  ['servers/office-web-1', /port\s+80/],
  ['instances/shop', /Deletes because of an unreadable file[\s\S]*shop-web-1/],
  ['changes', /Commit\s+State[\s\S]*\+\d/],
  ['approvals', /Deletes or replaces \d server[\s\S]*treeline approve/],
  ['proxies', /No proxy/],
  ['events', /office-web-1/],
  ['servers/nothing', /There is no/],
] as const;

const isWide = (page: Page): Promise<boolean> => page.evaluate('document.documentElement.scrollWidth > innerWidth');
const textOf = (page: Page, at = 'main'): Promise<string> => page.locator(at).innerText();
const until = (page: Page, words: string | RegExp, at = 'main') =>
  expect.poll(() => textOf(page, at), { timeout: 60_000, interval: 50 }).toMatch(words);

describe.skipIf(NO_BROWSER !== undefined)('the page', () => {
  it('shows the findings of a recovery, and why no action starts', async () => {
    const { site, running } = await served(STACKS);
    await running.untilDone(await headOf(site), 'shop', 'office');
    await running.stop();
    for (const end of ['', '-wal', '-shm']) rmSync(join(site.state, `store.sqlite${end}`), { force: true });
    const again = await served(STACKS, { site });
    const { page, faults } = await openPage(browser, again.address);
    await until(page, /Recovery[\s\S]*the store is empty[\s\S]*treeline resume --recovery/);
    await until(
      page,
      /Results of the recovery 2 instances[\s\S]*Adopt or retain\s+office\s+0\s+office-db\s+office-web-1/,
    );
    await until(page, /Instances[\s\S]*office\s+‖\s*Suspended\s+2\s+Recovery, Servers are blocked/);
    expect(faults).toEqual([]);
  });

  it('leads from a cause to the server and the origin of its values, by clicks and by addresses', async () => {
    const shown = await served(STACKS);
    const { site, running, address } = shown;
    await running.untilDone(await headOf(site), 'shop', 'office');
    await confirmUnknown(shown, 'office-web-1');
    const { page, faults } = await openPage(browser, address);
    await until(page, /Nothing needs an operator[\s\S]*office\s+✓\s*Done/);
    await until(page, /Records 0 of 1 reporting node up to date\s+treeline delivered/);
    await until(page, '● live', 'header');
    // The client of a node is no proxy.
    await until(page, /Proxies\s+0\s+none registered/);

    await site.repository.commit({ [OFFICE]: 'stackTemplate: wep\n' });
    await until(page, /Invalid files[\s\S]*office[\s\S]*there is no stack template "wep"/);
    await page.getByRole('link', { name: 'office' }).first().click();
    await until(page, /^Overview \/ Instance\s+office\s+!\s*Invalid[\s\S]*Records 0 of 1/);
    expect(new URL(page.url()).pathname).toBe('/ui/instances/office');
    await page.getByRole('rowheader').getByRole('link', { name: 'office-web-1' }).click();
    for (const reload of [() => undefined, () => page.reload()]) {
      await reload();
      await until(page, /^Servers \/ office \/ Server\s+office-web-1\s+✓\s*done[\s\S]*size\s+small\s+small/);
      await until(page, /port\s+80\s+types\/role\/web.yaml:1[\s\S]*create succeeded/);
    }
    await page.getByText('port', { exact: true }).click();
    await until(page, /Layer\s+Value\s+Effect[\s\S]*role web\s+80\s+used/);
    await page.goBack();
    await until(page, /^Overview \/ Instance\s+office/);
    await page.goto(`${address}servers/printer`);
    await until(page, /printer[\s\S]*paper\s+a4/);
    await page.goto(`${address}servers/nothing`);
    await until(page, 'There is no');
    expect(faults).toEqual([]);
  });

  it('shows text of users as text', async () => {
    const { site, running, address } = await served({
      ...STACKS,
      'types/role/web.yaml': `banner: ${JSON.stringify(HOSTILE)}\n`,
      [TEMPLATE]: templateText(JSON.stringify(HOSTILE)),
      [OFFICE]: instanceText('office', 1, `description: ${JSON.stringify(HOSTILE)}\n`),
    });
    await running.untilDone(await headOf(site), 'shop');
    await running.post('/operations/suspend', { instance: 'office', reason: HOSTILE });
    const { page, faults } = await openPage(browser, address);
    await until(page, /suspended office: <img src=x onerror/);
    for (const [path, words] of [
      ['servers/shop-web-1', /size[\s\S]*banner/],
      ['instances/office', /suspended/],
      ['events', /suspend/],
      [`servers?search=${encodeURIComponent(HOSTILE)}`, 'Search: <img'],
      [`instances/${encodeURIComponent(HOSTILE)}`, 'There is no stack instance "<img'],
    ] as const) {
      await page.goto(address + path);
      await until(page, words);
      await until(page, /<img src=x onerror/);
      expect(await page.locator('img, main script').count()).toBe(0);
    }
    expect(await page.evaluate(() => Object.hasOwn(globalThis, 'hacked'))).toBe(false);
    expect(faults).toEqual([]);
  });

  it('hides secrets', async () => {
    const { site, running, address } = await served({
      ...STACKS,
      'hierarchy.yaml': 'secrets: { keys: ["_password$"], reference: "^secret/" }\n',
      'types/role/web.yaml': 'mail_password: secret/shop/mail\nport: 80\n',
    });
    await running.untilDone(await headOf(site), 'shop');
    const { page } = await openPage(browser, `${address}servers/shop-web-1`);
    await until(page, /mail_password\s+\(secret\)/);
    await page.getByText('mail_password').click();
    await until(page, /role web\s+\(secret\)\s+used/);
    expect(await page.content()).not.toContain('secret/shop/mail');
  });

  itInFull('works by keyboard, on a phone, in both colours, and with a screen reader', async () => {
    const { site, running, address } = await served(STACKS);
    await running.untilDone(await headOf(site), 'shop', 'office');
    await site.repository.commit({ [OFFICE]: 'stackTemplate: wep\n', [SHOP]: instanceText('shop', 0) });
    for (const [colorScheme, options] of [
      ['light', { viewport: PHONE }],
      ['dark', {}],
    ] as const) {
      const { page, faults } = await openPage(browser, address, { colorScheme, ...options });
      for (const [path, words] of VIEWS) {
        await page.goto(address + path);
        await until(page, words);
        expect({ path, colorScheme, barriers: await findBarriers(page) }).toEqual({ path, colorScheme, barriers: [] });
        expect({ path, isWide: await isWide(page) }).toEqual({ path, isWide: false });
      }
      expect(faults).toEqual([]);
    }
    const { page } = await openPage(browser, address);
    await until(page, /Invalid files/);
    const focused = (): Promise<string> => page.evaluate('document.activeElement?.textContent ?? ""');
    for (let presses = 0; presses < 60 && (await focused()) !== 'office'; presses += 1)
      await page.keyboard.press('Tab');
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
    expect(outline).not.toBe('none');
    await page.keyboard.press('Enter');
    await until(page, /^Overview \/ Instance\s+office/);
    await expect.poll(focused).toMatch(/^office/);
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('H1');
  });
});

it.skipIf(NO_BROWSER !== undefined || !IS_PICTURED)('takes the pictures of the documents', async () => {
  const files = yamlFilesIn(join(ROOT, 'sample-repo'));
  const { site, running, address } = await served(files, { createMs: 60 });
  await running.untilDone(await headOf(site), 'shop-staging');
  const staging = String(files['stacks/instances/shop/shop-staging.yaml']);
  const production = String(files['stacks/instances/shop/shop-production.yaml']);
  const commit = (message: string, changes: FileChanges): Promise<string> => {
    return site.repository.commit(changes, { message, seconds: Math.floor(Date.now() / 1000) });
  };
  const scaled = await commit('Give staging a third web server\n\nLoad tests need it.\n', {
    'stacks/instances/shop/shop-staging.yaml': staging.replace('web_count: "2"', 'web_count: "3"'),
  });
  await running.untilDone(scaled, 'shop-staging');
  await commit('Move staging to the new template, and take production down\n', {
    'stacks/instances/shop/shop-staging.yaml': staging.replace('stackTemplate: shop', 'stackTemplate: shoop'),
    'stacks/instances/shop/shop-production.yaml': production.replace(/_count: "\d+"/g, '_count: "0"'),
  });
  const folder = join(ROOT, 'docs/images');
  for (const [name, path, words, colorScheme] of [
    ['page-light', '', /Waits for approval[\s\S]*Invalid files/, 'light'],
    ['page-dark', 'instances/shop-staging', /Invalid files/, 'dark'],
    ['page-change', `changes/${scaled}`, /stage-web-3\s+created/, 'light'],
    ['page-server', 'servers/prod-web-4', /log_level/, 'light'],
  ] as const) {
    const { page } = await openPage(browser, address + path, { colorScheme });
    await until(page, words);
    await until(page, '● live', 'header');
    if (name === 'page-server') await page.getByText('log_level', { exact: true }).click();
    const bytes = await page.screenshot({ path: join(folder, `${name}.png`) });
    expect({ name, isSmall: bytes.length < 150_000 }).toEqual({ name, isSmall: true });
  }
});
