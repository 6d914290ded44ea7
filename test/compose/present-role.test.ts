// How a replica changes between standing by and leading, with roles that only note what is done with them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { CLIENT_CERTIFICATE, presentForwarded } from '../../src/api/peer.ts';
import { createLog } from '../../src/base/log.ts';
import { PresentRole, type ServingRole, type Standby } from '../../src/compose/present-role.ts';

/** Returns a role whose leader can be built unless `failures` says otherwise, and what happens. */
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
  class Noted extends PresentRole {
    override show(role: ServingRole): void {
      super.show(role);
      steps.push(role === leader ? 'show leader' : 'show standby');
    }
  }
  const present = new Noted();
  const lease = { resign: note('resign'), release: note('release') };
  present.standBy({ standby, lead, lease, log: createLog('silent') });
  return { present, steps };
}

const BEGIN = ['stand by', 'show standby'];
const TAKE = ['end standing by', 'show leader'];

it('a replica that cannot lead returns the lease and leads when it gets it again', async () => {
  const { present, steps } = succeed(1);
  present.take();
  await present.settled();
  expect(steps).toEqual([...BEGIN, 'end standing by', 'stand by', 'resign']);
  present.take();
  await present.settled();
  expect(steps.slice(5)).toEqual(TAKE);
});

it('a forwarded request waits while the leader is being built', async () => {
  const answered: string[] = [];
  const role = (name: string, stop: () => Promise<void>) =>
    ({ stop, start: () => undefined, handler: () => answered.push(name) }) as unknown as Standby;
  const { promise: isBuilt, resolve: build } = Promise.withResolvers<void>();
  const present = new PresentRole();
  const lead = async (): Promise<ServingRole> => {
    await isBuilt;
    return role('leader', async () => undefined);
  };
  const lease = { resign: async () => undefined, release: async () => undefined };
  present.standBy({ standby: role('standby', async () => undefined), lead, lease, log: createLog('silent') });
  const own = { headers: {}, socket: {} } as IncomingMessage;
  const forwarded = { headers: { [CLIENT_CERTIFICATE]: '' }, socket: {} } as unknown as IncomingMessage;
  presentForwarded(forwarded);
  present.take();
  await Promise.resolve();
  for (const request of [forwarded, own]) present.handler(request, {} as ServerResponse<IncomingMessage>);
  expect(answered).toEqual(['standby']);
  build();
  await expect.poll(() => answered).toEqual(['standby', 'leader']);
});

it('a stopping leader returns the lease before its standby ends', async () => {
  const { present, steps } = succeed();
  present.take();
  await present.settled();
  await present.stop();
  expect(steps).toEqual([...BEGIN, ...TAKE, 'end leading', 'release', 'end standing by']);
});
