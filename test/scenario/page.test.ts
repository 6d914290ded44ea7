// The page in a real browser, on a whole controller: what an operator sees, clicks and hears, while commits roll out and when the controller
// is gone. PAGE_PICTURES=1 writes the pictures of the documents.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBarriers, NO_BROWSER, openPage, PHONE, startBrowser } from '../support/browser.ts';
import { ROOT } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';
import { type FileChanges, yamlFilesIn } from '../support/git-repository.ts';
import { PATIENCE, type RunningController, runController, withProvider } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';
import { headOf } from './scene.ts';
import { instanceText, OFFICE, SHOP, STACKS, TEMPLATE, templateText } from './stacks.ts';

const HOSTILE = `<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>`;
const IS_PICTURED = process.env.PAGE_PICTURES !== undefined;

let browser: Browser;
beforeAll(async () => {
  if (NO_BROWSER === undefined) browser = await startBrowser();
  else process.stderr.write(`The page is not looked at: ${NO_BROWSER}.\n`);
});
afterAll(() => browser?.close());

interface Shown {
  readonly running: RunningController;
  readonly site: Awaited<ReturnType<typeof createSite>>;
  readonly address: string;
}

/** Starts a controller with a dashboard on these files. Nothing of it takes long, unless `createMs` says so. */
async function served(files: FileChanges, options: { createMs?: number; failRate?: number } = {}): Promise<Shown> {
  const site = await createSite(files);
  const slowly = withProvider(options, { attempts: 1, failedSeconds: 3600 });
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

const isWide = (page: Page): Promise<boolean> => page.evaluate('document.documentElement.scrollWidth > innerWidth');
const textOf = (page: Page, at = 'main'): Promise<string> => page.locator(at).innerText();
const until = (page: Page, words: string | RegExp, at = 'main') =>
  expect.poll(() => textOf(page, at), { timeout: 60_000, interval: 50 }).toMatch(words);

describe.skipIf(NO_BROWSER !== undefined)('the page', () => {
  it('leads from what is wrong to the server and its configuration, by clicks and by addresses', async () => {
    const shown = await served(STACKS);
    const { site, running, address } = shown;
    await running.untilDone(await headOf(site), 'shop', 'office');
    await confirmUnknown(shown, 'office-web-1');
    const { page, faults } = await openPage(browser, address);
    await until(page, 'Nothing needs a person');
    await until(page, /Records 1 of 1 nodes has not applied its present record: office-web-1; 5 more do not report/);
    await until(page, /office\s+✓\s*Done/);
    await until(page, '● live', 'header');

    await site.repository.commit({ [OFFICE]: 'stackTemplate: wep\n' });
    await until(page, /invalid\s+office[\s\S]*there is no stack template "wep"/);
    // The client of a node is no proxy.
    expect(await textOf(page)).toMatch(/treeline delivered\s+copy[\s\S]*Commits/);
    expect(await textOf(page)).not.toContain('Proxies');
    await page.getByRole('link', { name: 'office' }).first().click();
    await until(
      page,
      /^Overview \/ Instances\s+office[\s\S]*Invalid[\s\S]*Records 1 of 1 nodes has not applied its present record/,
    );
    expect(new URL(page.url()).pathname).toBe('/ui/instances/office');

    await page.getByRole('button', { name: 'office-web-1' }).click();
    await until(page, /size\s+small\s+small/);
    await page.reload();
    await until(page, /size\s+small\s+small/);
    await page.getByRole('link', { name: 'Configuration of office-web-1' }).click();
    await until(page, /port\s+80\s+types\/role\/web.yaml:1/);
    await page.getByText('port', { exact: true }).click();
    await until(page, /Layer\s+Value\s+Effect[\s\S]*role web\s+80\s+used/);
    await page.goBack();
    await until(page, /^Overview \/ Instances\s+office/);
    await page.goto(`${address}nodes/nothing`);
    await until(page, 'There is no');
    expect(faults).toEqual([]);
  });

  itInFull('follows a commit while it rolls out, without being asked', async () => {
    const { site, running, address } = await served(STACKS, { createMs: 3_000 });
    const { page, faults } = await openPage(browser, `${address}instances/shop`);
    await running.untilDone(await headOf(site), 'shop');
    await until(page, /✓\s*3 done/);
    await site.repository.commit({ [SHOP]: instanceText('shop', 6) });
    await until(page, /\+\s*\d creating[\s\S]*carries out the create/);
    await until(page, /✓\s*7 done/);
    await until(page, /Events[\s\S]*shop-web-6 ✓done/);
    await running.post('/operations/check', { instance: 'shop' });
    await until(page, /instance\s+check/);
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
      ['instances/shop?open=shop-web-1', 'size'],
      ['nodes/shop-web-1', 'banner'],
      ['instances/office', 'suspended office'],
      [`servers?search=${encodeURIComponent(HOSTILE)}`, 'Search: <img'],
      [`instances/${encodeURIComponent(HOSTILE)}`, 'There is no stack instance "<img'],
    ] as const) {
      await page.goto(address + path);
      await until(page, words);
      if (!path.startsWith('instances/o'))
        await until(page, HOSTILE.slice(0, 20).replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
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
    const { page } = await openPage(browser, `${address}nodes/shop-web-1`);
    await until(page, /mail_password\s+\(secret\)/);
    await page.getByText('mail_password').click();
    await until(page, /role web\s+\(secret\)\s+used/);
    expect(await page.content()).not.toContain('secret/shop/mail');
  });

  itInFull('is used by keyboard, on a phone, in both colours, and by who does not see it', async () => {
    const { site, running, address } = await served(STACKS);
    await running.untilDone(await headOf(site), 'shop', 'office');
    await site.repository.commit({ [OFFICE]: 'stackTemplate: wep\n' });
    for (const [colorScheme, options] of [
      ['light', { viewport: PHONE }],
      ['dark', {}],
    ] as const) {
      const { page } = await openPage(browser, address, { colorScheme, ...options });
      for (const path of ['', 'instances/office?open=office-web-1', 'nodes/office-web-1', 'servers?search=shop']) {
        await page.goto(address + path);
        await until(page, /office-web-1|shop-web-1|invalid\s+office/);
        expect({ path, colorScheme, barriers: await findBarriers(page) }).toEqual({ path, colorScheme, barriers: [] });
        expect({ path, isWide: await isWide(page) }).toEqual({ path, isWide: false });
      }
    }
    const { page } = await openPage(browser, address);
    await until(page, /invalid\s+office/);
    const focused = (): Promise<string> => page.evaluate('document.activeElement?.textContent ?? ""');
    for (let presses = 0; presses < 40 && (await focused()) !== 'office'; presses += 1)
      await page.keyboard.press('Tab');
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
    expect(outline).not.toBe('none');
    await page.keyboard.press('Enter');
    await until(page, /^Overview \/ Instances\s+office/);
    await expect.poll(focused).toBe('office');
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('H1');
  });
});

it.skipIf(NO_BROWSER !== undefined || !IS_PICTURED)('the pictures of the documents', async () => {
  const files = yamlFilesIn(join(ROOT, 'sample-repo'));
  const { site, running, address } = await served(files, { createMs: 60 });
  await running.untilDone(await headOf(site), 'shop-staging');
  const staging = String(files['stacks/instances/shop/shop-staging.yaml']);
  const production = String(files['stacks/instances/shop/shop-production.yaml']);
  await site.repository.commit({
    'stacks/instances/shop/shop-staging.yaml': staging.replace('stackTemplate: shop', 'stackTemplate: shoop'),
    'stacks/instances/shop/shop-production.yaml': production.replace(/_count: "\d+"/g, (text) =>
      text.replace(/\d+/, '0'),
    ),
  });
  const folder = join(ROOT, 'docs/images');
  for (const [name, path, options] of [
    ['page-light', '', { colorScheme: 'light' }],
    ['page-dark', 'instances/shop-staging?open=stage-web-1', { colorScheme: 'dark' }],
    ['page-node', 'nodes/prod-web-4', { colorScheme: 'light' }],
  ] as const) {
    const { page } = await openPage(browser, address + path, options);
    await until(page, /invalid\s+shop-staging|log_level/);
    await until(page, '● live', 'header');
    if (name === 'page-node') await page.getByText('log_level', { exact: true }).click();
    const bytes = await page.screenshot({ path: join(folder, `${name}.png`) });
    expect({ name, isSmall: bytes.length < 150_000 }).toEqual({ name, isSmall: true });
  }
});
