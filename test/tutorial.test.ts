// docs/tutorial.md as a newcomer follows it: every block, in order, and what it says is printed. The bundle is started.
import { expect, it } from 'vitest';
import { itInFull } from './support/count-runs.ts';
import { followTutorial, TUTORIAL_BLOCKS } from './support/followed-tutorial.ts';

const WIDTH = 80;

it('has blocks that fit a terminal', () => {
  expect(TUTORIAL_BLOCKS.length).toBeGreaterThan(15);
  const long = TUTORIAL_BLOCKS.flatMap(({ text }) => text.split('\n').filter((line) => line.length > WIDTH));
  expect(long).toEqual([]);
});

itInFull(
  'docs/tutorial.md works as it is written, to its end',
  async () => {
    await followTutorial('With Treeline', '7. A removal', 'quick');
    expect.hasAssertions();
  },
  180_000,
);
