// docs/tutorial.md with certificates by openssl, until the controller runs on them. `npm run test:long`; test/tutorial.test.ts follows
// the rest.
import { expect, it } from 'vitest';
import { followTutorial } from '../support/followed-tutorial.ts';

it('works as it is written with certificates by openssl', async () => {
  await followTutorial('With openssl', '4. Treeline');
  expect.hasAssertions();
});
