// Makes the event of one server from its row before and after a change. Pure; instance-events.ts makes all events of a
// commit of the store.
import type { ServerRow } from '../model/rows.ts';
import { isSameReason, reasonText } from './reasons.ts';

/** A row before and after; undefined or null: there is none. */
export interface RowStep {
  readonly before: ServerRow | undefined;
  readonly after: ServerRow | null;
}

/** Returns true if people should be told of the change: a wait that goes on for the same reason is nothing new. */
export function isToldStep({ before, after }: RowStep): boolean {
  if (before === undefined || after === null) return before !== undefined || after !== null;
  if (before.state !== after.state || before.generation !== after.generation) return true;
  if (before.instance !== after.instance) return true;
  const hasNewAction = after.action !== null && after.action.started !== before.action?.started;
  return hasNewAction || (after.reason !== null && !isSameReason(before.reason, after.reason));
}

/** Returns the text of the change: the recorded reason, or the step itself; then the time of the next try. */
export function stepText({ before, after }: RowStep): string {
  if (after === null) return endText(before);
  if (before !== undefined && before.instance !== after.instance) return `handed over by ${before.instance}`;
  const parts = [reasonText(after.reason) || plainText(before, after), dueText(after)];
  return parts.filter((part) => part !== '').join('; ');
}

/** Returns the text of a change without a recorded reason. */
function plainText(before: ServerRow | undefined, after: ServerRow): string {
  if (before === undefined) return after.former === undefined ? 'a commit wants it' : 'made before the store was lost';
  if (after.action !== null && after.action.started !== before.action?.started) return startText(after);
  if (before.wanted !== null && after.wanted === null) return 'no commit wants it any more';
  if (before.wanted === null && after.wanted !== null) return 'a commit wants it again';
  if (before.generation !== after.generation) return 'a commit changes it';
  if (before.action !== null && after.action === null && after.state !== 'unknown') return outcomeText(before, after);
  if (after.state === 'done') return 'what is there equals what is wanted';
  return before.state === after.state ? '' : 'its wait is over';
}

function startText({ action, attempt, provider }: ServerRow): string {
  const who = action?.claim === undefined ? `of the provider entry "${provider}"` : 'carried out by a proxy';
  const words = `${action?.operation} begins: action ${action?.id} ${who}`;
  return attempt === 0 ? words : `${words}, try ${attempt + 1}`;
}

function outcomeText({ action }: ServerRow, { state, applied, wanted, replacing }: ServerRow): string {
  const operation = action?.operation ?? '';
  if (operation === 'delete') return replacing || wanted !== null ? 'deleted; it is created anew' : 'deleted';
  if (state === 'done') return `${operation} succeeded`;
  return applied === null ? `${operation} ended, and nothing is there` : `${operation} ended; another action follows`;
}

function endText(before: ServerRow | undefined): string {
  const isLeft = before?.former !== undefined && before.policy.deletion === 'retain';
  if (before === undefined || (before.applied === null && !before.mayExist && !isLeft)) return 'nothing of it is left';
  return before.policy.deletion === 'retain' && before.state !== 'deleting'
    ? 'forgotten; the server is left as it is'
    : 'deleted';
}

function dueText({ state, due }: ServerRow): string {
  return due !== null && (state === 'retrying' || state === 'failed' || state === 'unknown')
    ? `next try at ${due}`
    : '';
}
