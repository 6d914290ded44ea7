// A whole controller as those see it who have to notice that something is wrong: the command line, the interface, the metrics with the
// alerts of contrib/prometheus in a real Prometheus, a subscriber of notifications, and the page in a real browser. FAULT_PICTURES=FOLDER
// writes a picture of the page for each cause.
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { productPath } from '../../src/base/product-files.ts';
import type { Settings } from '../../src/model/settings.ts';
import type { AttentionItem, Overview } from '../../src/service/answers.ts';
import { NO_BROWSER, openPage, startBrowser } from './browser.ts';
import { type ProcessResult, treeline } from './command-line.ts';
import { startFakeSubscriber } from './fake-subscriber.ts';
import { HAS_PROMETHEUS, startPrometheus } from './prometheus.ts';
import { type RunningController, runController } from './running-controller.ts';
import { commandLineOptions } from './server-options.ts';
import type { Site } from './site-on-disk.ts';

/** Some causes are known after minutes alone. */
const NIGHT = { timeout: 480_000, interval: 500 };

export interface WatchedController {
  readonly running: RunningController;
  /** Runs a command line that begins with `treeline`, as an administrator. */
  type(line: string): Promise<ProcessResult>;
  /** Resolves once a cause is told everywhere, with this alert: within so many seconds, else it rejects. */
  seen(id: string, alert: string, secondsMax?: number): Promise<AttentionItem>;
  /** Resolves once its end is told everywhere. */
  ended(id: string, alert: string): Promise<void>;
  /** Types and subjects of the notifications that begin or end something, in order. */
  told(): readonly string[];
}

/** Opens the page of a controller, as it stands open all night. Undefined without a browser on this machine. */
async function watchPage(port: number): Promise<Page | undefined> {
  if (NO_BROWSER !== undefined) return undefined;
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  return (await openPage(browser, `http://localhost:${port}/ui/`)).page;
}

async function takePicture(page: Page, id: string): Promise<void> {
  const folder = process.env.FAULT_PICTURES;
  if (folder === undefined) return;
  await page.screenshot({ path: join(folder, `${id.replaceAll(/[^a-z]+/gi, '-')}.png`) });
}

/** Starts it on a site. Without a Prometheus or a browser on this machine, alerts or the page are not looked at. */
export async function watchController(
  site: Site,
  change: (settings: Settings) => Settings = (settings) => settings,
): Promise<WatchedController> {
  const subscriber = await startFakeSubscriber();
  const running = await runController(site, (settings) => {
    const management = { ...settings.management, dashboard: true };
    return change({ ...settings, management, notifications: [subscriber.target] });
  });
  const { port } = running.controller.management;
  const rules = productPath('contrib/prometheus/treeline.rules.yml');
  const prometheus = HAS_PROMETHEUS ? await startPrometheus(`127.0.0.1:${port}`, rules) : undefined;
  const page = await watchPage(port);

  const type = (line: string): Promise<ProcessResult> =>
    treeline([...line.split(' ').slice(1), ...commandLineOptions(site, running)]);
  const items = async (): Promise<readonly AttentionItem[]> =>
    ((await running.get('/operations/status')).body as Overview).attention;
  const told = (): readonly string[] =>
    subscriber.received
      .map(({ event }) => `${event.type} ${event.subject}`)
      .filter((text) => /\.(firing|resolved) /.test(text));

  /** What is said of the cause, also once it is over. */
  let reason = 'no cause yet';
  /** By who tells it: whether a cause is told there now. */
  const tellers = (id: string, alert: string): Readonly<Record<string, () => Promise<boolean>>> => ({
    status: async () => {
      const { stdout } = await type('treeline status');
      return stdout.startsWith('needs a person:\n') && stdout.includes(`\n  ${id}`);
    },
    'the interface': async () => (await items()).some((item) => item.id === id && item.acknowledged === null),
    metrics: async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const kind = id.slice(0, id.indexOf(':'));
      return new RegExp(`^treeline_attention\\{kind="${kind}",acknowledged="false"\\} [1-9]`, 'm').test(text);
    },
    notifications: async () =>
      told()
        .findLast((text) => text.endsWith(` ${id}`))
        ?.includes('.firing ') === true,
    ...(page && {
      'the page': async () => {
        reason = (await items()).find((item) => item.id === id)?.reason ?? reason;
        const shown = await page.locator('.items:not(.known) .item').allInnerTexts();
        return shown.some((text) => text.includes(reason));
      },
    }),
    ...(prometheus && {
      alerts: async () => {
        const { alerts } = (await prometheus.ask('alerts')) as Alerts;
        return alerts.some(({ state, labels }) => state === 'firing' && labels.alertname === alert);
      },
    }),
  });

  const all = async (
    [id, alert]: readonly [string, string],
    isTold: boolean,
    timeout = NIGHT.timeout,
  ): Promise<void> => {
    const looks = Object.entries(tellers(id, alert)).map(([name, look]) =>
      expect.poll(look, { ...NIGHT, timeout, message: `${id}: ${name}` }).toBe(isTold),
    );
    await Promise.all(looks);
  };

  return {
    ...{ running, type, told },
    async seen(id, alert, secondsMax = 20) {
      await all([id, alert], true, secondsMax * 1000);
      if (page !== undefined) await takePicture(page, id);
      return (await items()).find((item) => item.id === id) as AttentionItem;
    },
    ended: (id, alert) => all([id, alert], false),
  };
}

interface Alerts {
  readonly alerts: readonly { readonly state: string; readonly labels: { readonly alertname: string } }[];
}
