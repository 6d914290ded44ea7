// Pushes by Git's smart protocol, version 0, over any transport: reads the branch's head, then sends the update and the pack
// in one request, which moves one branch from its expected head.

import type { PushOutcome } from '../publisher.ts';
import { type Advertisement, askForBranches } from './advertisement.ts';
import { HttpStatusError } from './http-answer.ts';
import { branchExists, judgeRefusal, refused, unknownOutcome } from './push-refusal.ts';
import { canReport, pushRequest, type RefUpdate, readReport } from './receive-pack.ts';
import { NotAllowedError, type Transport } from './transport.ts';

const SERVICE = 'git-receive-pack';
/** With these statuses a server refuses before it reads the request. */
const NOT_ALLOWED: ReadonlySet<number> = new Set([401, 403]);
const NOT_TAKEN: ReadonlySet<number> = new Set([...NOT_ALLOWED, 404, 413]);

type Capabilities = Advertisement['capabilities'];

/** A move of one branch, with the objects it needs. */
export interface PushOrder extends RefUpdate {
  /** All objects that the branch's old history lacks. */
  readonly pack: Uint8Array;
  /** Aborts the push, with its reason. */
  readonly signal: AbortSignal;
}

/** Pushes to one repository. */
export class SmartPusher {
  /** The name of the repository in messages. */
  readonly name: string;
  readonly #transport: Transport;
  /** As advertised for the last push, if the remote answered that as expected. */
  #advertised: Capabilities | undefined;
  /** The commit that was pushed last: pushed again, it may be there already, and the remote is asked. */
  #last: string | undefined;

  constructor(transport: Transport) {
    this.name = transport.name;
    this.#transport = transport;
  }

  /**
   * Pushes, and resolves with the outcome; a branch that is at the commit already counts as pushed, and a new one whose
   * name is in use as refused. Throws SourceError if the repository was not reached: nothing was sent.
   */
  async push(order: PushOrder): Promise<PushOutcome> {
    const { secrets } = this.#transport;
    const outcome = await secrets.guard(() => this.#push(order)).finally(() => this.#transport.rest?.());
    return 'reason' in outcome ? { ...outcome, reason: secrets.strip(outcome.reason) } : outcome;
  }

  async #push(order: PushOrder): Promise<PushOutcome> {
    const isRepeated = order.commit === this.#last;
    const known = order.old === null || isRepeated ? undefined : this.#advertised;
    this.#advertised = undefined;
    this.#last = order.commit;
    if (known !== undefined) return await this.#pushUnasked(order, known);
    const advertisement = await advertise(this.#transport, order.signal);
    if ('is' in advertisement) return advertisement;
    const settled = settledBy(advertisement, this.name, order);
    if (settled !== undefined) return settled;
    if (!canReport(advertisement)) {
      return refused(`"${this.name}" does not say what becomes of a push: its Git server is too old`);
    }
    return await this.#send(order, advertisement.capabilities);
  }

  /** The remote itself compares the branch with its old head. Another no is believed only if the branch is there. */
  async #pushUnasked(order: PushOrder, known: Capabilities): Promise<PushOutcome> {
    const outcome = await this.#send(order, known);
    if (outcome.is !== 'refused') return outcome;
    const advertisement = await advertise(this.#transport, order.signal);
    return 'is' in advertisement ? outcome : (settledBy(advertisement, this.name, order) ?? outcome);
  }

  async #send(order: PushOrder, capabilities: Capabilities): Promise<PushOutcome> {
    const outcome = await send(this.#transport, order, capabilities);
    if (outcome.is === 'pushed' || outcome.is === 'moved') this.#advertised = capabilities;
    return outcome;
  }
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
    if (error instanceof NotAllowedError || isStatus(error, NOT_ALLOWED)) return refused(error.message);
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
    if (error instanceof NotAllowedError) return refused(error.message);
    if (!isSent) throw error;
    return isStatus(error, NOT_TAKEN) ? refused(error.message) : unknownOutcome(name, error);
  }
}

function isStatus(error: unknown, statuses: ReadonlySet<number>): error is HttpStatusError {
  return error instanceof HttpStatusError && statuses.has(error.status);
}
