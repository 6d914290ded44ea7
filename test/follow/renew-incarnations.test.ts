import { describe, expect, it } from 'vitest';
import { renewIncarnations } from '../../src/follow/renew-incarnations.ts';
import { deletesDigest } from '../../src/machine/hold-digests.ts';
import type { ApprovalRow, Change, HeldRow, ServerRow } from '../../src/model/rows.ts';
import { rowIn } from '../reconcile/build.ts';
import { MemoryStore } from '../support/memory-store.ts';

const NOW = 1_000_000;
const APPROVAL: ApprovalRow = { what: 'deletes', by: null, reason: 'agreed', time: '2026-11-20T10:13:56.000Z' };

/** A server that is built for the time that the number says. */
function building(incarnation: number): ServerRow {
  return { ...rowIn('done'), incarnation };
}

function heldOver(servers: Readonly<Record<string, number>>): HeldRow {
  const digest = deletesDigest(Object.entries(servers).map(([server, incarnation]) => ({ server, incarnation })));
  return { digest, servers: Object.keys(servers), reason: 'too many', since: '2026-11-20T10:13:56.000Z' };
}

async function renewed(changes: readonly Change[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.commit(changes);
  await store.commit(renewIncarnations(store, NOW));
  return store;
}

describe('every server', () => {
  it('is another building than any that came before', async () => {
    const store = await renewed([
      { kind: 'server', name: 'old', value: building(7), expected: undefined },
      { kind: 'server', name: 'ahead', value: building(NOW + 7), expected: undefined },
    ]);
    expect(Object.fromEntries(store.list('server'))).toEqual({ old: building(NOW), ahead: building(NOW + 8) });
  });

  it('of none is none', async () => {
    expect(renewIncarnations(new MemoryStore(), NOW)).toEqual([]);
  });
});

it('a delete that has begun is that of the new number, and one that is over stays as it is', async () => {
  const time = '2026-11-20T10:13:56.000Z';
  const store = await renewed([
    { kind: 'server', name: 'a', value: building(7), expected: undefined },
    { kind: 'removal', name: 'a/7', value: { time }, expected: undefined },
    { kind: 'removal', name: 'a/6', value: { time }, expected: undefined },
  ]);
  expect(Object.fromEntries(store.list('removal'))).toEqual({ 'a/6': { time }, [`a/${NOW}`]: { time } });
});

describe('what is held', () => {
  const servers: readonly Change[] = [
    { kind: 'server', name: 'a', value: building(1), expected: undefined },
    { kind: 'server', name: 'b', value: building(2), expected: undefined },
  ];

  it('stays so, and so does its approval', async () => {
    const held = heldOver({ a: 1, b: 2 });
    const store = await renewed([
      ...servers,
      { kind: 'held', name: 'shop', value: held, expected: undefined },
      { kind: 'approval', name: held.digest, value: APPROVAL, expected: undefined },
      { kind: 'approval', name: 'history-aaa', value: { ...APPROVAL, what: 'history' }, expected: undefined },
    ]);
    const { digest } = heldOver({ a: NOW, b: NOW });
    expect(store.read('held', 'shop')).toEqual({ ...held, digest });
    expect([...store.list('approval').keys()].sort()).toEqual([digest, 'history-aaa'].sort());
    expect(store.read('approval', digest)).toEqual(APPROVAL);
  });

  it('keeps its digest where that was over other buildings already', async () => {
    const held = heldOver({ a: 1, b: 1 });
    const store = await renewed([...servers, { kind: 'held', name: 'shop', value: held, expected: undefined }]);
    expect(store.read('held', 'shop')).toEqual(held);
  });
});
