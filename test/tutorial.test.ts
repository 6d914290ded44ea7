// docs/tutorial.md as a newcomer follows it: every block of the way with Treeline's own certificates, in order, and what it says is
// printed. The bundle is started.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './support/command-line.ts';
import { itInFull } from './support/count-runs.ts';
import { type Block, blocksIn } from './support/document-blocks.ts';
import { freePort } from './support/free-port.ts';
import { cloneFor, newcomer, provideQuickNpm, Terminal } from './support/terminal.ts';

const WIDTH = 80;
const OTHER_WAY = 'With openssl';
const LAST = '7. A removal';
const BLOCKS = blocksIn(readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8'));

it('docs/tutorial.md has blocks that fit a terminal', () => {
  expect(BLOCKS.length).toBeGreaterThan(15);
  const long = BLOCKS.flatMap(({ text }) => text.split('\n').filter((line) => line.length > WIDTH));
  expect(long).toEqual([]);
});

itInFull(
  'docs/tutorial.md works as written, to its end',
  async () => {
    const end = BLOCKS.findLastIndex(({ headings }) => headings.includes(LAST));
    // The installed packages are linked by the test.
    const isLeftOut = ({ headings, text }: Block): boolean => headings.includes(OTHER_WAY) || text === 'npm ci';
    const home = newcomer();
    provideQuickNpm(home);
    const [first, second] = [new Terminal(home, cloneFor(home)), new Terminal(home, home)];
    expect((await first.paste('command -v node npm')).output).not.toContain('node_modules');
    const ports = { 9443: await freePort(), 9480: await freePort() };
    for (const block of BLOCKS.slice(0, end + 1).filter((one) => !isLeftOut(one))) {
      const text = Object.entries(ports).reduce((all, [port, free]) => all.replaceAll(port, `${free}`), block.text);
      if (/ serve --config /.test(text)) await second.leaveRunning(text, /"msg":"listening"/);
      else await first.pasteBlock({ ...block, text });
    }
  },
  180_000,
);
