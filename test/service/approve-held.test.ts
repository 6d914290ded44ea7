// What an administrator's delete approves besides.
import { expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { wireWrites } from '../../src/compose/wire-writes.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { ScriptedRemote } from '../support/scripted-remote.ts';
import { ADMINISTRATOR } from './service.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/web.yaml': 'resources: { web: { type: "Platform::Server", properties: {} } }\n',
  'stacks/instances/shop.yaml': 'stackTemplate: web\n',
  'stacks/instances/blog.yaml': 'stackTemplate: web\n',
};
const HELD = { digest: 'd1', servers: ['web'], reason: 'too many', since: '2026-11-20T10:13:56.000Z', commit: 'c1' };

it.each<[who: string, refusal: ServiceError | undefined, approved: string | undefined]>([
  ['approves what is held of the instance', undefined, 'd1'],
  ['approves nothing if the client may not any more', new ServiceError('unauthorized', 'revoked'), undefined],
])('a delete %s', async (_who, refusal, approved) => {
  const remote = new ScriptedRemote(FILES);
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  await ledger.commit([{ kind: 'held', name: 'shop', value: HELD, expected: undefined }]);
  let now: ServiceError | undefined;
  const asked: unknown[] = [];
  const requests = {
    async approve(find: () => { readonly digest: string } | undefined): Promise<void> {
      now = refusal;
      asked.push(find()?.digest);
    },
  };
  const { writer } = wireWrites({
    ...{ writes: 'commit', source: remote, publisher: remote, follower: remote, ledger, requests },
    ...{ current: {}, safety: () => undefined, clock: new ManualClock(), breathe: withoutPause },
  } as unknown as Parameters<typeof wireWrites>[0]);
  const order = { by: ADMINISTRATOR, refusal: () => now, requestId: 'request-1' };
  await writer.deleteInstance({ ...order, ifMatch: undefined, ifNoneMatch: undefined }, 'shop');
  expect(asked).toEqual([approved]);
});
