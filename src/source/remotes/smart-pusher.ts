// Pushes by Git's smart protocol, version 0: reads the branch's head, then sends the update and the pack in one
// request.

import type { PushOutcome } from '../publisher.ts';
import { type Advertisement, askForBranches } from './advertisement.ts';
import { HttpStatusError } from './http-answer.ts';
import { branchExists, judgeRefusal, refused, unknownOutcome } from './push-refusal.ts';
import type { Pusher, PushOrder } from './pusher.ts';
import { canReport, pushRequest, readReport } from './receive-pack.ts';
import type { Transport } from './remote.ts';

const SERVICE = 'git-receive-pack';
/** With these statuses a server refuses before it reads the request. */
const NOT_ALLOWED: ReadonlySet<number> = new Set([401, 403]);
const NOT_TAKEN: ReadonlySet<number> = new Set([...NOT_ALLOWED, 404, 413]);

/** Returns the pusher to the repository behind a transport. */
export function createSmartPusher(transport: Transport): Pusher {
  const { name, secrets } = transport;
  return {
    name,
    async push(order) {
      const outcome = await secrets.guard(() => push(transport, order));
      return 'reason' in outcome ? { ...outcome, reason: secrets.strip(outcome.reason) } : outcome;
    },
  };
}

async function push(transport: Transport, order: PushOrder): Promise<PushOutcome> {
  const { name } = transport;
  const { branch, old, commit } = order;
  const isNew = old === null;
  const advertisement = await advertise(transport, order.signal);
  if ('is' in advertisement) return advertisement;
  const head = advertisement.heads.get(branch) ?? null;
  if (head === commit) return { is: 'pushed' };
  if (head !== old) return isNew ? branchExists(name, branch) : { is: 'moved' };
  if (!canReport(advertisement)) {
    return refused(`"${name}" does not say what becomes of a push: its Git server is too old`);
  }
  return await send(transport, order, advertisement);
}

async function advertise(transport: Transport, signal: AbortSignal): Promise<Advertisement | PushOutcome> {
  try {
    return await askForBranches(transport, { forPush: true, signal });
  } catch (error) {
    if (isStatus(error, NOT_ALLOWED)) return refused(error.message);
    throw error;
  }
}

/** After the first byte may have been sent, no failure proves that nothing happened. */
async function send(transport: Transport, order: PushOrder, advertisement: Advertisement): Promise<PushOutcome> {
  const { name } = transport;
  const { branch, old } = order;
  let isSent = false;
  try {
    const { body } = await transport.request({
      url: `${transport.url}/${SERVICE}`,
      method: 'POST',
      headers: { 'content-type': `application/x-${SERVICE}-request`, accept: `application/x-${SERVICE}-result` },
      body: pushRequest(order, { ...advertisement, pack: order.pack }),
      signal: order.signal,
      sending: () => {
        isSent = true;
      },
    });
    const { refusal: reason, words } = readReport(Buffer.concat(body), branch, advertisement);
    return reason === null ? { is: 'pushed' } : judgeRefusal({ name, branch, isNew: old === null, reason, words });
  } catch (error) {
    if (!isSent) throw error;
    return isStatus(error, NOT_TAKEN) ? refused(error.message) : unknownOutcome(name, error);
  }
}

function isStatus(error: unknown, statuses: ReadonlySet<number>): error is HttpStatusError {
  return error instanceof HttpStatusError && statuses.has(error.status);
}
