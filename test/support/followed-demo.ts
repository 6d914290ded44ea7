// The blocks of README.md and of the demo in docs/tutorial.md, and how a newcomer follows them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cloneFor } from './cloned-product.ts';
import { ROOT } from './command-line.ts';
import { type Block, blocksIn, patternOf } from './document-blocks.ts';
import { leaveFewServers } from './running-demo.ts';
import { newcomer, provideQuickNpm, Terminal } from './terminal.ts';

const SECTIONS = ['Quick start'];
/** The demo takes another port where this one is taken, and prints which. */
const ADDRESS = 'https://localhost:8443';

export const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
export const README_BLOCKS: readonly Block[] = blocksIn(README).filter(({ headings }) =>
  SECTIONS.some((title) => headings.includes(title)),
);
/** They go on from those of the README. */
export const DEMO_BLOCKS: readonly Block[] = blocksIn(readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8')).filter(
  ({ headings }) => headings.includes('The demo'),
);

/**
 * Pastes blocks, of which the first two are how to start and how to test. Each has to print what its document says. With `quick`
 * the sample has few servers, and once the demo runs, npm is that of {@link provideQuickNpm}.
 */
export async function followDemo(blocks: readonly Block[], way: 'as written' | 'quick'): Promise<void> {
  const person = newcomer();
  const clone = cloneFor(person, (folder) => {
    if (way === 'quick') leaveFewServers(join(folder, 'sample-repo'), ['worker', 'balancer']);
  });
  const [first, second] = [new Terminal(person, clone), new Terminal(person, clone)];
  expect((await second.paste('command -v node npm')).output).not.toContain('node_modules');
  expect((await second.paste('id -u; pwd')).output).toBe(`${person.uid ?? process.getuid?.()}\n${clone}\n`);
  expect(clone).toContain(' ');
  const [start, test, ...others] = blocks;
  expect([start?.text, test?.text]).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  // The packages are linked by the test instead of installed, and these are the tests.
  const printed = await first.leaveRunning('npm start', /To start over/);
  const address = /https:\/\/localhost:\d+/.exec(printed)?.[0] ?? ADDRESS;
  expect(printed).toContain('Treeline is running.\n');
  if (way === 'quick') provideQuickNpm(person);
  expect(others.length).toBeGreaterThanOrEqual(2);
  for (const { text, line, output: wanted } of others) {
    const { code, output } = await second.paste(text.replaceAll(ADDRESS, address));
    // A mistake is reported before anything is committed; nothing else fails.
    expect(code, `line ${line}: ${output}`).toBe(/ validate /.test(text) && / error:/.test(output) ? 1 : 0);
    if (wanted !== undefined) expect(output, `line ${line}`).toMatch(patternOf(wanted));
  }
}
