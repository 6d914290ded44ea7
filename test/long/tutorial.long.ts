// docs/tutorial.md as it is written, by npm: to its end, and with certificates by openssl until the controller runs on them.
// `npm run test:long`; test/tutorial.test.ts follows it with a quicker start of the program.
import { expect, it } from 'vitest';
import { followTutorial } from '../support/followed-tutorial.ts';

it('works as it is written, for an ordinary user with the Node of the machine', async () => {
  await followTutorial('With Treeline', '7. A removal', 'npm');
  expect.hasAssertions();
});

it('works as it is written with certificates by openssl', async () => {
  await followTutorial('With openssl', '4. Treeline', 'npm');
  expect.hasAssertions();
});
