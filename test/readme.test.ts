// README.md as a newcomer follows it: every block of "Try it" and of "Five minutes with the demo", in order.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cloneFor } from './support/cloned-product.ts';
import { ROOT } from './support/command-line.ts';
import { blocksIn, patternOf } from './support/document-blocks.ts';
import { newcomer, Terminal } from './support/terminal.ts';

const SECTIONS = ['Try it', 'Five minutes with the demo'];
const WIDTH = 80;
/** The demo takes another port where this one is taken, and prints which. */
const ADDRESS = 'https://localhost:8443';

const blocks = blocksIn(readFileSync(join(ROOT, 'README.md'), 'utf8')).filter(({ headings }) =>
  SECTIONS.some((title) => headings.includes(title)),
);

it('has blocks that fit a terminal', () => {
  const long = blocks.flatMap(({ text }) => text.split('\n').filter((line) => line.length > WIDTH));
  expect(long).toEqual([]);
});

it('works as it is written, for an ordinary user with the Node of the machine', { timeout: 180_000 }, async () => {
  const person = newcomer();
  const clone = cloneFor(person);
  const [first, second] = [new Terminal(person, clone), new Terminal(person, clone)];
  expect((await second.paste('command -v node npm')).output).not.toContain('node_modules');
  expect((await second.paste('id -u; pwd')).output).toBe(`${person.uid ?? process.getuid?.()}\n${clone}\n`);
  expect(clone).toContain(' ');
  const [start, test, ...others] = blocks;
  expect([start?.text, test?.text]).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  // The packages are linked by the test instead of installed, and these are the tests.
  const printed = await first.leaveRunning('npm start', /To begin anew/);
  const address = /https:\/\/localhost:\d+/.exec(printed)?.[0] ?? ADDRESS;
  expect(printed).toContain('Treeline is running.\n');
  expect(others.length).toBeGreaterThan(5);
  for (const { text, line, output: wanted } of others) {
    const { code, output } = await second.paste(text.replaceAll(ADDRESS, address));
    // A mistake is reported before anything is committed; nothing else fails.
    expect(code, `line ${line}: ${output}`).toBe(/ validate /.test(text) && / error:/.test(output) ? 1 : 0);
    if (wanted !== undefined) expect(output, `line ${line}`).toMatch(patternOf(wanted));
  }
});
