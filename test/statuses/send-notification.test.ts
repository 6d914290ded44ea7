// One event to a subscriber over real HTTPS, verified by the public library of Standard Webhooks, and what becomes of it where the
// subscriber misbehaves.
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { NotificationTarget } from '../../src/model/settings.ts';
import type { Attempt } from '../../src/statuses/post-once.ts';
import { createSendNotification } from '../../src/statuses/send-notification.ts';
import { SUBSCRIBER_SECRET, startFakeSubscriber } from '../support/fake-subscriber.ts';

const EVENT = {
  id: 'msg_1',
  type: 'treeline.held.firing',
  subject: 'held:shop',
  time: '2026-11-20T10:13:56.000Z',
  data: { kind: 'held', reason: 'ü <b> "quoted"\n', instances: ['shop'] },
};

function send(target: NotificationTarget, signal = new AbortController().signal): Promise<Attempt> {
  return createSendNotification(target, { id: 'eu west', clock: systemClock })(EVENT, signal);
}

it('a notification is a CloudEvent signed by Standard Webhooks', async () => {
  const subscriber = await startFakeSubscriber();
  expect(await send(subscriber.target)).toMatchObject({ isAccepted: true, answer: '204' });
  expect(subscriber.received).toEqual([
    {
      id: 'msg_1',
      contentType: 'application/cloudevents+json; charset=utf-8',
      event: {
        specversion: '1.0',
        id: 'msg_1',
        source: '/treeline/eu%20west',
        type: 'treeline.held.firing',
        subject: 'held:shop',
        time: '2026-11-20T10:13:56.000Z',
        datacontenttype: 'application/json',
        data: EVENT.data,
      },
    },
  ]);
});

it('a notification uses a replaced secret without a restart', async () => {
  const subscriber = await startFakeSubscriber();
  const { secretFile } = subscriber.target;
  writeFileSync(secretFile, `whsec_${Buffer.alloc(32, 'x').toString('base64')}`);
  expect(await send(subscriber.target)).toMatchObject({ isAccepted: false, answer: '401', isOnlyThis: false });
  writeFileSync(secretFile, `${SUBSCRIBER_SECRET}\r\n`);
  expect(await send(subscriber.target)).toMatchObject({ isAccepted: true });
});

it.each([
  ['', /is empty/],
  ['whsec_c2hvcnQ=', /24 to 64 bytes/],
  [SUBSCRIBER_SECRET.slice(6), /has to contain "whsec_"/],
  [`${SUBSCRIBER_SECRET}\n${SUBSCRIBER_SECRET}`, /on one line/],
])('a notification is not sent with an invalid secret: %j', async (secret, words) => {
  const subscriber = await startFakeSubscriber();
  writeFileSync(subscriber.target.secretFile, secret);
  const attempt = await send(subscriber.target);
  expect(attempt).toMatchObject({ isAccepted: false, answer: expect.stringMatching(words) });
  if (secret !== '') expect(attempt.answer).not.toContain(secret);
  expect([...subscriber.received, ...subscriber.refused]).toEqual([]);
});

it.each<[status: number, isAccepted: boolean, isOnlyThis: boolean, answer: string]>([
  [200, true, false, '200'],
  // Its target is not repeated.
  [307, false, false, '307: it redirects, and redirects are not followed'],
  [400, false, true, '400'],
  [422, false, true, '422'],
  [500, false, false, '500'],
])('a notification is answered with %i', async (status, isAccepted, isOnlyThis, answer) => {
  const subscriber = await startFakeSubscriber();
  const location = `https://elsewhere.example/${SUBSCRIBER_SECRET}`;
  subscriber.script = (response) => void response.writeHead(status, { location }).end(SUBSCRIBER_SECRET);
  expect(await send(subscriber.target)).toEqual({ isAccepted, isOnlyThis, answer, waitMs: undefined });
});

it('a notification ends with the controller', async () => {
  const subscriber = await startFakeSubscriber();
  subscriber.script = () => undefined;
  const ending = new AbortController();
  const attempt = send(subscriber.target, ending.signal);
  await expect.poll(() => subscriber.received.length).toBe(1);
  ending.abort(new Error('the controller is stopping'));
  expect(await attempt).toMatchObject({ isAccepted: false, answer: 'the controller is stopping' });
});
