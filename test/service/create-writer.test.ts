// Tests the writer beside its drafts: approvals of deletes, and the refusal where writes are off.
import { describe, expect, it } from 'vitest';
import type { Role } from '../../src/model/names.ts';
import type { Draft, Preview, WriteOrder, WriteResult } from '../../src/service/write/draft.ts';
import type { BeforePush } from '../../src/service/write/pending-write.ts';
import { createWriter, type Writer } from '../../src/service/write/writer.ts';
import { allowed } from '../support/allowed.ts';
import { ADMINISTRATOR } from './service.ts';

const COMMITTED: WriteResult = { commit: 'c'.repeat(40), branch: null };
const PREVIEW: Preview = { diff: '', servers: [] };
const NOTHING: WriteResult = { commit: null, branch: null };

function orderOf(role: Role = 'administrator'): WriteOrder {
  return { ...allowed({ ...ADMINISTRATOR, role }), requestId: 'r', ifMatch: undefined };
}

/** A writer whose queue answers with `outcome`; `log` tells what happened, in order. */
function open(
  outcome: WriteResult | Error,
  mode: 'commit' | 'propose' = 'commit',
): { readonly writer: Writer; readonly log: string[] } {
  const log: string[] = [];
  async function submit({ subject }: Draft, _order: WriteOrder, beforePush?: BeforePush): Promise<WriteResult> {
    if (outcome instanceof Error) throw outcome;
    if (outcome.commit !== null) await beforePush?.();
    log.push(subject);
    return outcome;
  }
  const writer = createWriter({
    queue: { submit, mode },
    preview: async ({ subject }, _order, { isApproved }) => {
      log.push(`${subject}, tried${isApproved ? ' and approved' : ''}`);
      return PREVIEW;
    },
    approveDeletes: async (instance, { by }) => {
      log.push(`${by.serial} approves ${instance}`);
      return () => Promise.resolve();
    },
    isTerminating: () => false,
    review: () => log.push('review'),
  });
  return { writer, log };
}

/** Both ways to delete an instance. */
const DELETES: readonly (readonly [string, (writer: Writer, order: WriteOrder) => Promise<WriteResult>])[] = [
  ['as an instance', (writer, order) => writer.deleteInstance(order, 'shop')],
  ['as an object of its type', (writer, order) => writer.deleteObject(order, 'stack-instance', 'shop')],
];

describe.each(DELETES)('deleting an instance %s', (_how, remove) => {
  it('whose file is removed approves its held deletes', async () => {
    const { writer, log } = open(NOTHING);
    expect(await remove(writer, orderOf())).toEqual(NOTHING);
    expect(log).toEqual(['Delete stack instance shop', 'A1 approves shop', 'review']);
    const automation = open(NOTHING);
    await remove(automation.writer, orderOf('automation-endpoint'));
    expect(automation.log).toEqual(['Delete stack instance shop']);
  });

  it('as a dry run approves and writes nothing, and names the held deletes', async () => {
    const { writer, log } = open(COMMITTED);
    const order = { ...orderOf(), isDryRun: true };
    expect(await remove(writer, order)).toEqual({ ...NOTHING, preview: PREVIEW });
    await remove(writer, { ...orderOf('automation-endpoint'), isDryRun: true });
    expect(log).toEqual(['Delete stack instance shop, tried and approved', 'Delete stack instance shop, tried']);
    const proposing = open(COMMITTED, 'propose');
    await remove(proposing.writer, order);
    expect(proposing.log).toEqual(['Delete stack instance shop, tried']);
  });
});

describe('a writer without a queue', () => {
  const approved: string[] = [];
  const writer = createWriter({
    queue: undefined,
    preview: async () => PREVIEW,
    approveDeletes: async (instance) => {
      approved.push(instance);
      return () => Promise.resolve();
    },
    isTerminating: () => false,
    review: () => undefined,
  });
  const body = { name: 'shop', stackTemplate: 'web' };

  it.each<[string, () => Promise<WriteResult>]>([
    ['putInstance', () => writer.putInstance(orderOf(), 'shop', body, true)],
    ['deleteInstance', () => writer.deleteInstance(orderOf(), 'shop')],
  ])('refuses %s, and approves nothing', async (_name, write) => {
    await expect(write()).rejects.toMatchObject({
      code: 'not_allowed',
      message: 'This controller takes no writes (repository.writes is off): commit the change with git instead',
    });
    expect(approved).toEqual([]);
  });
});

describe('drafts of commits', () => {
  it.each<[string, (writer: Writer) => Promise<WriteResult>]>([
    ['Set stack instance shop', (writer) => writer.putInstance(orderOf(), 'shop', {}, false)],
    [
      'Set stack instance shop',
      (writer) => writer.createInstance(orderOf(), { name: 'shop', stackTemplate: 'web' }, false),
    ],
    ['Set stack instance shop', (writer) => writer.putObject(orderOf(), 'stack-instance', { name: 'shop' }, true)],
    ['Set stack-template web', (writer) => writer.putObject(orderOf(), 'stack-template', { name: 'web' }, false)],
    ['Set zone z1', (writer) => writer.putObject(orderOf(), 'zone', { name: 'z1' }, false)],
    ['Delete zone z1', (writer) => writer.deleteObject(orderOf(), 'zone', 'z1')],
    ['Register client B2', (writer) => writer.putClient(orderOf(), { serial: '0xb2' })],
    ['Remove client B2', (writer) => writer.deleteClient(orderOf(), 'b2')],
    ['Set the tree', (writer) => writer.putTree(orderOf(), {})],
  ])('have a subject that names the change: %s', async (subject, write) => {
    const { writer, log } = open(COMMITTED);
    await write(writer);
    expect(log).toEqual([subject]);
  });

  it('are made for every kind of object', async () => {
    const { writer, log } = open(COMMITTED);
    const asked = writer.deleteObject(orderOf(), 'all', 'x');
    await expect(asked).rejects.toMatchObject({ code: 'not_found' });
    expect(log).toEqual([]);
  });
});
