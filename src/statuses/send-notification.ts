// Sends one event to one subscriber: CloudEvents 1.0 in the structured mode of its HTTP binding, signed according to
// Standard Webhooks 1.0.0. The secret and the authorities are read for each request. No message contains the secret or
// text of the subscriber.
import { Webhook } from 'standardwebhooks';
import type { Clock } from '../base/clock.ts';
import { readSecretFile } from '../base/secrets.ts';
import type { NotificationTarget } from '../model/settings.ts';
import { type Attempt, type Posting, postOnce, waitMs } from './post-once.ts';
import type { OwedEvent } from './wanted-events.ts';

/** Sends one event. Never throws. */
export type SendNotification = (event: CloudEvent, signal: AbortSignal) => Promise<Attempt>;

type CloudEvent = Pick<OwedEvent, 'id' | 'type' | 'subject' | 'time' | 'data'>;

/** Standard Webhooks 1.0.0: 24 to 64 random bytes in base64. */
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4}){8,22}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;
/** The statuses that refuse only this message. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Returns the function that sends to a subscriber. `id`: the id of the controller. */
export function createSendNotification(
  { name, url, secretFile, caFile }: NotificationTarget,
  { id: controller, clock }: { readonly id: string; readonly clock: Clock },
): SendNotification {
  return async (event, signal) => {
    const build = async (): Promise<Posting> => {
      const secret = await readSecret(name, secretFile);
      const body = JSON.stringify(cloudEvent(event, controller));
      const signed = { id: event.id, body, secret, time: new Date(clock.now()) };
      return { target: new URL(url), headers: signedHeaders(signed), body, secret };
    };
    const whom = `the subscriber ${name}`;
    const caSetting = `notifications: caFile of ${name}`;
    const answered = await postOnce({ whom, caFile, caSetting, build, clock, signal });
    if ('isAccepted' in answered) return answered;
    const { status, headers } = answered;
    return {
      isAccepted: status >= 200 && status < 300,
      isOnlyThis: REFUSED.has(status),
      answer:
        status >= 300 && status < 400 ? `${status}: it redirects, and redirects are not followed` : String(status),
      waitMs: waitMs(headers, clock.now()),
    };
  };
}

/** Returns the event in the format of CloudEvents 1.0. */
function cloudEvent({ id, type, subject, time, data }: CloudEvent, controller: string) {
  const source = `/treeline/${encodeURIComponent(controller)}`;
  return { specversion: '1.0', id, source, type, subject, time, datacontenttype: 'application/json', data };
}

interface Signed {
  readonly id: string;
  readonly body: string;
  readonly secret: string;
  readonly time: Date;
}

function signedHeaders({ id, body, secret, time }: Signed): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'user-agent': 'treeline',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, time, body),
  };
}

/** Resolves with the secret in base64. */
async function readSecret(name: string, path: string): Promise<string> {
  const setting = `notifications: secretFile of ${name}`;
  const [, secret] = SECRET.exec((await readSecretFile(path, setting)).toString()) ?? [];
  if (secret !== undefined) return secret;
  throw new Error(`${setting}, ${path}, has to contain "whsec_" and 24 to 64 bytes in base64, on one line`);
}
