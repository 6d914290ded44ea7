// How a replica changes between standing by and leading, with roles that only note what is done with them.
import { expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { ServingRole } from '../../src/compose/present-role.ts';
import type { Standby } from '../../src/compose/standby.ts';
import { Succession } from '../../src/compose/succession.ts';

/** Returns a succession whose leader can be built unless `failures` says otherwise, and what happens. */
function succeed(failures = 0) {
  const steps: string[] = [];
  const note = (step: string) => async (): Promise<void> => void steps.push(step);
  const standby = { start: note('stand by'), stop: note('end standing by') } as unknown as Standby;
  const leader = { stop: note('end leading') } as unknown as ServingRole;
  let tries = 0;
  const lead = async (): Promise<ServingRole> => {
    tries += 1;
    if (tries <= failures) throw new Error('git fetch failed');
    return leader;
  };
  const present = { show: (role: ServingRole) => void steps.push(role === leader ? 'show leader' : 'show standby') };
  const lease = { resign: note('resign'), release: note('release') };
  const succession = new Succession({ present, standby, lead, lease, log: createLog('silent') });
  return { succession, steps };
}

const BEGIN = ['stand by', 'show standby'];
const TAKE = ['end standing by', 'show leader'];

it('a replica that cannot lead gives the lease back, stands by, and leads when it takes the lease again', async () => {
  const { succession, steps } = succeed(1);
  succession.take();
  await succession.settled();
  expect(steps).toEqual([...BEGIN, 'end standing by', 'stand by', 'resign']);
  succession.take();
  await succession.settled();
  expect(steps.slice(5)).toEqual(TAKE);
});

it('a leader that stops hands over the lease as soon as it does not lead, and before anything else', async () => {
  const { succession, steps } = succeed();
  succession.take();
  await succession.settled();
  await succession.stop();
  expect(steps).toEqual([...BEGIN, ...TAKE, 'end leading', 'release', 'end standing by']);
});
