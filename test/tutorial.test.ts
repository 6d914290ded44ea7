// docs/tutorial.md as a newcomer follows it: every block, in order, in both ways to certificates, and what it says is printed.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cloneFor } from './support/cloned-product.ts';
import { ROOT } from './support/command-line.ts';
import { type Block, blocksIn, patternOf } from './support/document-blocks.ts';
import { newcomer, Terminal } from './support/terminal.ts';

/** The two ways to certificates, and where following the document ends: what comes then is the same. */
const WAYS = [
  { way: 'With Treeline', last: '7. A removal' },
  { way: 'With openssl', last: '4. Treeline' },
];
const TITLES = WAYS.map(({ way }) => way);
const WIDTH = 80;

const blocks = blocksIn(readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8'));

/** The installed packages are linked by the test. */
function isInstalling({ text }: Block): boolean {
  return text === 'npm ci';
}

async function freePort(): Promise<string> {
  const probe = createServer();
  const { promise, resolve } = Promise.withResolvers<void>();
  probe.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = probe.address();
  await new Promise((closed) => probe.close(closed));
  return String(typeof address === 'object' ? address?.port : 0);
}

it('has blocks that fit a terminal', () => {
  expect(blocks.length).toBeGreaterThan(15);
  const long = blocks.flatMap(({ text }) => text.split('\n').filter((line) => line.length > WIDTH));
  expect(long).toEqual([]);
});

describe.each(WAYS)('the tutorial, $way', ({ way, last }) => {
  const end = blocks.findLastIndex(({ headings }) => headings.includes(last));
  const isOther = ({ headings }: Block): boolean => TITLES.some((title) => title !== way && headings.includes(title));
  const chosen = blocks.slice(0, end + 1).filter((block) => !isOther(block));

  it('works as it is written, for an ordinary user with the Node of the machine', { timeout: 180_000 }, async () => {
    const person = newcomer();
    const [first, second] = [new Terminal(person, cloneFor(person)), new Terminal(person, person.home)];
    expect((await first.paste('command -v node npm')).output).not.toContain('node_modules');
    const ports = { 9443: await freePort(), 9480: await freePort() };
    for (const block of chosen.filter((one) => !isInstalling(one))) {
      const text = Object.entries(ports).reduce((all, [port, free]) => all.replaceAll(port, free), block.text);
      if (/ serve /.test(text)) {
        await second.leaveRunning(text, /"msg":"listening"/);
        continue;
      }
      const { code, output } = await first.paste(text);
      // A mistake is reported before anything is committed; nothing else fails.
      expect(code, `line ${block.line}: ${output}`).toBe(/ validate /.test(text) && / error:/.test(output) ? 1 : 0);
      if (block.output !== undefined) expect(output, `line ${block.line}`).toMatch(patternOf(block.output));
    }
  });
});
