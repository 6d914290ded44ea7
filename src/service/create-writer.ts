// Implements writer.ts: it turns writes into commits. drafts.ts defines what each write changes in the files,
// write-queue.ts publishes it.
import type { Json, JsonMap } from '../model/json.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Caller } from './caller.ts';
import type { Draft } from './write/draft.ts';
import {
  deleteClientDraft,
  deleteInstanceDraft,
  deleteObjectDraft,
  putClientDraft,
  putInstanceDraft,
  putObjectDraft,
  putTreeDraft,
  writableType,
} from './write/drafts.ts';
import type { TakeBack } from './write/pending-write.ts';
import type { PreviewWrite } from './write/preview.ts';
import type { WriteOrder, WriteResult, Writer } from './writer.ts';

/** The queue that publishes drafts; see write-queue.ts. */
interface Queue {
  readonly mode: 'commit' | 'propose';
  submit(draft: Draft, order: WriteOrder, beforePush?: () => Promise<TakeBack>): Promise<WriteResult>;
}

interface WriterOptions {
  /** Undefined where the settings allow no writes. */
  readonly queue: Queue | undefined;
  /** Says what a draft would do. */
  readonly preview: PreviewWrite;
  /** Notes that an administrator wants the servers of an instance deleted; before anything is pushed. Resolves with what takes it back. */
  readonly approveDeletes: (instance: string, by: Caller) => Promise<TakeBack>;
  /** Tells whether the servers of an instance are being deleted, so that no commit has its file any more. */
  readonly isTerminating: (instance: string) => boolean;
  /** Has what is held judged again. */
  readonly review: () => void;
}

/** Returns the writer. */
export function createWriter({ queue, preview, approveDeletes, isTerminating, review }: WriterOptions): Writer {
  async function submit(draft: Draft, order: WriteOrder, beforePush?: () => Promise<TakeBack>): Promise<WriteResult> {
    if (queue !== undefined) {
      if (order.isDryRun !== true) return queue.submit(draft, order, beforePush);
      const isApproved = beforePush !== undefined && queue.mode === 'commit';
      return { commit: null, branch: null, preview: await preview(draft, order, { isApproved }) };
    }
    const message = 'This controller takes no writes (repository.writes is off): commit the change with git instead';
    throw new ServiceError('not_allowed', message);
  }

  async function deleteInstance(order: WriteOrder, name: string): Promise<WriteResult> {
    const draft = deleteInstanceDraft(name, () => isTerminating(name));
    // An automation's delete counts like a commit's; an administrator's word is an approval.
    if (order.by.role !== 'administrator') return submit(draft, order);
    const approve = (): Promise<TakeBack> => approveDeletes(name, order);
    const written = await submit(draft, order, approve);
    if (written.commit === null && written.preview === undefined) {
      // An earlier commit took the file away: what that one is held for may go now, and no new one has it judged again.
      await approve();
      review();
    }
    return written;
  }

  return {
    putInstance: async (order, name, body, force) => submit(putInstanceDraft(name, body, { force }), order),
    async createInstance(order, body, force) {
      const name = nameIn(body);
      requireTemplate(body);
      return submit(putInstanceDraft(name, body, { force }), order);
    },
    deleteInstance,
    async putObject(order, type, body, force) {
      if (type === 'stack-instance') return submit(putInstanceDraft(nameIn(body), body, { force }), order);
      return submit(putObjectDraft(writableType(type), body), order);
    },
    async deleteObject(order, type, name) {
      if (type === 'stack-instance') return deleteInstance(order, name);
      return submit(deleteObjectDraft(writableType(type), name), order);
    },
    putClient: async (order, body) => submit(putClientDraft(body, order.by), order),
    deleteClient: async (order, serial) => submit(deleteClientDraft(serial, order.by), order),
    putTree: async (order, body: Json) => submit(putTreeDraft(body), order),
  };
}

/** Throws where the body is no instance: the client may have meant to write a template. */
function requireTemplate(body: JsonMap): void {
  if (Object.hasOwn(body, 'stackTemplate')) return;
  const message =
    'the body lacks "stackTemplate", the template to make an instance of; to write a template, POST /types/stack-template/';
  throw new ServiceError('invalid_input', message, [{ pointer: '/stackTemplate', message: 'is missing' }]);
}

function nameIn(body: JsonMap): string {
  const name = Object.hasOwn(body, 'name') ? body.name : undefined;
  if (typeof name === 'string') return name;
  throw new ServiceError('invalid_input', 'name: is missing', [{ pointer: '/name', message: 'is missing' }]);
}
