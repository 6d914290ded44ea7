// The lines that the demo prints, and the blocks of its documents, pasted into a shell while it runs on the whole sample.
// `npm run test:long`; test/cli/demo.test.ts has what needs few servers, and test/readme.test.ts the blocks of the README.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text as childText } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { BUNDLED, plainEnvironment, treeline } from '../support/command-line.ts';
import { DEMO_BLOCKS, followDemo, README_BLOCKS } from '../support/followed-demo.ts';
import { RunningDemo } from '../support/running-demo.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Returns what the lines to paste print, as somebody's shell runs them in the folder in which the demo was started. */
async function paste(text: string, cwd: string): Promise<string> {
  const lines = text
    .slice(text.indexOf('In a second terminal'))
    .split('\n')
    .filter((line) => line.startsWith('  '));
  const npm = `npm() { shift 4; "${process.execPath}" "${BUNDLED}" "$@"; }`;
  const child = spawn('bash', ['-c', [npm, ...lines].join('\n')], {
    ...{ cwd, env: plainEnvironment() },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [printed] = await Promise.all([childText(child.stdout), once(child, 'close')]);
  return printed;
}

it('prints lines that show what a push has brought, a mistake and its correction, and goes on from there', async () => {
  const folder = temporaryDirectory();
  const demo = new RunningDemo(folder);
  const text = await demo.printed();
  expect(text).toContain('Bringing the stacks up:');
  const status = async (): Promise<string> => (await treeline(['status'], { cwd: folder })).stdout;
  const done = /^orders-db: Done\nshop-production: Done\nshop-staging: Done\nservers: \d+ done\ncommit /;
  expect(await status()).toMatch(done);
  // What advice names is a command of that terminal, and a demo that does not answer is told.
  const unheard = `  TREELINE_SERVER=https://localhost:1 ask /tree 2>&1\n`;
  const printed = await paste(`${text}\n  treeline why shop-staging | sed 's/^/advised: /'\n${unheard}`, folder);
  expect(printed).toMatch(/^advised: shop-staging: /m);
  expect(printed).toMatch(/^curl: \(\d+\) .*localhost/m);
  const first = printed.indexOf('shop-staging: Done\n', printed.indexOf('One web server more'));
  const mistake = printed.indexOf('shop-staging: Invalid: stacks/instances/shop/shop-staging.yaml:5:16: ', first);
  const why = printed.indexOf('do: correct stacks/instances/shop/shop-staging.yaml, and push', mistake);
  const last = printed.indexOf('shop-staging: Done\n', why);
  expect([first, mistake, why, last]).toEqual([first, mistake, why, last].toSorted((a, b) => a - b));
  expect(first).toBeGreaterThan(0);
  expect(why).toBeGreaterThan(mistake);
  expect(last).toBeGreaterThan(why);
  expect(printed.slice(first, mistake)).toContain('  web  stage-web-3: done\n');
  // The lines kill a server, and what they show may come before it is made again.
  await expect.poll(status, { timeout: 30_000 }).toMatch(done);
  expect(await demo.end('SIGINT')).toBe(0);
  const again = new RunningDemo(folder);
  expect(await again.printed()).not.toContain('Bringing the stacks up');
  expect(await again.end('SIGINT')).toBe(0);
});

it('docs/demo.md works as it is written, for an ordinary user with the Node of the machine', async () => {
  await followDemo([...README_BLOCKS, ...DEMO_BLOCKS], 'as written');
  expect.hasAssertions();
});
