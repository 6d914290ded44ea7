// Defines the writes of the API. Every write becomes a commit; see docs/rest.md, writes.
import type { Json, JsonMap } from '../model/json.ts';
import type { Caller } from './caller.ts';
import type { ServerEffect } from './write/server-changes.ts';

/** The client and the conditions of a write. */
export interface WriteOrder extends Caller {
  /** The id of the answer; the commit carries it. */
  readonly requestId: string;
  /** The object's blob must be one of these, as `If-Match` says; undefined: any. */
  readonly ifMatch: readonly string[] | undefined;
  /** The object's blob must be none of these, as `If-None-Match` says; `*`: there must be no file of it. */
  readonly ifNoneMatch?: readonly string[] | undefined;
  /** Writes nothing, and answers with the effects. Left out: false. */
  readonly isDryRun?: boolean;
}

/** The effects of a write. */
export interface Preview {
  /** Of all files that it changes, as git prints it; empty where nothing would change. Paths begin where the layout does. */
  readonly diff: string;
  /** The servers that it concerns, sorted by name. */
  readonly servers: readonly ServerEffect[];
}

/** The result of a write. */
export interface WriteResult {
  /** The commit, or null where there was nothing to change. */
  readonly commit: string | null;
  /** The branch that proposes it, where writes are proposed; null where it is on the followed branch. */
  readonly branch: string | null;
  /** Of a dry run, and of nothing else. */
  readonly preview?: Preview;
}

/**
 * Every method resolves once the change is on the remote and what this server answers is at or beyond it. All throw
 * ServiceError: `invalid_input` and `breaks_others` with details in the words of a committer, `conflict`, `not_found`,
 * `precondition_failed`, `not_ready` while the repository cannot be reached, and `outcome_unknown` where the result is unknown.
 */
export interface Writer {
  /** Makes or, with `force`, replaces an instance. One that is marked for delete comes back without it. */
  putInstance(order: WriteOrder, name: string, body: JsonMap, force: boolean): Promise<WriteResult>;
  /** The same for an instance whose name stands in the body. */
  createInstance(order: WriteOrder, body: JsonMap, force: boolean): Promise<WriteResult>;
  deleteInstance(order: WriteOrder, name: string): Promise<WriteResult>;
  /** Makes or replaces an object of a type; instances keep the rule of `force`. */
  putObject(order: WriteOrder, type: string, body: JsonMap, force: boolean): Promise<WriteResult>;
  deleteObject(order: WriteOrder, type: string, name: string): Promise<WriteResult>;
  /** Registers a client, or changes the given fields of one. */
  putClient(order: WriteOrder, body: JsonMap): Promise<WriteResult>;
  deleteClient(order: WriteOrder, serial: string): Promise<WriteResult>;
  putTree(order: WriteOrder, body: Json): Promise<WriteResult>;
}
