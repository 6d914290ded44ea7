// docs/tutorial.md as a newcomer follows it: every block of one of the two ways to certificates, in order.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cloneFor } from './cloned-product.ts';
import { ROOT } from './command-line.ts';
import { type Block, blocksIn, patternOf } from './document-blocks.ts';
import { newcomer, provideQuickNpm, Terminal } from './terminal.ts';

const WAYS = ['With Treeline', 'With openssl'] as const;

export const TUTORIAL_BLOCKS: readonly Block[] = blocksIn(readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8'));

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

/**
 * Pastes all blocks up to the end of the section `last`, without those of the other way. Each prints what the document says.
 * With `quick`, npm is that of {@link provideQuickNpm}.
 */
export async function followTutorial(way: (typeof WAYS)[number], last: string, npm: 'npm' | 'quick'): Promise<void> {
  const end = TUTORIAL_BLOCKS.findLastIndex(({ headings }) => headings.includes(last));
  const isOther = ({ headings }: Block): boolean => WAYS.some((title) => title !== way && headings.includes(title));
  const chosen = TUTORIAL_BLOCKS.slice(0, end + 1).filter((block) => !isOther(block));
  const person = newcomer();
  if (npm === 'quick') provideQuickNpm(person);
  const [first, second] = [new Terminal(person, cloneFor(person)), new Terminal(person, person.home)];
  expect((await first.paste('command -v node npm')).output).not.toContain('node_modules');
  const ports = { 9443: await freePort(), 9480: await freePort() };
  for (const block of chosen.filter((one) => !isInstalling(one))) {
    const text = Object.entries(ports).reduce((all, [port, free]) => all.replaceAll(port, free), block.text);
    if (/ serve --config /.test(text)) {
      await second.leaveRunning(text, /"msg":"listening"/);
      continue;
    }
    const { code, output } = await first.paste(text);
    // A mistake is reported before anything is committed; nothing else fails.
    expect(code, `line ${block.line}: ${output}`).toBe(/ validate /.test(text) && / error:/.test(output) ? 1 : 0);
    if (block.output !== undefined) expect(output, `line ${block.line}`).toMatch(patternOf(block.output));
  }
}
