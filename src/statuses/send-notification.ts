// Sends one event to one subscriber: CloudEvents 1.0 in the structured mode of its HTTP binding, signed as Standard Webhooks 1.0.0 says.
// The secret and the authorities are read for each request. No message holds the secret, or anything else that the subscriber says.
import { createHmac } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { readSecretFile } from '../base/secrets.ts';
import type { NotificationRow } from '../model/rows.ts';
import type { NotificationTarget } from '../model/settings.ts';
import { type Posting, postOnce, waitMs } from './post-once.ts';

/** What became of one attempt. */
export interface Attempt {
  readonly isAccepted: boolean;
  /** The status of the answer, or why there is none; for a person. */
  readonly answer: string;
  /** Another event may pass where this one does not. */
  readonly isOnlyThis: boolean;
  /** How long the subscriber asks to wait, in milliseconds; undefined: it does not ask. */
  readonly waitMs: number | undefined;
}

/** Sends one event. Never throws. */
export type SendNotification = (id: string, event: NotificationRow, signal: AbortSignal) => Promise<Attempt>;

/** Standard Webhooks 1.0.0: 24 to 64 random bytes in base64. */
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4}){8,22}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;
/** The body is at fault. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Returns the function that sends to a subscriber. `id` is that of the controller. */
export function createSendNotification(
  { name, url, secretFile, caFile }: NotificationTarget,
  { id: controller, clock }: { readonly id: string; readonly clock: Clock },
): SendNotification {
  return async (id, event, signal) => {
    const build = async (): Promise<Posting> => {
      const secret = await readSecret(name, secretFile);
      const body = JSON.stringify(cloudEvent(id, event, controller));
      return { target: new URL(url), headers: signedHeaders({ id, body, secret, now: clock.now() }), body, secret };
    };
    const whom = `the subscriber ${name}`;
    const caSetting = `notifications: caFile of ${name}`;
    const answered = await postOnce({ whom, caFile, caSetting, build, clock, signal });
    if ('reason' in answered) {
      return { isAccepted: false, answer: answered.reason, isOnlyThis: false, waitMs: undefined };
    }
    const { status, headers } = answered;
    return {
      ...{ isAccepted: status >= 200 && status < 300, isOnlyThis: REFUSED.has(status) },
      answer:
        status >= 300 && status < 400 ? `${status}: it redirects, and redirects are not followed` : String(status),
      waitMs: waitMs(headers, clock.now()),
    };
  };
}

/** Returns the event as CloudEvents 1.0 has it. */
function cloudEvent(id: string, { type, subject, time, data }: NotificationRow, controller: string) {
  const source = `/treeline/${encodeURIComponent(controller)}`;
  return { specversion: '1.0', id, source, type, subject, time, datacontenttype: 'application/json', data };
}

interface Signed {
  readonly id: string;
  readonly body: string;
  readonly secret: string;
  readonly now: number;
}

function signedHeaders({ id, body, secret, now }: Signed): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000));
  const key = Buffer.from(secret, 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'user-agent': 'treeline',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

/** Resolves with the secret in base64. */
async function readSecret(name: string, path: string): Promise<string> {
  const setting = `notifications: secretFile of ${name}`;
  const [, secret] = SECRET.exec((await readSecretFile(path, setting)).toString()) ?? [];
  if (secret !== undefined) return secret;
  throw new Error(`${setting}, ${path}, has to hold "whsec_" and 24 to 64 bytes in base64, in one line`);
}
