// docs/tutorial.md as a newcomer follows it: every block, in order, and what it says is printed. Of the certificates by openssl
// these tests follow what differs. They start the bundle; test/long/tutorial.long.ts follows all of it by npm, as it is written.
import { expect, it } from 'vitest';
import { followTutorial, TUTORIAL_BLOCKS } from './support/followed-tutorial.ts';

const WIDTH = 80;

it('has blocks that fit a terminal', () => {
  expect(TUTORIAL_BLOCKS.length).toBeGreaterThan(15);
  const long = TUTORIAL_BLOCKS.flatMap(({ text }) => text.split('\n').filter((line) => line.length > WIDTH));
  expect(long).toEqual([]);
});

it('makes a command as it is written, for an ordinary user with the Node of the machine', {
  timeout: 60_000,
}, async () => {
  await followTutorial('With Treeline', '1. A folder and a command', 'npm');
  expect.hasAssertions();
});

it('goes on with that command to its end', { timeout: 180_000 }, async () => {
  await followTutorial('With Treeline', '7. A removal', 'quick');
  expect.hasAssertions();
});

it('makes certificates with openssl', { timeout: 120_000 }, async () => {
  await followTutorial('With openssl', 'With openssl', 'quick');
  expect.hasAssertions();
});
