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

type Capabilities = Advertisement['capabilities'];

/** Returns the pusher to the repository behind a transport. */
export function createSmartPusher(transport: Transport): Pusher {
  const { name, secrets } = transport;
  /** As advertised for the last push, if the remote answered that as expected. */
  let advertised: Capabilities | undefined;
  /** The commit that was pushed last: pushed again, it may be there already, and the remote is asked. */
  let last: string | undefined;

  async function push(order: PushOrder): Promise<PushOutcome> {
    const isRepeated = order.commit === last;
    const known = order.old === null || isRepeated ? undefined : advertised;
    advertised = undefined;
    last = order.commit;
    if (known !== undefined) return await pushUnasked(order, known);
    const advertisement = await advertise(transport, order.signal);
    if ('is' in advertisement) return advertisement;
    const settled = settledBy(advertisement, name, order);
    if (settled !== undefined) return settled;
    if (!canReport(advertisement)) {
      return refused(`"${name}" does not say what becomes of a push: its Git server is too old`);
    }
    return await sendWith(order, advertisement.capabilities);
  }

  /** The remote itself compares the branch with its old head. Another no is believed only if the branch is there. */
  async function pushUnasked(order: PushOrder, known: Capabilities): Promise<PushOutcome> {
    const outcome = await sendWith(order, known);
    if (outcome.is !== 'refused') return outcome;
    const advertisement = await advertise(transport, order.signal);
    return 'is' in advertisement ? outcome : (settledBy(advertisement, name, order) ?? outcome);
  }

  async function sendWith(order: PushOrder, capabilities: Capabilities): Promise<PushOutcome> {
    const outcome = await send(transport, order, capabilities);
    if (outcome.is === 'pushed' || outcome.is === 'moved') advertised = capabilities;
    return outcome;
  }

  return {
    name,
    async push(order) {
      const outcome = await secrets.guard(() => push(order));
      return 'reason' in outcome ? { ...outcome, reason: secrets.strip(outcome.reason) } : outcome;
    },
  };
}

/** Returns the outcome if nothing is left to send: the branch is not where the push begins. */
function settledBy(
  { heads }: Advertisement,
  name: string,
  { branch, old, commit }: PushOrder,
): PushOutcome | undefined {
  const head = heads.get(branch) ?? null;
  if (head === commit) return { is: 'pushed' };
  if (head === old) return undefined;
  return old === null ? branchExists(name, branch) : { is: 'moved' };
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
async function send(transport: Transport, order: PushOrder, capabilities: Capabilities): Promise<PushOutcome> {
  const { name } = transport;
  const { branch, old, pack } = order;
  let isSent = false;
  try {
    const { body } = await transport.request({
      url: `${transport.url}/${SERVICE}`,
      method: 'POST',
      headers: { 'content-type': `application/x-${SERVICE}-request`, accept: `application/x-${SERVICE}-result` },
      body: pushRequest(order, { capabilities, pack }),
      signal: order.signal,
      sending: () => {
        isSent = true;
      },
    });
    const { refusal: reason, words } = readReport(Buffer.concat(body), branch, { capabilities });
    return reason === null ? { is: 'pushed' } : judgeRefusal({ name, branch, isNew: old === null, reason, words });
  } catch (error) {
    if (!isSent) throw error;
    return isStatus(error, NOT_TAKEN) ? refused(error.message) : unknownOutcome(name, error);
  }
}

function isStatus(error: unknown, statuses: ReadonlySet<number>): error is HttpStatusError {
  return error instanceof HttpStatusError && statuses.has(error.status);
}
