// The writes of the API. Every write becomes a commit; see docs/rest.md, writes. drafts.ts defines the file changes of
// each write, write-queue.ts publishes them.
import type { JsonMap } from '../../model/json.ts';
import type { Client } from '../../model/objects.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Caller } from '../caller.ts';
import type { PresentRows } from '../views.ts';
import type { Draft, WriteOrder, WriteResult } from './draft.ts';
import {
  deleteClientDraft,
  deleteInstanceDraft,
  deleteObjectDraft,
  putClientDraft,
  putInstanceDraft,
  putObjectDraft,
  putTreeDraft,
  requiredText,
  writableType,
} from './drafts.ts';
import type { BeforePush, TakeBack } from './pending-write.ts';
import type { PreviewWrite } from './preview.ts';
import type { WriteQueue } from './write-queue.ts';

interface WriterOptions {
  /** Undefined if the settings allow no writes. */
  readonly queue: Pick<WriteQueue, 'mode' | 'submit'> | undefined;
  /** Returns the effects of a draft. */
  readonly preview: PreviewWrite;
  /**
   * Records an administrator's approval to delete the servers of an instance, before the push. Resolves with a function
   * that revokes it.
   */
  readonly approveDeletes: (instance: string, by: Caller) => Promise<TakeBack>;
  /** Returns whether the servers of an instance are being deleted after its file was removed. */
  readonly isTerminating: (instance: string) => boolean;
  /** The rows, also of servers that are no longer in the desired state. */
  readonly recorded?: PresentRows;
  /** Judges the held changes again. */
  readonly review: () => void;
}

/**
 * Every method resolves when the change is on the remote and this server answers from it or a later commit. All throw
 * ServiceError: `invalid_input` and `breaks_others` with details like those for a committer, `conflict`, `not_found`,
 * `precondition_failed`, `not_ready` while the repository cannot be reached, and `outcome_unknown`.
 */
export type Writer = ReturnType<typeof createWriter>;

const WRITES_OFF = 'This controller takes no writes (repository.writes is off): commit the change with git instead';

/** Returns the writer. */
export function createWriter({ queue, preview, approveDeletes, isTerminating, recorded, review }: WriterOptions) {
  async function submit(draft: Draft, by: WriteOrder, beforePush?: BeforePush): Promise<WriteResult> {
    const order = { ...by, recorded };
    order.submits?.(draft.address);
    if (queue === undefined) throw new ServiceError('not_allowed', WRITES_OFF);
    if (order.isDryRun !== true) return await queue.submit(draft, order, beforePush);
    const isApproved = beforePush !== undefined && queue.mode === 'commit';
    return { commit: null, branch: null, preview: await preview(draft, order, { isApproved }) };
  }

  /** Creates an instance, or replaces it with `force`. Restoring a deleted instance needs no `force`. */
  async function putInstance(order: WriteOrder, name: string, body: JsonMap, force: boolean): Promise<WriteResult> {
    return submit(putInstanceDraft(name, ofTenant(order.by, body), { force }), order);
  }

  async function deleteInstance(order: WriteOrder, name: string): Promise<WriteResult> {
    const draft = deleteInstanceDraft(name, () => isTerminating(name));
    // Only an administrator's request approves the deletes. For others, the delete budget applies as for any commit.
    if (order.by.role !== 'administrator') return await submit(draft, order);
    const approve: BeforePush = () => approveDeletes(name, order);
    const written = await submit(draft, order, approve);
    if (written.commit === null && written.preview === undefined) {
      // An earlier commit removed the file, so no new commit triggers the review of its held deletes.
      await approve();
      review();
    }
    return written;
  }

  return {
    putInstance,
    /** Like `putInstance`, with the name in the body. */
    async createInstance(order: WriteOrder, body: JsonMap, force: boolean): Promise<WriteResult> {
      const name = requiredText(body, 'name');
      requireTemplate(body);
      return putInstance(order, name, body, force);
    },
    deleteInstance,
    /** Creates or replaces an object of a type. Replacing an instance needs `force`. */
    async putObject(order: WriteOrder, type: string, body: JsonMap, force: boolean): Promise<WriteResult> {
      if (type === 'stack-instance') return putInstance(order, requiredText(body, 'name'), body, force);
      const fields = type === 'stack-template' ? body : ofTenant(order.by, body);
      return submit(putObjectDraft(writableType(type), fields), order);
    },
    async deleteObject(order: WriteOrder, type: string, name: string): Promise<WriteResult> {
      if (type === 'stack-instance') return deleteInstance(order, name);
      return submit(deleteObjectDraft(writableType(type), name), order);
    },
    /** Registers a client, or changes the given fields of one. */
    async putClient(order: WriteOrder, body: JsonMap): Promise<WriteResult> {
      return submit(putClientDraft(ofTenant(order.by, body), order.by), order);
    },
    async deleteClient(order: WriteOrder, serial: string): Promise<WriteResult> {
      return submit(deleteClientDraft(serial, order.by), order);
    },
    putTree: async (order: WriteOrder, body: JsonMap): Promise<WriteResult> => submit(putTreeDraft(body), order),
  };
}

/** Returns the body with the client's tenant if it has none. */
function ofTenant<Body extends object>({ tenant }: Client, body: Body): Body {
  return tenant === '' || Object.hasOwn(body, 'tenant') ? body : { ...body, tenant };
}

/** Throws if the body is not an instance: the client may have meant to write a template. */
function requireTemplate(body: JsonMap): void {
  if (Object.hasOwn(body, 'stackTemplate')) return;
  const message =
    'the body lacks "stackTemplate", the template to make an instance of; to write a template, POST /types/stack-template/';
  throw new ServiceError('invalid_input', message, [{ pointer: '/stackTemplate', message: 'is missing' }]);
}
