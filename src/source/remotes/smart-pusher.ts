// Pushes by Git's smart protocol, version 0: asks where the branch is, then sends the order and the pack in one request.

import { PushRefusedError } from '../publisher.ts';
import { HttpStatusError } from './http-answer.ts';
import { branchExists, judgeRefusal, unknownOutcome } from './push-refusal.ts';
import type { Pusher, PushOrder } from './pusher.ts';
import {
  type Advertisement,
  canReport,
  type PushReport,
  pushRequest,
  readAdvertisement,
  readReport,
} from './receive-pack.ts';
import type { Transport } from './remote.ts';

const SERVICE = 'git-receive-pack';
const NOTHING = new Uint8Array();
/** With these, a server says no before it has looked at what was sent. */
const NOT_ALLOWED: ReadonlySet<number> = new Set([401, 403]);
const NOT_TAKEN: ReadonlySet<number> = new Set([...NOT_ALLOWED, 404, 413]);

/** Returns the pusher to the repository behind a transport. */
export function createSmartPusher(transport: Transport): Pusher {
  const { name, secrets } = transport;
  return {
    name,
    push: (order) => secrets.guard(() => push(transport, order)),
  };
}

async function push(transport: Transport, order: PushOrder): Promise<boolean> {
  const { name } = transport;
  const { branch, old, commit } = order;
  const isNew = old === null;
  const advertisement = await advertise(transport, order.signal);
  const head = advertisement.heads.get(branch) ?? null;
  if (head === commit) return true;
  if (head !== old) {
    if (isNew) throw branchExists(name, branch);
    return false;
  }
  if (!canReport(advertisement)) {
    throw new PushRefusedError(`"${name}" does not say what becomes of a push: its Git server is too old`);
  }
  const { refusal: reason, words } = await send(transport, order, advertisement);
  return reason === null || judgeRefusal({ name, branch, isNew, reason, words });
}

async function advertise(transport: Transport, signal: AbortSignal): Promise<Advertisement> {
  const { name, url } = transport;
  const address = `${url}/info/refs?service=${SERVICE}`;
  try {
    const { body } = await transport.request({ url: address, method: 'GET', headers: {}, body: NOTHING, signal });
    return readAdvertisement(name, Buffer.concat(body));
  } catch (error) {
    throw asRefusal(error, NOT_ALLOWED) ?? error;
  }
}

/** From the moment in which the first byte may have left, no failure says that nothing happened. */
async function send(transport: Transport, order: PushOrder, advertisement: Advertisement): Promise<PushReport> {
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
    return readReport(Buffer.concat(body), order.branch, advertisement);
  } catch (error) {
    if (!isSent) throw error;
    throw asRefusal(error, NOT_TAKEN) ?? unknownOutcome(transport.name, error);
  }
}

function asRefusal(error: unknown, statuses: ReadonlySet<number>): PushRefusedError | undefined {
  if (!(error instanceof HttpStatusError) || !statuses.has(error.status)) return undefined;
  return new PushRefusedError(error.message, { cause: error });
}
