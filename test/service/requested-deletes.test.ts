// What an administrator's delete records before its push.
import { expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { wireWrites } from '../../src/compose/core.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { CommitGate } from '../../src/reconcile/commit-gate.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { RowRequests } from '../../src/reconcile/row-requests.ts';
import { rowIn, SMALL } from '../reconcile/build.ts';
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
const APPROVAL = { what: 'requested delete', by: ADMINISTRATOR.serial, reason: 'delete of shop' };

it.each<[what: string, refusal: ServiceError | undefined, isTaken: boolean, during: object[], after: object[]]>([
  ['approves the existing servers before its push', undefined, true, [APPROVAL], [APPROVAL]],
  ['takes its approval back if the push is refused', undefined, false, [APPROVAL], []],
  ['approves nothing if the client lost its rights', new ServiceError('unauthorized', 'revoked'), true, [], []],
])('a requested delete %s', async (_what, refusal, isTaken, during, after) => {
  const [remote, clock] = [new ScriptedRemote(FILES), new ManualClock()];
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  const value = rowIn('done', { instance: 'shop', wanted: SMALL, applied: SMALL });
  await ledger.commit([{ kind: 'server', name: 'web', value, expected: undefined }]);
  const approvals = () => [...ledger.list('approval').values()];
  let now: ServiceError | undefined;
  let pushed: readonly unknown[] = [];
  const prepare = remote.prepare.bind(remote);
  remote.prepare = async (...args) => {
    now = refusal;
    return await prepare(...args);
  };
  remote.steps.push((push) => {
    pushed = approvals();
    return isTaken ? remote.take(push) : { is: 'refused', reason: 'closed' };
  });
  const none = { reconciler: { enqueue: () => undefined }, reviews: { request: () => undefined } };
  const { writer } = wireWrites({
    writes: 'commit',
    source: remote,
    publisher: remote,
    branch: remote,
    ledger,
    clock,
    requests: new RowRequests({ ledger, clock, gate: new CommitGate(), ...none }),
    current: {},
    safety: () => undefined,
    review: () => undefined,
    breathe: withoutPause,
  } as unknown as Parameters<typeof wireWrites>[0]);
  const order = { by: ADMINISTRATOR, refusal: () => now, requestId: 'request-1' };
  await writer.deleteInstance({ ...order, ifMatch: undefined, ifNoneMatch: undefined }, 'shop').catch(() => undefined);
  expect(pushed).toMatchObject(during);
  expect(approvals()).toMatchObject(after);
});
